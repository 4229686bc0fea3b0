//! `ktx connection show`, which does not connect.

use ktx_config::{Connection, Driver, DriverKind};
use ktx_diagnostics::Exit;
use serde_json::{Map, Value, json};

use crate::compose;
use crate::connections::mask::masked;
use crate::connections::references::{ReferenceCheck, check_references};
use crate::invocation::{Invocation, OpenProject};
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

pub(super) fn run(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let looked = check_references(connection, &invocation.secrets(&project.dir));
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "kind": "connection",
            "data": to_json(connection, &looked),
            "meta": { "command": "connection show" },
        }))?;
    } else {
        text(connection, &looked, printer)?;
    }
    Ok(Exit::Success)
}

pub(super) fn to_json(connection: &Connection, looked: &[ReferenceCheck]) -> Value {
    let references: Vec<Value> = looked
        .iter()
        .map(|looked| {
            json!({
                "field": looked.reference.field,
                "reference": looked.reference.written,
                "resolves": looked.problem.is_none(),
                "problem": looked.problem,
            })
        })
        .collect();
    let mut data = json!({
        "id": connection.id.as_str(),
        "driver": connection.driver.as_str(),
        "kind": super::kind(connection),
        "fields": masked(connection),
        "references": references,
    });
    if let Value::Object(data) = &mut data
        && connection.driver.kind() == DriverKind::Warehouse
    {
        let scope = compose::scope(connection);
        data.insert(
            "scope".to_owned(),
            json!({ "schemas": scope.schemas, "tables": scope.tables }),
        );
        let reachable = compose::supports(connection.driver);
        data.insert("supported".to_owned(), json!(reachable));
    }
    data
}

fn text(connection: &Connection, looked: &[ReferenceCheck], printer: &Printer) -> Outcome<()> {
    printer.line(&format!("Connection: {}", connection.id))?;
    printer.line(&format!(
        "Driver: {} ({})",
        connection.driver,
        super::kind(connection)
    ))?;
    let fields = masked(connection);
    if !fields.is_empty() {
        printer.line("Fields:")?;
        lines("", &fields, looked, printer)?;
    }
    if connection.driver.kind() == DriverKind::Warehouse {
        let scope = compose::scope(connection);
        match (scope.schemas.is_empty(), connection.driver) {
            (true, Driver::Sqlite | Driver::DuckDb) => {}
            (true, Driver::Postgres | Driver::Redshift) => {
                printer.line("Schemas: all that the login can read")?;
            }
            (true, _) => printer.line("Schemas: those that the login lands in")?,
            (false, _) => printer.line(&format!("Schemas: {}", scope.schemas.join(", ")))?,
        }
        let tables = if scope.tables.is_empty() {
            "all".to_owned()
        } else {
            scope.tables.join(", ")
        };
        printer.line(&format!("Tables: {tables}"))?;
        if !compose::supports(connection.driver) {
            printer.note(&format!(
                "warning: this version cannot reach `{}` databases",
                connection.driver
            ));
        }
    }
    Ok(())
}

fn lines(
    prefix: &str,
    fields: &Map<String, Value>,
    looked: &[ReferenceCheck],
    printer: &Printer,
) -> Outcome<()> {
    for (key, value) in fields {
        let name = format!("{prefix}{key}");
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                lines(&format!("{name}."), inner, looked, printer)?;
            }
            value => {
                let shown = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let state = looked
                    .iter()
                    .find(|looked| looked.reference.field == name)
                    .map(|looked| match &looked.problem {
                        None => "  (has a value)".to_owned(),
                        Some(problem) => format!("  (no value: {problem})"),
                    });
                printer.line(&format!("  {name}: {shown}{}", state.unwrap_or_default()))?;
            }
        }
    }
    Ok(())
}
