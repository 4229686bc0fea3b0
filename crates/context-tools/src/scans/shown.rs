//! Which scanned columns and values can be shown.
//!
//! Only semantic sources know hidden columns (`visibility: hidden`, `exclude_columns`). All code
//! that shows scanned columns or values must ask this module.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::Code;
use ktx_semantic_layer::{Catalog, Column, Origin, Relation, Source, Visibility};
use ktx_vocabulary::TableRef;

use super::{Places, ScanSnapshot, ScannedTable, ValueRange};

pub(crate) struct Shown<'a> {
    snapshot: &'a ScanSnapshot,
    places: Places<'a>,
    /// Scanned sources first.
    readers: BTreeMap<&'a TableRef, Vec<&'a Source>>,
    /// By last part and in lower case, for tables that the scan does not describe.
    by_last_part: BTreeMap<String, Vec<&'a Source>>,
    broken: BTreeSet<String>,
    /// True if a file extends an unknown table.
    is_partial: bool,
}

impl<'a> Shown<'a> {
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

    pub(crate) fn tables(&self) -> &'a [ScannedTable] {
        &self.snapshot.tables
    }

    pub(crate) fn places(&self) -> &Places<'a> {
        &self.places
    }

    /// Scanned sources first.
    pub(crate) fn source(&self, table: &TableRef) -> Option<&'a Source> {
        self.readers.get(table)?.first().copied()
    }

    pub(crate) fn column(&self, table: &TableRef, column: &str) -> bool {
        !self
            .sources(table)
            .iter()
            .any(|source| keeps_back(source, column))
    }

    pub(crate) fn columns<'t>(
        &self,
        table: &'t ScannedTable,
    ) -> impl Iterator<Item = &'t ktx_warehouse::Column> {
        table
            .columns
            .iter()
            .filter(|column| self.column(&table.table, &column.name))
    }

    pub(crate) fn values(&self, table: &TableRef, column: &str) -> &'a [String] {
        if self.withholds(table) || !self.column(table, column) {
            return &[];
        }
        self.snapshot.values(table, column)
    }

    pub(crate) fn range(&self, table: &TableRef, column: &str) -> Option<&'a ValueRange> {
        if self.withholds(table) || !self.column(table, column) {
            return None;
        }
        self.snapshot.profiled(table, column)?.range.as_ref()
    }

    pub(crate) fn all_values(&self, table: &TableRef, column: &str) -> Option<&'a [String]> {
        let is_complete = self
            .snapshot
            .profiled(table, column)
            .is_some_and(|known| known.is_complete);
        let values = self.values(table, column);
        (is_complete && !values.is_empty()).then_some(values)
    }

    /// True if a file that can hide columns is unreadable, or extends an unknown table.
    pub(crate) fn withholds(&self, table: &TableRef) -> bool {
        self.broken.contains(&table.name.to_lowercase())
            || (self.is_partial && self.sources(table).is_empty())
    }

    fn sources(&self, table: &TableRef) -> &[&'a Source] {
        let found = match self.readers.get(table) {
            Some(found) => Some(found),
            // An unknown table can be any table of the name.
            None if self.snapshot.table(table).is_none() => {
                self.by_last_part.get(&last_part(&table.name))
            }
            None => None,
        };
        found.map(Vec::as_slice).unwrap_or_default()
    }
}

fn last_part(name: &str) -> String {
    let plain = name.replace(['"', '`', '[', ']'], "").to_lowercase();
    let last = plain.trim().rsplit('.').next().unwrap_or_default();
    last.to_owned()
}

fn keeps_back(source: &Source, column: &str) -> bool {
    let mut its = source.columns.iter().filter(|one| reads(one, column));
    if its.any(|one| one.visibility == Visibility::Hidden) {
        return true;
    }
    // An overlay can only remove columns of the scanned table.
    source.origin == Origin::Overlay
        && !source
            .columns
            .iter()
            .any(|one| one.expr.is_none() && one.name.eq_ignore_ascii_case(column))
}

fn reads(one: &Column, column: &str) -> bool {
    let name = match &one.expr {
        Some(expr) => expr.trim().trim_matches(['"', '`', '[', ']']),
        None => one.name.as_str(),
    };
    name.eq_ignore_ascii_case(column)
}
