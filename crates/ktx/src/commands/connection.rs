//! `ktx connection`: list and test; the other commands have files of their own.

pub(super) mod add;
pub(super) mod edit;
mod history;
mod mask;
mod remove;
mod rename;
mod schemas;
mod show;

use ktx_config::{Connection, DriverKind};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_warehouse::{ConnectionCheck, Connector, ListedSchema, RoleCheck, SchemaReport};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::cli::{ConnectionArgs, ConnectionCommand};
use crate::compose;
use crate::connections::find;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::schemas as listing;
use crate::session::{Opened, Session};
use crate::tables::aligned;

pub(super) use history::PastQueries;

/// Lists, tests, shows or changes connections.
pub(crate) fn run(args: &ConnectionArgs, session: &Session) -> Outcome {
    let printer = session.printer(&args.output)?;
    let opened = session.open(&printer)?;
    match &args.command {
        None | Some(ConnectionCommand::List) => list(&opened, &printer),
        Some(ConnectionCommand::Test { id: Some(id), .. }) => {
            let connection = find(&opened.config, id)?;
            test(&[connection], session, &opened, &printer)
        }
        Some(ConnectionCommand::Test { id: None, .. }) => {
            let mut connections: Vec<&Connection> = opened.config.connections.values().collect();
            connections.sort_by(|left, right| left.id.cmp(&right.id));
            test(&connections, session, &opened, &printer)
        }
        Some(ConnectionCommand::Show { id }) => {
            show::run(find(&opened.config, id)?, session, &opened, &printer)
        }
        Some(ConnectionCommand::Add(args)) => add::run(args, session, &opened, &printer),
        Some(ConnectionCommand::Edit(args)) => {
            let entered = add::change(args, session, &opened)?;
            for note in &entered.notes {
                printer.note(note);
            }
            let change = add::Change {
                done: "edited",
                tests: args.settings.test,
            };
            add::report(&entered, &change, session, &printer)
        }
        Some(ConnectionCommand::Remove { id, yes, .. }) => {
            let agreement = if *yes {
                remove::Agreement::Given
            } else {
                remove::Agreement::Wanted
            };
            remove::run(find(&opened.config, id)?, agreement, &opened, &printer)
        }
        Some(ConnectionCommand::Rename { old, new, .. }) => {
            rename::run(find(&opened.config, old)?, new, &opened, &printer)
        }
    }
}

