//! Which columns of scanned tables, and which of their values, may be shown.
//!
//! People hide columns in semantic sources (`visibility: hidden`, `exclude_columns`); a scan knows
//! nothing of that. Everything that shows a column or a value of a scan asks here.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::Code;
use ktx_semantic_layer::{Catalog, Column, Origin, Relation, Source, Visibility};
use ktx_vocabulary::TableRef;

use super::{Places, ScanSnapshot, ScannedTable, ValueRange};

/// A scan with what the semantic sources of its connection say about its tables.
pub(crate) struct Shown<'a> {
    snapshot: &'a ScanSnapshot,
    places: Places<'a>,
    /// The sources that read a table, scanned ones first.
    readers: BTreeMap<&'a TableRef, Vec<&'a Source>>,
    /// The sources by the last part of their table's name, in lower case: for values of a table that
    /// the scan does not describe.
    by_last_part: BTreeMap<String, Vec<&'a Source>>,
    /// The names of sources whose files cannot be read, in lower case.
    broken: BTreeSet<String>,
    /// Whether a file says things about a table that nothing here knows.
    is_partial: bool,
}

impl<'a> Shown<'a> {
    /// Puts a scan and the sources of its connection together.
    pub(crate) fn of(catalog: &'a Catalog, snapshot: &'a ScanSnapshot) -> Self {
        let places = snapshot.places();
        let mut readers: BTreeMap<&TableRef, Vec<&Source>> = BTreeMap::new();
        let mut by_last_part: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
        let (scanned, others): (Vec<&Source>, Vec<&Source>) = catalog
            .sources()
            .iter()
            .partition(|source| source.origin != Origin::Standalone);
        for source in scanned.into_iter().chain(others) {
            if let Some(table) = places.read_by(source) {
                readers.entry(&table.table).or_default().push(source);
            }
            if let Relation::Table(name) = &source.relation {
                by_last_part
                    .entry(last_part(name))
                    .or_default()
                    .push(source);
            }
        }
        let list = catalog.list().into_iter();
        let broken: BTreeSet<String> = list
            .filter(|summary| summary.origin.is_none())
            .map(|summary| summary.name.to_lowercase())
            .collect();
        let unmatched = Code::UnmatchedOverlay;
        let mut found = catalog.diagnostics().iter();
        let is_partial = !broken.is_empty() || found.any(|found| found.code == unmatched);
        Self {
            snapshot,
            places,
            readers,
            by_last_part,
            broken,
            is_partial,
        }
    }

    /// The tables, ordered by place.
    pub(crate) fn tables(&self) -> &'a [ScannedTable] {
        &self.snapshot.tables
    }

    /// The tables by every way to name them.
    pub(crate) fn places(&self) -> &Places<'a> {
        &self.places
    }

    /// The source that reads a table: the scanned one before others.
    pub(crate) fn source(&self, table: &TableRef) -> Option<&'a Source> {
        self.readers.get(table)?.first().copied()
    }

    /// Whether a column of a table may be shown: no source of the table hides or excludes it.
    pub(crate) fn column(&self, table: &TableRef, column: &str) -> bool {
        !self
            .sources(table)
            .iter()
            .any(|source| keeps_back(source, column))
    }

    /// The columns of a table that may be shown, in their order.
    pub(crate) fn columns<'t>(
        &self,
        table: &'t ScannedTable,
    ) -> impl Iterator<Item = &'t ktx_warehouse::Column> {
        table
            .columns
            .iter()
            .filter(|column| self.column(&table.table, &column.name))
    }

    /// The known values of a column, as far as they may be shown.
    pub(crate) fn values(&self, table: &TableRef, column: &str) -> &'a [String] {
        if self.withholds(table) || !self.column(table, column) {
            return &[];
        }
        self.snapshot.values(table, column)
    }

    /// The range of a column's values, as far as it may be shown.
    pub(crate) fn range(&self, table: &TableRef, column: &str) -> Option<&'a ValueRange> {
        if self.withholds(table) || !self.column(table, column) {
            return None;
        }
        self.snapshot.profiled(table, column)?.range.as_ref()
    }

    /// All values of a column, where the scan knows that there are no others and they may be shown.
    pub(crate) fn all_values(&self, table: &TableRef, column: &str) -> Option<&'a [String]> {
        let is_complete = self
            .snapshot
            .profiled(table, column)
            .is_some_and(|known| known.is_complete);
        let values = self.values(table, column);
        (is_complete && !values.is_empty()).then_some(values)
    }

    /// Whether no value of a table is shown: a file that may say which of its columns are hidden
    /// cannot be read, or extends a table that no shard holds.
    pub(crate) fn withholds(&self, table: &TableRef) -> bool {
        self.broken.contains(&table.name.to_lowercase())
            || (self.is_partial && self.sources(table).is_empty())
    }

    fn sources(&self, table: &TableRef) -> &[&'a Source] {
        let found = match self.readers.get(table) {
            Some(found) => Some(found),
            // What is not among the tables that could be read may be any table of the name.
            None if self.snapshot.table(table).is_none() => {
                self.by_last_part.get(&last_part(&table.name))
            }
            None => None,
        };
        found.map(Vec::as_slice).unwrap_or_default()
    }
}

/// The last part of a dotted name, quoted or not, in lower case.
fn last_part(name: &str) -> String {
    let plain = name.replace(['"', '`', '[', ']'], "").to_lowercase();
    let last = plain.trim().rsplit('.').next().unwrap_or_default();
    last.to_owned()
}

/// Whether a source hides or excludes a column of its table.
fn keeps_back(source: &Source, column: &str) -> bool {
    let mut its = source.columns.iter().filter(|one| reads(one, column));
    if its.any(|one| one.visibility == Visibility::Hidden) {
        return true;
    }
    // An overlay can only take columns of the scanned table away.
    source.origin == Origin::Overlay
        && !source
            .columns
            .iter()
            .any(|one| one.expr.is_none() && one.name.eq_ignore_ascii_case(column))
}

/// Whether a column of a source is this column of the table, under its own or another name.
fn reads(one: &Column, column: &str) -> bool {
    let name = match &one.expr {
        Some(expr) => expr.trim().trim_matches(['"', '`', '[', ']']),
        None => one.name.as_str(),
    };
    name.eq_ignore_ascii_case(column)
}
