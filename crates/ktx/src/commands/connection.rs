//! `ktx connection list` and `test`.

mod add;
mod remove;
mod rename;
mod show;

use ktx_config::{Connection, DriverKind};
use ktx_diagnostics::Exit;
use ktx_warehouse::{ConnectionCheck, RoleCheck};
use serde::Serialize;

use crate::cli::{ConnectionArgs, ConnectionCommand};
use crate::compose;
use crate::connections::check::{TestedConnection, check_all};
use crate::connections::{find, named_schemas};
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::schemas as listing;
use crate::tables::aligned;

pub(crate) fn run(args: &ConnectionArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    match &args.command {
        None | Some(ConnectionCommand::List) => list(&project, &printer),
        Some(ConnectionCommand::Test { id: Some(id), .. }) => {
            let connection = find(&project.config, id)?;
            test(&[connection], invocation, &project, &printer)
        }
        Some(ConnectionCommand::Test { id: None, .. }) => {
            let mut connections: Vec<&Connection> = project.config.connections.values().collect();
            connections.sort_by(|left, right| left.id.cmp(&right.id));
            test(&connections, invocation, &project, &printer)
        }
        Some(ConnectionCommand::Show { id }) => {
            show::run(find(&project.config, id)?, invocation, &project, &printer)
        }
        Some(ConnectionCommand::Add(args)) => add::run(args, invocation, &project, &printer),
        Some(ConnectionCommand::Edit(args)) => add::edit(args, invocation, &project, &printer),
        Some(ConnectionCommand::Remove { id, yes, .. }) => {
            let agreement = if *yes {
                remove::Consent::Given
            } else {
                remove::Consent::Wanted
            };
            remove::run(find(&project.config, id)?, agreement, &project, &printer)
        }
        Some(ConnectionCommand::Rename { old, new, .. }) => {
            rename::run(find(&project.config, old)?, new, &project, &printer)
        }
    }
}

#[derive(Serialize)]
struct ConnectionRow {
    id: String,
    driver: &'static str,
    kind: &'static str,
}

const fn kind(connection: &Connection) -> &'static str {
    match connection.driver.kind() {
        DriverKind::Warehouse => "warehouse",
        DriverKind::ContextSource => "context-source",
    }
}

fn list(project: &OpenProject, printer: &Printer) -> Outcome {
    let mut items: Vec<ConnectionRow> = project
        .config
        .connections
        .values()
        .map(|connection| ConnectionRow {
            id: connection.id.to_string(),
            driver: connection.driver.as_str(),
            kind: kind(connection),
        })
        .collect();
    items.sort_by(|left, right| left.id.cmp(&right.id));
    match printer.mode {
        Mode::Json => printer.json(&serde_json::json!({
            "kind": "list",
            "data": { "items": items },
            "meta": { "command": "connection list" },
        }))?,
        Mode::Plain => {
            for item in &items {
                printer.line(&format!("{}\t{}", item.id, item.driver))?;
            }
        }
        Mode::Pretty => {
            let headers = ["ID".to_owned(), "DRIVER".to_owned()];
            let rows: Vec<_> = items
                .iter()
                .map(|item| vec![Some(item.id.clone()), Some(item.driver.to_owned())])
                .collect();
            if !rows.is_empty() {
                printer.page(&aligned(&headers, &rows))?;
            }
        }
    }
    if items.is_empty() {
        printer.note("no connections; add one under `connections:` in ktx.yaml");
    }
    Ok(Exit::Success)
}

fn test(
    connections: &[&Connection],
    invocation: &Invocation,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let tested = check_all(connections, invocation, project)?;
    match (printer.mode, tested.as_slice()) {
        (Mode::Json, _) => json(&tested, printer)?,
        (
            _,
            [
                TestedConnection {
                    result: Err(failure),
                    ..
                },
            ],
        ) => return Err(failure.clone()),
        (
            _,
            [
                tested @ TestedConnection {
                    result: Ok(check), ..
                },
            ],
        ) => tested_text(tested, check, printer)?,
        (_, many) => several(many, printer)?,
    }
    let failed = tested.iter().any(|tested| tested.result.is_err());
    Ok(if failed {
        Exit::Connection
    } else {
        Exit::Success
    })
}