#[derive(Serialize)]
struct Item {
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

fn list(opened: &Opened, printer: &Printer) -> Outcome {
    let mut items: Vec<Item> = opened
        .config
        .connections
        .values()
        .map(|connection| Item {
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

pub(super) struct Tested<'a> {
    pub(super) connection: &'a Connection,
    /// The state of its schemas, if it was reached and names some.
    pub(super) schemas: SchemaReport,
    /// All schemas, if it was reached and can list them.
    pub(super) listing: Vec<ListedSchema>,
    pub(super) result: Result<ConnectionCheck, Failure>,
    /// The state of past queries, if scans should read them.
    pub(super) history: Option<PastQueries>,
}

fn test(
    connections: &[&Connection],
    session: &Session,
    opened: &Opened,
    printer: &Printer,
) -> Outcome {
    let tested = probe(connections, session, opened)?;
    match (printer.mode, tested.as_slice()) {
        (Mode::Json, _) => json(&tested, printer)?,
        (
            _,
            [
                Tested {
                    result: Err(failure),
                    ..
                },
            ],
        ) => return Err(failure.clone()),
        (
            _,
            [
                tested @ Tested {
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

/// Tests connections, warehouses concurrently.
pub(super) fn probe<'c>(
    connections: &[&'c Connection],
    session: &Session,
    opened: &Opened,
) -> Outcome<Vec<Tested<'c>>> {
    let (sources, warehouses): (Vec<_>, Vec<_>) = connections
        .iter()
        .copied()
        .partition(|connection| connection.driver.kind() == DriverKind::ContextSource);
    let opened_connectors: Vec<_> = warehouses
        .into_iter()
        .map(|connection| {
            let connector = compose::connector(session, &opened.dir, connection);
            (connection, connector)
        })
        .collect();
    let sources = sources.into_iter().map(|connection| Tested {
        connection,
        schemas: SchemaReport::default(),
        listing: Vec::new(),
        history: None,
        result: super::ingest::sources::tested(connection, session, opened),
    });
    let mut tested: Vec<Tested<'c>> = sources.collect();
    tested.extend(reached(opened_connectors)?);
    let place = |tested: &Tested<'_>| {
        let is_it = |connection: &&Connection| connection.id == tested.connection.id;
        connections.iter().position(is_it)
    };
    tested.sort_by_key(place);
    Ok(tested)
}

type Connectors<'c> = Vec<(&'c Connection, Outcome<std::sync::Arc<dyn Connector>>)>;

/// Tests warehouses concurrently.
fn reached(opened_connectors: Connectors<'_>) -> Outcome<Vec<Tested<'_>>> {
    compose::block_on(|cancel| async move {
        let mut tasks = Vec::new();
        for (connection, connector) in opened_connectors {
            let settings = connection.clone();
            let cancel = cancel.clone();
            let task = connector.map(|connector| {
                tokio::spawn(async move { look(&*connector, &settings, &cancel).await })
            });
            tasks.push((connection, task));
        }
        let mut tested = Vec::new();
        for (connection, task) in tasks {
            let looked = match task {
                Err(failure) => Err(failure),
                Ok(task) => task
                    .await
                    .map_err(|error| Failure::from_error(Code::Internal, &error))
                    .flatten(),
            };
            tested.push(match looked {
                Err(failure) => Tested {
                    connection,
                    schemas: SchemaReport::default(),
                    listing: Vec::new(),
                    history: None,
                    result: Err(failure),
                },
                Ok(looked) => Tested {
                    connection,
                    result: schemas::judge(connection, &looked.schemas).map(|()| looked.check),
                    schemas: looked.schemas,
                    listing: looked.listing,
                    history: looked.history,
                },
            });
        }
        Ok(tested)
    })
}

struct Looked {
    check: ConnectionCheck,
    schemas: SchemaReport,
    listing: Vec<ListedSchema>,
    history: Option<PastQueries>,
}

/// Returns the server, and the state of the connection's schemas and past queries.
async fn look(
    connector: &dyn Connector,
    connection: &Connection,
    cancel: &CancellationToken,
) -> Outcome<Looked> {
    let check = connector.check(cancel).await?;
    let scope = compose::scope(connection);
    let names = &scope.schemas;
    let not_looked_at = |error| {
        Failure::from(error).context("the schemas of the connection could not be looked at")
    };
    let schemas = if names.is_empty() {
        SchemaReport::default()
    } else {
        let report = connector.check_schemas(names, cancel).await;
        report.map_err(not_looked_at)?
    };
    let listing = connector.list_schemas(&scope, cancel).await;
    Ok(Looked {
        check,
        schemas,
        listing: listing.map_err(not_looked_at)?,
        history: history::look(connector, connection, cancel).await,
    })
}

fn tested_text(tested: &Tested<'_>, check: &ConnectionCheck, printer: &Printer) -> Outcome<()> {
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

fn several(tested: &[Tested<'_>], printer: &Printer) -> Outcome<()> {
    let mut passed = 0;
    for Tested {
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

fn json(tested: &[Tested<'_>], printer: &Printer) -> Outcome<()> {
    let items: Vec<serde_json::Value> = tested.iter().map(tested_item).collect();
    printer.json(&serde_json::json!({
        "kind": "list",
        "data": { "items": items },
        "meta": { "command": "connection test" },
    }))
}

fn tested_item(tested: &Tested<'_>) -> serde_json::Value {
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
            item.insert("schemas".to_owned(), schemas::to_json(&tested.schemas));
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
