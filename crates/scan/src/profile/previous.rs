//! Published values of the last scan, for tables that this scan does not reach.
//!
//! A column keeps its values while its type is the same, so that a clone never publishes less.

use std::collections::BTreeMap;

use ktx_relationships::settings::Switch;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, ScanWarning, Table};
use serde::Deserialize as _;
use serde_json::Value;

use super::wire::{PROFILES, ProfiledColumn, ProfiledTable, WHOLE_PROFILE};
use crate::request::{ScanError, ScanRequest};
use crate::settings::ScanSettings;
use crate::structural::sync::Previous;

#[derive(Debug, Clone)]
pub(crate) struct PublishedProfile {
    pub(crate) table: ProfiledTable,
    pub(crate) columns: Vec<ProfiledColumn>,
}

#[derive(Debug, Default)]
pub(crate) struct PreviousProfiles {
    artifacts: Vec<Value>,
    tables: BTreeMap<TableRef, (ProfiledTable, usize)>,
    pub(crate) warnings: Vec<ScanWarning>,
}

impl PreviousProfiles {
    pub(crate) fn read(request: &ScanRequest, previous: &Previous) -> Result<Self, ScanError> {
        let lost = "its values count as missing";
        let kinds = (WHOLE_PROFILE, PROFILES);
        let found = previous.artifacts(request.files.as_ref(), kinds, lost)?;
        let mut previous_profiles = Self {
            warnings: found.warnings,
            ..Self::default()
        };
        for (_, artifact) in found.values {
            let at = previous_profiles.artifacts.len();
            for (place, table) in listed(&artifact) {
                previous_profiles.tables.insert(place, (table, at));
            }
            previous_profiles.artifacts.push(artifact);
        }
        Ok(previous_profiles)
    }

    pub(crate) fn of<'t>(
        &self,
        tables: impl Iterator<Item = &'t Table>,
        settings: &ScanSettings,
    ) -> BTreeMap<TableRef, PublishedProfile> {
        tables
            .filter_map(|table| Some((table.table.clone(), self.kept(table, settings)?)))
            .collect()
    }

    /// Returns `None` if some values can no longer be shown.
    pub(crate) fn kept(&self, table: &Table, settings: &ScanSettings) -> Option<PublishedProfile> {
        let (found, at) = self.tables.get(&table.table)?;
        let (mut found, artifact) = (found.clone(), self.artifacts.get(*at)?);
        if found.personal_values_shown && settings.hide_personal_values == Switch::On {
            return None;
        }
        if found.rows_read == 0 {
            // KTX 0.12 did not store this.
            found.rows_read = found.row_count.unwrap_or_default();
        }
        let mut columns: Vec<ProfiledColumn> = table
            .columns
            .iter()
            .filter_map(|column| published_column(artifact, table, column))
            .collect();
        for column in columns.iter_mut().filter(|column| column.rows_read == 0) {
            // Older versions stored this per table.
            column.rows_read = found.rows_read;
            column.sampled = !found.whole && column.row_count > found.rows_read;
        }
        (!columns.is_empty() || table.columns.is_empty()).then_some(PublishedProfile {
            table: found,
            columns,
        })
    }
}

fn published_column(artifact: &Value, table: &Table, column: &Column) -> Option<ProfiledColumn> {
    let full = format!("{}.{}", table.table, column.name);
    let entry = match artifact.get("columnsByReference") {
        Some(entries) => entries.get(&full)?,
        None => by_bare_name(artifact, table, column)?,
    };
    let mut entry = entry.as_object()?.clone();
    let place = serde_json::to_value(&table.table).ok()?;
    entry.insert("table".to_owned(), place);
    let values = entry.get_mut("sampleValues").and_then(Value::as_array_mut);
    for value in values.into_iter().flatten() {
        if !value.is_string() {
            *value = Value::String(value.to_string());
        }
    }
    let entry: ProfiledColumn = serde_json::from_value(Value::Object(entry)).ok()?;
    let same = entry.column == column.name && entry.native_type == column.native_type;
    same.then_some(entry)
}

/// KTX 0.12 had one list by bare names.
fn by_bare_name<'a>(artifact: &'a Value, table: &Table, column: &Column) -> Option<&'a Value> {
    let key = format!("{}.{}", table.table.name, column.name);
    let entry = artifact.get("columns")?.get(key)?;
    let place = entry.get("table")?;
    let is_it = match place.as_str() {
        Some(name) => name == table.table.name || name == table.table.to_string(),
        None => serde_json::to_value(&table.table).is_ok_and(|own| own == *place),
    };
    is_it.then_some(entry)
}

fn listed(artifact: &Value) -> BTreeMap<TableRef, ProfiledTable> {
    let mut tables = BTreeMap::new();
    let entries = artifact.get("tables").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        if let Ok(table) = ProfiledTable::deserialize(entry) {
            tables.entry(table.table.clone()).or_insert(table);
        }
    }
    tables
}
