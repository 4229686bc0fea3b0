//! The last scan of a connection, as its artifacts under `raw-sources/` tell it.

mod read;
mod shown;

use std::collections::BTreeMap;

use ktx_semantic_layer::{Relation, Source};
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, TableKind};

pub use read::{ScanFiles, read_snapshot};
pub(crate) use shown::Shown;

/// One scan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScanSnapshot {
    /// The id of the scan; where the local state does not tell it, the name of its folder.
    pub sync_id: String,
    /// When it was made, RFC 3339.
    pub extracted_at: Option<String>,
    /// The run that made it.
    pub run_id: Option<String>,
    /// The tables, ordered by place: look-ups rely on it.
    pub tables: Vec<ScannedTable>,
    /// The schemas that the scan left out, ordered by name.
    pub left_out: Vec<LeftOutSchema>,
    /// What is known about values; `None` when nothing was profiled or that cannot be read.
    pub profile: Option<Profile>,
    /// Whether there is an artifact about values that could not be read.
    pub unread_profile: bool,
    /// How many artifacts of tables could not be read.
    pub unread_tables: usize,
    /// Artifacts that could not be read, each as one line.
    pub problems: Vec<String>,
}

/// A schema that a scan has not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOutSchema {
    /// Its name.
    pub name: String,
    /// `not_named` or `not_granted`.
    pub reason: String,
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedTable {
    /// Its full place.
    pub table: TableRef,
    /// What it is.
    pub kind: TableKind,
    /// The comment in the catalog.
    pub comment: Option<String>,
    /// Rows as estimated.
    pub estimated_rows: Option<u64>,
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// The declared foreign keys, one for each column.
    pub foreign_keys: Vec<ScannedForeignKey>,
}

/// One column of a declared foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedForeignKey {
    /// The column of this table.
    pub from_column: String,
    /// The referenced table.
    pub to_table: TableRef,
    /// The referenced column.
    pub to_column: String,
    /// The name of the constraint.
    pub constraint_name: Option<String>,
}

/// What is known about the values of columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// The most rows that were read of one table.
    pub sampled_rows: u64,
    /// The columns, ordered by table and name: look-ups rely on it.
    pub columns: Vec<ProfiledColumn>,
}

/// What is known about the values of one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfiledColumn {
    /// The table.
    pub table: TableRef,
    /// The column.
    pub column: String,
    /// Distinct values that were seen.
    pub distinct: Option<u64>,
    /// How many rows were counted; `None` if an older version did not say.
    pub counts: Option<ValueCounts>,
    /// Values that occur, most frequent first.
    pub values: Vec<String>,
    /// Whether no others occurred in any row.
    pub is_complete: bool,
    /// The values between which all lie that were read.
    pub range: Option<ValueRange>,
}

/// The rows that were counted for one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueCounts {
    /// Rows of the table.
    pub rows: u64,
    /// Rows without a value, among those that were read.
    pub nulls: u64,
    /// Which rows were read.
    pub read: RowsRead,
}

/// The least and the greatest value of a column, as texts of the warehouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueRange {
    /// The least one.
    pub least: String,
    /// The greatest one.
    pub greatest: String,
    /// The rows that were read.
    pub rows: RowsRead,
}

/// How many rows of a table a scan has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsRead {
    /// All of them.
    All,
    /// Some: others may have values beyond.
    Sample,
}

impl ScanSnapshot {
    /// The table at this place.
    pub fn table(&self, place: &TableRef) -> Option<&ScannedTable> {
        let at = self
            .tables
            .binary_search_by(|table| table.table.cmp(place))
            .ok()?;
        self.tables.get(at)
    }

    /// The values that are known of a column.
    pub fn values(&self, table: &TableRef, column: &str) -> &[String] {
        let found = self.profiled(table, column);
        found.map(|one| one.values.as_slice()).unwrap_or_default()
    }

    /// What is known about the values of a column.
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
        // Not found means that nothing is known.
        found.ok().and_then(|at| columns.get(at))
    }

    /// Returns the one table that a semantic source reads.
    pub fn table_of(&self, source: &Source) -> Option<&ScannedTable> {
        self.places().read_by(source)
    }

    /// The tables by every way to name them.
    pub(crate) fn places(&self) -> Places<'_> {
        Places::of(&self.tables)
    }
}

/// Tables by their dotted names, outer parts left out or not, case ignored.
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

    /// The tables that a name, quoted or not, may mean; ordered by place.
    pub(crate) fn named(&self, name: &str) -> &[&'a ScannedTable] {
        let plain = name.trim().replace(['"', '`', '[', ']'], "").to_lowercase();
        self.by_name
            .get(&plain)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The one table that a semantic source reads.
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

    /// The table whose whole place is the end of a name: the source says more than the scan does.
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
