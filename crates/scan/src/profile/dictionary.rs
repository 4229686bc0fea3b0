//! The values of columns that have few.

use ktx_relationships::profile::column::ColumnProfile;
use ktx_relationships::profile::table::Extent;
use ktx_relationships::settings::Switch;
use ktx_relationships::types::TypeFamily;

use crate::profile::personal::kept_back;
use crate::settings::ScanSettings;

/// Values that can be shown, most frequent first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueList {
    pub values: Vec<String>,
    /// True if the column has no other values.
    pub complete: bool,
}

/// Returns `None` if there are too many values or they are withheld.
pub(crate) fn value_list(
    table: &str,
    column: &ColumnProfile,
    extent: Extent,
    settings: &ScanSettings,
) -> Option<ValueList> {
    let few = column.distinct > 0 && column.distinct <= settings.dictionary_max_distinct as u64;
    if column.family != TypeFamily::Text || !few || is_all_different(column) {
        return None;
    }
    if settings.hide_personal_values == Switch::On && kept_back(table, column).is_some() {
        return None;
    }
    let values = column.frequent.iter().take(settings.dictionary_max_values);
    let values: Vec<String> = values.map(|(value, _)| value.clone()).collect();
    let complete =
        extent == Extent::Whole && column.listed_all && values.len() as u64 == column.distinct;
    Some(ValueList { values, complete })
}

/// Returns an empty list if the values are withheld.
pub(crate) fn example_values(
    table: &str,
    column: &ColumnProfile,
    count: usize,
    settings: &ScanSettings,
) -> Vec<String> {
    let hidden = settings.hide_personal_values == Switch::On && kept_back(table, column).is_some();
    if hidden || column.family == TypeFamily::Opaque {
        return Vec::new();
    }
    column
        .frequent
        .iter()
        .take(count)
        .map(|(value, _)| value.clone())
        .collect()
}

/// Such values identify rows.
fn is_all_different(column: &ColumnProfile) -> bool {
    column.distinct > 50 && column.uniqueness() >= 0.98
}
