//! Finds filter values that no scanned row has.

use ktx_diagnostics::excerpt;
use ktx_semantic_layer::{Catalog, ComparedValue};
use ktx_sql::Dialect;

use crate::scans::{ScanSnapshot, Shown};

const MOST_LISTED: usize = 8;
/// A scan keeps this many letters of a value.
const LONGEST: usize = 100;

/// Skips columns whose values are not all known.
pub(super) fn unknown_values(
    compared: &[ComparedValue],
    catalog: &Catalog,
    snapshot: &ScanSnapshot,
) -> Vec<String> {
    let shown = Shown::of(catalog, snapshot);
    let notes = compared
        .iter()
        .filter_map(|value| note(value, catalog, &shown));
    let mut told: Vec<String> = Vec::new();
    for note in notes {
        if !told.contains(&note) {
            told.push(note);
        }
    }
    told
}

fn note(compared: &ComparedValue, catalog: &Catalog, shown: &Shown<'_>) -> Option<String> {
    let value = compared.value.as_str();
    if value.chars().count() > LONGEST {
        return None;
    }
    let source = catalog.source(&compared.source)?;
    let table = shown.places().read_by(source)?;
    let column = table
        .columns
        .iter()
        .find(|column| column.name.eq_ignore_ascii_case(&compared.column))?;
    let values = shown.all_values(&table.table, &column.name)?;
    if values
        .iter()
        .any(|known| is_same(catalog.dialect(), known, value))
    {
        return None;
    }
    let near = ktx_diagnostics::nearest(value, values.iter().map(String::as_str));
    let known = match near.first() {
        Some(nearest) => format!("the nearest value is `{nearest}`"),
        None => listed(values),
    };
    Some(format!(
        "filter `{}`: the last scan found no `{value}` in `{}`; {known}",
        excerpt(&compared.filter),
        compared.field
    ))
}

fn listed(values: &[String]) -> String {
    let shown = values.iter().take(MOST_LISTED);
    let shown: Vec<String> = shown.map(|value| format!("`{value}`")).collect();
    let more = match values.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("its values are {}{more}", shown.join(", "))
}

/// Some warehouses ignore case and trailing blanks.
fn is_same(dialect: Dialect, known: &str, value: &str) -> bool {
    match dialect {
        Dialect::MySql | Dialect::MariaDb | Dialect::SqlServer => {
            known.trim_end().to_lowercase() == value.trim_end().to_lowercase()
        }
        _ => known == value,
    }
}
