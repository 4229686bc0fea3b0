//! Compares promises about values with the last scan.

use std::collections::BTreeSet;

use ktx_semantic_layer::authored::{Column, Meta};
use ktx_semantic_layer::{ColumnType, Part};

use super::sources::place;
use super::{DriftClass, DriftConnection, DriftFinding};
use crate::scans::{ProfiledColumn, RowsRead, ScanSnapshot};

const NAMED: usize = 5;

pub(super) fn check(
    connection: &DriftConnection,
    scan: &ScanSnapshot,
    findings: &mut Vec<DriftFinding>,
) {
    let places = scan.places();
    for source in connection.catalog.sources() {
        let Some(table) = places.read_by(source) else {
            continue;
        };
        let Some(composed) = connection.catalog.composed(&source.name) else {
            continue;
        };
        for column in composed
            .source
            .columns
            .iter()
            .filter(|one| one.expr.is_none())
        {
            let Some(read) = scan.profiled(&table.table, &column.name) else {
                continue;
            };
            let mut add = |class, message: String, hint: String| {
                let part = Part::Column(column.name.clone());
                let place = place(connection, source, &part);
                findings.push(DriftFinding::at(place, class, message, hint));
            };
            let name = format!("{}.{}", source.name, column.name);
            for (writer, accepted) in by_writer(column.enum_values.as_ref()) {
                let kind = source.column(&column.name).map(|(_, column)| column.kind);
                let unknown = not_accepted(accepted, read, kind);
                if let Some(shown) = shown(&unknown) {
                    let message = format!("{writer} does not accept the value {shown} of `{name}`");
                    let hint =
                        format!("add it to the accepted values in {writer}, or correct the rows");
                    add(DriftClass::AcceptedValues, message, hint);
                }
            }
            for (writer, broken) in broken_promises(column, read) {
                let message = format!("{writer} declares `{name}` {broken}");
                let hint = format!("correct the rows, or remove the test in {writer}");
                add(DriftClass::Constraint, message, hint);
            }
        }
    }
}

/// Such as `{dbt: …}`.
fn by_writer(meta: Option<&Meta>) -> Vec<(String, &Meta)> {
    let entries = meta.and_then(Meta::as_mapping).into_iter().flatten();
    let named = entries.filter_map(|(writer, value)| Some((writer.as_str()?.to_owned(), value)));
    named.collect()
}

fn not_accepted(accepted: &Meta, read: &ProfiledColumn, kind: Option<ColumnType>) -> Vec<String> {
    let Some(accepted) = accepted.as_sequence() else {
        return Vec::new();
    };
    let accepted: BTreeSet<String> = accepted
        .iter()
        .filter_map(text)
        .map(|value| comparable(&value, kind))
        .collect();
    let unknown = read.values.iter().filter(|value| {
        let value = comparable(value, kind);
        !value.is_empty() && !accepted.contains(&value)
    });
    unknown.cloned().collect()
}

fn text(value: &Meta) -> Option<String> {
    let text = value.as_str().map(ToOwned::to_owned);
    let flag = || value.as_bool().map(|flag| flag.to_string());
    text.or_else(flag)
        .or_else(|| value.as_i64().map(|number| number.to_string()))
        .or_else(|| value.as_f64().map(|number| number.to_string()))
}

/// Warehouses spell numbers and truth values in several ways.
fn comparable(value: &str, kind: Option<ColumnType>) -> String {
    let value = value.trim();
    if kind == Some(ColumnType::Boolean) {
        return match value.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" | "yes" => "true".to_owned(),
            "false" | "f" | "0" | "no" => "false".to_owned(),
            other => other.to_owned(),
        };
    }
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => number.to_string(),
        Ok(_) | Err(_) => value.to_owned(),
    }
}

fn shown(values: &[String]) -> Option<String> {
    if values.is_empty() {
        return None;
    }
    let named = values.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|value| format!("`{}`", ktx_diagnostics::excerpt(value)))
        .collect();
    let rest = values.len().saturating_sub(NAMED);
    Some(if rest > 0 {
        format!("{} and {rest} more", named.join(", "))
    } else {
        named.join(", ")
    })
}

fn broken_promises(column: &Column, read: &ProfiledColumn) -> Vec<(String, String)> {
    let Some(counts) = read.counts else {
        return Vec::new();
    };
    let mut broken = Vec::new();
    let filled = counts.rows.saturating_sub(counts.nulls);
    let repeated = filled.saturating_sub(read.distinct.unwrap_or(filled));
    for writer in promising(column, "unique") {
        // A sample counts only its own values.
        if repeated > 0 && counts.read == RowsRead::All {
            broken.push((
                writer,
                format!("unique, but {repeated} of its {filled} values repeat others"),
            ));
        }
    }
    for writer in promising(column, "not_null") {
        if counts.nulls > 0 {
            let nulls = counts.nulls;
            broken.push((
                writer,
                format!("not null, but it is null in {nulls} of the rows that were read"),
            ));
        }
    }
    broken
}

/// Finds `{unique: true}`, or a test of that name.
fn promising(column: &Column, name: &str) -> Vec<String> {
    let mut writers = BTreeSet::new();
    for (writer, constraints) in by_writer(column.constraints.as_ref()) {
        if constraints.get(name).and_then(Meta::as_bool) == Some(true) {
            writers.insert(writer);
        }
    }
    for (writer, tests) in by_writer(column.tests.as_ref()) {
        let is_it = |test: &Meta| test.get("name").and_then(Meta::as_str) == Some(name);
        if tests
            .as_sequence()
            .is_some_and(|tests| tests.iter().any(is_it))
        {
            writers.insert(writer);
        }
    }
    writers.into_iter().collect()
}