fn tested_text(
    tested: &TestedConnection<'_>,
    check: &ConnectionCheck,
    printer: &Printer,
) -> Outcome<()> {
    let connection = tested.connection;
    printer.line(&format!("Connection test passed: {}", connection.id))?;
    printer.line(&format!("Driver: {}", connection.driver))?;
    printer.line("Status: ok")?;
    printer.line(&format!("Server: {}", check.server))?;
    printer.line(&format!("Latency: {} ms", check.latency.as_millis()))?;
    let names: Vec<&str> = tested
        .schemas
        .asked
        .iter()
        .map(|schema| schema.name.as_str())
        .collect();
    if !tested.listing.is_empty() {
        for line in listing::lines(&tested.listing) {
            printer.line(&capitalized(&line))?;
        }
    } else if !names.is_empty() {
        printer.line(&format!("Schemas: {}", names.join(", ")))?;
    }
    printer.line(&format!("Role: {}", role(&check.role)))?;
    if let Some(past) = &tested.history {
        printer.line(&format!("Query history: {}", past.detail()))?;
        if let Some(fix) = past.fix(compose::dialect(connection.driver)) {
            printer.note(&format!("hint: {fix}"));
        }
    }
    for fix in listing::fixes(&tested.listing) {
        printer.note(&format!("hint: run `{fix}` to have it read"));
    }
    if let RoleCheck::CanWrite { fix, .. } = &check.role {
        printer.note("ktx itself cannot write; to make the login read-only, run:");
        for statement in fix {
            printer.note(&format!("  {statement}"));
        }
    }
    Ok(())
}

fn capitalized(line: &str) -> String {
    let mut letters = line.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn role(role: &RoleCheck) -> String {
    match role {
        RoleCheck::ReadOnly => "read-only".to_owned(),
        RoleCheck::CanWrite { because, .. } => format!("can write ({because})"),
        RoleCheck::Unknown { reason } => format!("unknown ({reason})"),
    }
}

fn several(tested: &[TestedConnection<'_>], printer: &Printer) -> Outcome<()> {
    let mut passed = 0;
    for TestedConnection {
        connection,
        result,
        listing,
        ..
    } in tested
    {
        match result {
            Ok(check) => {
                passed += 1;
                printer.line(&format!(
                    "✓ {}  {}  {}",
                    connection.id, connection.driver, check.server
                ))?;
                listing::print(listing, printer)?;
            }
            Err(failure) => {
                let message = failure.causes.first().unwrap_or(&failure.message);
                printer.line(&format!(
                    "✗ {}  {}  {message}",
                    connection.id, connection.driver
                ))?;
            }
        }
    }
    let failed = tested.len() - passed;
    printer.line(&format!(
        "{} tested · {passed} passed · {failed} failed",
        tested.len()
    ))
}

fn json(tested: &[TestedConnection<'_>], printer: &Printer) -> Outcome<()> {
    let items: Vec<serde_json::Value> = tested.iter().map(tested_item).collect();
    printer.json(&serde_json::json!({
        "kind": "list",
        "data": { "items": items },
        "meta": { "command": "connection test" },
    }))
}

fn tested_item(tested: &TestedConnection<'_>) -> serde_json::Value {
    let mut item = serde_json::json!({
        "id": tested.connection.id.as_str(),
        "driver": tested.connection.driver.as_str(),
    });
    let more = match &tested.result {
        Ok(check) => serde_json::json!({
            "status": "ok",
            "server": check.server,
            "latencyMs": u64::try_from(check.latency.as_millis()).unwrap_or(u64::MAX),
            "role": role_json(&check.role),
        }),
        Err(failure) => {
            let mut more = serde_json::json!({ "status": "failed" });
            if let (Some(more), serde_json::Value::Object(error)) =
                (more.as_object_mut(), failure.to_json())
            {
                more.extend(error);
            }
            more
        }
    };
    if let (Some(item), serde_json::Value::Object(more)) = (item.as_object_mut(), more) {
        item.extend(more);
        if !tested.schemas.asked.is_empty() {
            item.insert(
                "schemas".to_owned(),
                named_schemas::to_json(&tested.schemas),
            );
        }
        if !tested.listing.is_empty() {
            item.insert("scope".to_owned(), listing::to_json(&tested.listing));
        }
        if let Some(past) = &tested.history {
            let dialect = compose::dialect(tested.connection.driver);
            item.insert("queryHistory".to_owned(), past.to_json(dialect));
        }
    }
    item
}

fn role_json(role: &RoleCheck) -> serde_json::Value {
    match role {
        RoleCheck::ReadOnly => serde_json::json!({ "status": "read_only" }),
        RoleCheck::CanWrite { because, fix } => {
            serde_json::json!({ "status": "can_write", "because": because, "fix": fix })
        }
        RoleCheck::Unknown { reason } => {
            serde_json::json!({ "status": "unknown", "reason": reason })
        }
    }
}
