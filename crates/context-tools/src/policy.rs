//! What one client of the server can see.
//!
//! Things are hidden where files are read, so that no tool, search or message can contain them;
//! statements are rewritten.

mod check;
mod connector;
mod pages;
mod pattern;
mod scans;
mod sources;

use std::collections::BTreeMap;
use std::time::Duration;

use ktx_config::{Client, WarehouseRules};
use ktx_read_only_sql::{ReadableColumn, ReadableTable, Restriction};
use ktx_vocabulary::TableRef;

use crate::scans::{ScanSnapshot, ScannedTable};

pub use check::{PolicyProblem, policy_problems};
pub(crate) use connector::LimitedConnector;
pub(crate) use pages::HiddenNames;
use pattern::{ColumnPattern, Pattern};
pub(crate) use sources::shown_files;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientPolicy {
    limits: StatementLimits,
    pages: Vec<Pattern>,
    warehouses: BTreeMap<String, TableRules>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatementLimits {
    pub(crate) rows: Option<usize>,
    pub(crate) time: Option<Duration>,
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TableRules {
    only: Option<Vec<Pattern>>,
    hidden: Vec<Pattern>,
    columns: Vec<ColumnPattern>,
    filters: Vec<(Pattern, String)>,
    masks: Vec<(ColumnPattern, String)>,
}

impl ClientPolicy {
    pub fn of(client: &Client) -> Self {
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let warehouses = client.warehouses.iter();
        Self {
            limits: StatementLimits {
                rows: client.max_rows.map(whole),
                time: client.max_seconds.map(Duration::from_secs),
                bytes: client.max_bytes,
            },
            pages: client
                .hidden_pages
                .iter()
                .map(|key| Pattern::of_name(key))
                .collect(),
            warehouses: warehouses
                .map(|(id, rules)| (id.clone(), TableRules::of(rules)))
                .collect(),
        }
    }

    pub(crate) const fn limits(&self) -> StatementLimits {
        self.limits
    }

    pub(crate) fn rules(&self, connection: &str) -> Option<&TableRules> {
        self.warehouses.get(connection)
    }

    pub(crate) fn connections(&self) -> impl Iterator<Item = &str> {
        self.warehouses.keys().map(String::as_str)
    }
}

impl TableRules {
    fn of(rules: &WarehouseRules) -> Self {
        let patterns = |names: &[String]| names.iter().map(|name| Pattern::of(name)).collect();
        Self {
            only: rules.tables.as_deref().map(patterns),
            hidden: patterns(&rules.hidden_tables),
            columns: rules
                .hidden_columns
                .iter()
                .filter_map(|name| ColumnPattern::of(name))
                .collect(),
            filters: rules
                .row_filters
                .iter()
                .map(|(table, filter)| (Pattern::of(table), filter.clone()))
                .collect(),
            masks: rules
                .masked_columns
                .iter()
                .filter_map(|(column, mask)| Some((ColumnPattern::of(column)?, mask.clone())))
                .collect(),
        }
    }

    pub(crate) fn hides_table(&self, table: &TableRef) -> bool {
        let fits = |pattern: &Pattern| pattern.fits(table.parts());
        let is_left_out = |only: &Vec<Pattern>| !only.iter().any(fits);
        self.only.as_ref().is_some_and(is_left_out) || self.hidden.iter().any(fits)
    }

    pub(crate) fn hides_column(&self, table: &TableRef, column: &str) -> bool {
        self.columns
            .iter()
            .any(|pattern| pattern.fits(table, column))
    }

    fn mask(&self, table: &TableRef, column: &str) -> Option<&str> {
        let mut masks = self.masks.iter();
        masks
            .find(|(pattern, _)| pattern.fits(table, column))
            .map(|(_, mask)| mask.as_str())
    }

    fn filter(&self, table: &TableRef) -> Option<String> {
        let filters = self.filters.iter();
        let fitting = filters.filter(|(pattern, _)| pattern.fits(table.parts()));
        let conditions: Vec<String> = fitting.map(|(_, filter)| format!("({filter})")).collect();
        (!conditions.is_empty()).then(|| conditions.join(" AND "))
    }

    /// False if the values could reveal hidden rows.
    pub(crate) fn shows_values(&self, table: &TableRef, column: &str) -> bool {
        self.filter(table).is_none()
            && self.mask(table, column).is_none()
            && !self.hides_column(table, column)
            && !self.hides_table(table)
    }

    /// Unscanned tables cannot be read.
    pub(crate) fn restriction(&self, scan: Option<&ScanSnapshot>) -> Restriction {
        let tables = scan.map(|scan| scan.tables.as_slice()).unwrap_or_default();
        let seen = tables.iter().filter(|one| !self.hides_table(&one.table));
        Restriction {
            tables: seen.map(|table| self.readable(table)).collect(),
        }
    }

    fn readable(&self, scanned: &ScannedTable) -> ReadableTable {
        let table = &scanned.table;
        let shown = scanned.columns.iter();
        let shown = shown.filter(|column| !self.hides_column(table, &column.name));
        let columns: Vec<ReadableColumn> = shown
            .map(|column| ReadableColumn {
                name: column.name.clone(),
                mask: self.mask(table, &column.name).map(str::to_owned),
            })
            .collect();
        let mut rules = self
            .columns
            .iter()
            .chain(self.masks.iter().map(|(pattern, _)| pattern));
        // The rules decide, because the scan may lack new columns.
        let is_cut = rules.any(|pattern| pattern.is_of(table));
        ReadableTable {
            name: table.parts().map(str::to_owned).collect(),
            columns: is_cut.then_some(columns),
            filter: self.filter(table),
        }
    }
}

#[cfg(test)]
mod tests;
