//! The last scan of a connection, from its artifacts under `raw-sources/`.

mod read;
mod shown;

use std::collections::BTreeMap;

use ktx_semantic_layer::{Relation, Source};
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, TableKind};

pub use read::{ScanFiles, read_snapshot};
pub(crate) use shown::Shown;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScanSnapshot {
    /// Or the name of its folder, if the id is unknown.
    pub sync_id: String,
    /// RFC 3339.
    pub extracted_at: Option<String>,
    pub run_id: Option<String>,
    /// Ordered by place for look-ups.
    pub tables: Vec<ScannedTable>,
    pub left_out: Vec<LeftOutSchema>,
    pub profile: Option<Profile>,
    pub unread_profile: bool,
    pub unread_tables: usize,
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOutSchema {
    pub name: String,
    /// `not_named` or `not_granted`.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScannedTable {
    pub table: TableRef,
    pub kind: TableKind,
    pub comment: Option<String>,
    pub estimated_rows: Option<u64>,
    pub columns: Vec<Column>,
    /// Declared ones, with an entry per column.
    pub foreign_keys: Vec<ScannedForeignKey>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedForeignKey {
    pub from_column: String,
    pub to_table: TableRef,
    pub to_column: String,
    pub constraint_name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    pub sampled_rows: u64,
    /// Ordered by table and name for look-ups.
    pub columns: Vec<ProfiledColumn>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProfiledColumn {
    pub table: TableRef,
    pub column: String,
    pub distinct: Option<u64>,
    /// `None` for older versions of ktx.
    pub counts: Option<ValueCounts>,
    /// Most frequent first.
    pub values: Vec<String>,
    /// True if no row has other values.
    pub is_complete: bool,
    pub range: Option<ValueRange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueCounts {
    pub rows: u64,
    /// Counted over the rows that were read.
    pub nulls: u64,
    pub read: RowsRead,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueRange {
    pub least: String,
    pub greatest: String,
    pub rows: RowsRead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsRead {
    All,
    /// Other rows can have values beyond.
    Sample,
}

impl ScanSnapshot {
    pub fn table(&self, place: &TableRef) -> Option<&ScannedTable> {
        let at = self
            .tables
            .binary_search_by(|table| table.table.cmp(place))
            .ok()?;
        self.tables.get(at)
    }

    pub fn values(&self, table: &TableRef, column: &str) -> &[String] {
        let found = self.profiled(table, column);
        found.map(|one| one.values.as_slice()).unwrap_or_default()
    }

    pub(crate) fn profiled(&self, table: &TableRef, column: &str) -> Option<&ProfiledColumn> {
        let columns = self
            .profile
            .as_ref()
            .map(|profile| profile.columns.as_slice());
        let columns = columns.unwrap_or_default();
        let found = columns.binary_search_by(|one| {
            one.table
                .cmp(table)
                .then_with(|| one.column.as_str().cmp(column))
        });
        found.ok().and_then(|at| columns.get(at))
    }

    /// Returns the only table that a semantic source reads.
    pub fn table_of(&self, source: &Source) -> Option<&ScannedTable> {
        self.places().read_by(source)
    }

    pub(crate) fn places(&self) -> Places<'_> {
        Places::of(&self.tables)
    }
}

/// By dotted names with or without outer parts, ignoring case.
#[derive(Debug, Default)]
pub(crate) struct Places<'a> {
    by_name: BTreeMap<String, Vec<&'a ScannedTable>>,
}

impl<'a> Places<'a> {
    fn of(tables: &'a [ScannedTable]) -> Self {
        let mut by_name: BTreeMap<String, Vec<&ScannedTable>> = BTreeMap::new();
        for table in tables {
            let parts: Vec<String> = table.table.parts().map(str::to_lowercase).collect();
            for start in 0..parts.len() {
                let name = parts.get(start..).unwrap_or_default().join(".");
                by_name.entry(name).or_default().push(table);
            }
        }
        Self { by_name }
    }

    pub(crate) fn named(&self, name: &str) -> &[&'a ScannedTable] {
        let plain = name.trim().replace(['"', '`', '[', ']'], "").to_lowercase();
        self.by_name
            .get(&plain)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The only table that a semantic source reads.
    pub(crate) fn read_by(&self, source: &Source) -> Option<&'a ScannedTable> {
        match &source.relation {
            Relation::Table(name) => match self.named(name) {
                [only] => Some(only),
                [] => self.shortened(name),
                _ => None,
            },
            Relation::Sql(_) => None,
        }
    }

    /// For names with more parts than the scan's.
    fn shortened(&self, name: &str) -> Option<&'a ScannedTable> {
        let (_, rest) = name.split_once('.')?;
        match self.named(rest) {
            [only] if only.table.parts().count() == rest.split('.').count() => Some(only),
            [] => self.shortened(rest),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
