//! The serialised shape of `relationship-profile.json`.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use serde::Serialize;

use crate::profile::dictionary::{example_values, value_list};
use crate::profile::sketch::ratio;
use crate::profile::{Extent, TableProfile};
use crate::settings::ScanSettings;

/// Values shown of a column that has no value list.
const EXAMPLE_VALUES: usize = 5;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileArtifact {
    pub(crate) connection_id: String,
    pub(crate) driver: String,
    pub(crate) sql_available: bool,
    pub(crate) query_count: usize,
    pub(crate) tables: Vec<ProfiledTable>,
    /// By `<bare table name>.<column>`, as in KTX 0.12; of two tables with one name the first stands here.
    pub(crate) columns: BTreeMap<String, ProfiledColumn>,
    /// By `<full table reference>.<column>`: every column.
    pub(crate) columns_by_reference: BTreeMap<String, ProfiledColumn>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfiledTable {
    pub(crate) table: TableRef,
    pub(crate) row_count: Option<u64>,
    pub(crate) rows_read: u64,
    pub(crate) whole: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfiledColumn {
    pub(crate) table: TableRef,
    pub(crate) column: String,
    pub(crate) native_type: String,
    pub(crate) normalized_type: String,
    pub(crate) row_count: u64,
    pub(crate) null_count: u64,
    pub(crate) distinct_count: u64,
    pub(crate) uniqueness_ratio: f64,
    pub(crate) null_rate: f64,
    pub(crate) sample_values: Vec<String>,
    /// Whether `sampleValues` are all values of the column.
    pub(crate) sample_values_complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_value: Option<String>,
    pub(crate) min_text_length: Option<u64>,
    pub(crate) max_text_length: Option<u64>,
}

impl ProfileArtifact {
    /// Adds one table with its columns.
    pub(crate) fn add(
        &mut self,
        table: &ktx_warehouse::Table,
        profile: &TableProfile,
        settings: &ScanSettings,
    ) {
        self.tables.push(ProfiledTable {
            table: table.table.clone(),
            row_count: profile.rows,
            rows_read: profile.rows_read,
            whole: profile.extent == Extent::Whole,
        });
        for column in &table.columns {
            let Some(found) = profile.column(&column.name) else {
                continue;
            };
            let name = &table.table.name;
            let list = value_list(name, found, profile.extent, settings);
            let complete = list.as_ref().is_some_and(|list| list.complete);
            let values = list.map_or_else(
                || example_values(name, found, EXAMPLE_VALUES, settings),
                |list| list.values,
            );
            let hidden = values.is_empty();
            let (low, high) = found.extremes.clone().filter(|_| !hidden).unzip();
            let entry = ProfiledColumn {
                table: table.table.clone(),
                column: column.name.clone(),
                native_type: column.native_type.clone(),
                normalized_type: column.normalized_type.clone(),
                row_count: profile.rows.unwrap_or(profile.rows_read),
                null_count: found.nulls,
                distinct_count: found.distinct,
                uniqueness_ratio: rounded(found.uniqueness()),
                null_rate: rounded(ratio(found.nulls, profile.rows_read)),
                sample_values: values,
                sample_values_complete: complete,
                min_value: low,
                max_value: high,
                min_text_length: found.lengths.map(|(short, _)| short),
                max_text_length: found.lengths.map(|(_, long)| long),
            };
            let bare = format!("{name}.{}", column.name);
            self.columns.entry(bare).or_insert_with(|| entry.clone());
            self.columns_by_reference
                .insert(format!("{}.{}", table.table, column.name), entry);
        }
    }
}

/// Four decimals.
pub(crate) fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}
