//! The shape of `profiles/*.json`, one file per table.

use std::collections::BTreeMap;

use ktx_relationships::profile::sketch::ratio;
use ktx_relationships::profile::{Extent, TableProfile};
use ktx_relationships::settings::Switch;
use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::profile::dictionary::{example_values, value_list};
use crate::profile::previous::PublishedProfile;
use crate::settings::ScanSettings;

pub(crate) const PROFILES: &str = "enrichment/profiles/";
/// Written by older versions.
pub(crate) const WHOLE_PROFILE: &str = "enrichment/relationship-profile.json";
const EXAMPLE_VALUES: usize = 5;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileArtifact {
    pub(crate) tables: Vec<ProfiledTable>,
    /// By bare table name, as in KTX 0.12; the first of two tables wins.
    pub(crate) columns: BTreeMap<String, ProfiledColumn>,
    /// By full table reference.
    pub(crate) columns_by_reference: BTreeMap<String, ProfiledColumn>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfiledTable {
    pub(crate) table: TableRef,
    pub(crate) row_count: Option<u64>,
    #[serde(default)]
    pub(crate) rows_read: u64,
    #[serde(default)]
    pub(crate) whole: bool,
    #[serde(default)]
    pub(crate) query_count: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) personal_values_shown: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfiledColumn {
    pub(crate) table: TableRef,
    pub(crate) column: String,
    pub(crate) native_type: String,
    pub(crate) normalized_type: String,
    pub(crate) row_count: u64,
    /// All figures below refer to these rows.
    #[serde(default)]
    pub(crate) rows_read: u64,
    #[serde(default)]
    pub(crate) sampled: bool,
    pub(crate) null_count: u64,
    pub(crate) distinct_count: u64,
    /// Absent if all rows were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) estimated_distinct_count: Option<u64>,
    pub(crate) uniqueness_ratio: f64,
    pub(crate) null_rate: f64,
    #[serde(default)]
    pub(crate) sample_values: Vec<String>,
    #[serde(default)]
    pub(crate) sample_values_complete: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_value: Option<String>,
    pub(crate) min_text_length: Option<u64>,
    pub(crate) max_text_length: Option<u64>,
}

impl ProfileArtifact {
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
            query_count: profile.statements,
            personal_values_shown: settings.hide_personal_values == Switch::Off,
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
                rows_read: profile.rows_read,
                sampled: profile.extent == Extent::Sample,
                estimated_distinct_count: (profile.extent == Extent::Sample)
                    .then_some(found.population),
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
            self.insert(entry);
        }
    }

    pub(crate) fn keep(&mut self, kept: &PublishedProfile) {
        self.tables.push(kept.table.clone());
        for column in &kept.columns {
            self.insert(column.clone());
        }
    }

    fn insert(&mut self, entry: ProfiledColumn) {
        let bare = format!("{}.{}", entry.table.name, entry.column);
        self.columns.entry(bare).or_insert_with(|| entry.clone());
        self.columns_by_reference
            .insert(format!("{}.{}", entry.table, entry.column), entry);
    }
}

pub(crate) fn rounded(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}
