//! Describes scanned and left-out schemas.

use ktx_warehouse::{ListedSchema, SchemaReading};
use serde_json::{Value, json};

use crate::printer::Printer;
use crate::report::Outcome;

/// Empty if the driver reports no schemas.
pub(crate) fn lines(listing: &[ListedSchema]) -> Vec<String> {
    if listing.is_empty() {
        return Vec::new();
    }
    let read: Vec<String> = listing
        .iter()
        .filter(|schema| schema.is_read())
        .map(|schema| format!("{} ({})", schema.name, tables(schema.tables)))
        .collect();
    let left: Vec<String> = listing.iter().filter_map(left_out).collect();
    let mut lines = vec![if read.is_empty() {
        "schemas: none".to_owned()
    } else {
        format!("schemas: {}", read.join(", "))
    }];
    if !left.is_empty() {
        lines.push(format!("left out: {}", left.join(", ")));
    }
    lines
}

pub(crate) fn print(listing: &[ListedSchema], printer: &Printer) -> Outcome<()> {
    for line in lines(listing) {
        printer.line(&format!("  {line}"))?;
    }
    Ok(())
}

fn left_out(schema: &ListedSchema) -> Option<String> {
    let name = &schema.name;
    match &schema.reading {
        SchemaReading::NotNamed => Some(format!(
            "{name} ({}, not named by the connection)",
            tables(schema.tables + schema.not_granted + schema.not_listed)
        )),
        SchemaReading::NotGranted { .. } => Some(format!(
            "{name} ({}, not granted to the login)",
            tables(schema.tables + schema.not_granted + schema.not_listed)
        )),
        SchemaReading::Read => {
            let mut parts = Vec::new();
            if schema.not_granted > 0 {
                parts.push(format!("{} not granted to the login", schema.not_granted));
            }
            if schema.not_listed > 0 {
                parts.push(format!("{} not in `enabled_tables`", schema.not_listed));
            }
            (!parts.is_empty()).then(|| format!("of {name} {}", parts.join(" and ")))
        }
    }
}

pub(crate) fn fixes(listing: &[ListedSchema]) -> Vec<String> {
    let fixes = listing.iter().flat_map(|schema| match &schema.reading {
        SchemaReading::NotGranted { fix } => fix.clone(),
        SchemaReading::Read | SchemaReading::NotNamed => Vec::new(),
    });
    fixes.collect()
}

/// `{schemas, leftOut}`; null if the driver reports none.
pub(crate) fn to_json(listing: &[ListedSchema]) -> Value {
    if listing.is_empty() {
        return Value::Null;
    }
    let read = listing.iter().filter(|schema| schema.is_read());
    let read: Vec<Value> = read
        .map(|schema| {
            json!({
                "name": schema.name,
                "tables": schema.tables,
                "notGranted": schema.not_granted,
                "notListed": schema.not_listed,
            })
        })
        .collect();
    let left = listing.iter().filter(|schema| !schema.is_read());
    let left: Vec<Value> = left
        .map(|schema| {
            let (reason, fix) = match &schema.reading {
                SchemaReading::NotGranted { fix } => ("not_granted", fix.as_slice()),
                SchemaReading::Read | SchemaReading::NotNamed => ("not_named", &[][..]),
            };
            json!({
                "name": schema.name,
                "tables": schema.tables + schema.not_granted + schema.not_listed,
                "reason": reason,
                "fix": fix,
            })
        })
        .collect();
    json!({ "schemas": read, "leftOut": left })
}

fn tables(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} table{s}")
}
