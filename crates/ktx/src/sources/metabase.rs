//! Metabase as a context source: which of its databases are read, and the warehouse of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_context_sources::metabase::{self, Database, Mode, Scope};
use ktx_context_sources::{Definitions, Facts, Rest, RestError, RestErrorKind};
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::Source;
use serde_json::Value;

use super::target;
use super::{Access, Contents, ContextSource, cache, earlier, fetched, secret, unreachable};
use crate::invocation::CommandContext;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Mode as Printed;
use crate::report::Outcome;

const KEY: [&str; 2] = ["api_key_ref", "api_key"];

/// Metabase servers.
pub(super) struct Metabase;

impl ContextSource for Metabase {
    fn driver(&self) -> Driver {
        Driver::Metabase
    }

    fn product(&self) -> &'static str {
        "Metabase"
    }

    fn contents(&self) -> Contents {
        Contents::Units
    }

    fn access(&self) -> Access {
        Access::Server
    }

    fn read(
        &self,
        connection: &Connection,
        target: Option<&str>,
        context: CommandContext<'_>,
    ) -> Outcome<Vec<Source>> {
        read(connection, target, context)
    }

    fn test(
        &self,
        connection: &Connection,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<String> {
        test(connection, invocation, project)
    }
}

/// Reads the cards of each database that is mapped to a warehouse.
fn read(
    connection: &Connection,
    target: Option<&str>,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Vec<Source>> {
    let mappings = mappings(connection, project)?;
    let rest = client(connection, invocation, project)?;
    let databases = databases(connection, &rest)?;
    if mappings.is_empty() {
        return Err(no_mapping(connection, &databases));
    }
    if let Some(target) = target
        && !mappings.values().any(|warehouse| warehouse == target)
    {
        return Err(Failure::new(
            Code::NotMapped,
            format!("`{}` maps no database to `{target}`", connection.id),
        )
        .hint(format!(
            "look at `connections.{}.mappings.databaseMappings`",
            connection.id
        )));
    }
    if printer.mode != Printed::Json {
        printer.note(&format!("{}: reading Metabase", connection.id));
    }
    let scope = scope(connection, &mappings, project)?;
    let cache = cache(connection, project);
    let mut crawl = fetched(connection, metabase::read(&rest, &scope, &cache), |error| {
        hint(connection, error)
    })?;
    let snapshot = Arc::new(crawl.snapshot.clone());
    let left_out = snapshot.left_out.iter();
    let told = left_out.map(|file| format!("`{}` was not read: {}", file.path, file.reason));
    crawl.warnings.extend(told);
    crawl.warnings.extend(unmapped(&mappings, &databases));
    let mut sources = Vec::new();
    for (database, warehouse) in &mappings {
        if target.is_some_and(|target| target != warehouse) {
            continue;
        }
        let mut units = metabase::units(&crawl, *database);
        for unit in &mut units {
            let name = databases
                .get(database)
                .map(|database| database.name.as_str());
            unit.label = unit
                .label
                .take()
                .map(|label| format!("{}: {label}", name.unwrap_or("?")));
        }
        sources.push(Source {
            id: connection.id.clone(),
            warehouse: target::named(Some(warehouse), project)?,
            snapshot: Arc::clone(&snapshot),
            units,
            // Shared warnings are reported with the first of them.
            facts: Facts {
                warnings: std::mem::take(&mut crawl.warnings),
                ..Facts::default()
            },
            definitions: Definitions::default(),
            has_facts: false,
            documents: None,
            scope: Some(format!("metabase-db-{database}-")),
        });
    }
    Ok(sources)
}

/// Describes the amount of content.
fn test(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<String> {
    let rest = client(connection, invocation, project)?;
    Ok(format!(
        "Databases: {}",
        databases(connection, &rest)?.len()
    ))
}

fn databases(connection: &Connection, rest: &Rest) -> Outcome<BTreeMap<u64, Database>> {
    fetched(connection, metabase::databases(rest), |error| {
        hint(connection, error)
    })
}

fn client(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Rest> {
    let id = &connection.id;
    let key = secret(connection, &KEY, invocation, project)?.ok_or_else(|| {
        Failure::new(
            Code::NoKey,
            format!("`connections.{id}` has no `api_key_ref`"),
        )
        .hint("make an API key in Metabase (Admin settings, Authentication, API keys), and set `api_key_ref: env:METABASE_API_KEY`")
    })?;
    let address = connection.text(&["api_url"]).unwrap_or_default();
    metabase::client(&address, &key)
        .map_err(|error| unreachable(connection, &error, hint(connection, &error)))
}

fn at<'a>(connection: &'a Connection, path: &[&str]) -> Option<&'a Value> {
    let mut value = connection.fields.get("mappings")?;
    for key in path {
        value = value.get(key)?;
    }
    Some(value)
}

/// Returns the warehouse of each database that is read.
fn mappings(connection: &Connection, project: &OpenProject) -> Outcome<BTreeMap<u64, String>> {
    let id = &connection.id;
    let mut mappings = BTreeMap::new();
    let written = at(connection, &["databaseMappings"]).and_then(Value::as_object);
    for (database, warehouse) in written.into_iter().flatten() {
        let (Ok(number), Some(warehouse)) = (database.parse(), warehouse.as_str()) else {
            continue;
        };
        let is_off = at(connection, &["syncEnabled", database]).and_then(Value::as_bool);
        if is_off == Some(false) {
            continue;
        }
        let known = project.config.warehouses();
        if !known
            .map(|found| found.id.as_str())
            .any(|id| id == warehouse)
        {
            return Err(Failure::new(
                Code::NotAWarehouse,
                format!(
                    "`connections.{id}.mappings.databaseMappings.{database}`: there is no warehouse `{warehouse}`"
                ),
            )
            .hint("`ktx connection list` shows the connections"));
        }
        mappings.insert(number, warehouse.to_owned());
    }
    Ok(mappings)
}

/// Returns warnings about unmapped databases, and about mappings without a database.
fn unmapped(mappings: &BTreeMap<u64, String>, databases: &BTreeMap<u64, Database>) -> Vec<String> {
    let left = databases
        .values()
        .filter(|database| !mappings.contains_key(&database.id));
    let left = left.map(|database| {
        format!(
            "the database {} (`{}`, {}) is mapped to no warehouse and was not read",
            database.id, database.name, database.engine
        )
    });
    let missing = mappings.keys().filter(|id| !databases.contains_key(id));
    let missing = missing.map(|id| format!("the server has no database {id}, or not for this key"));
    left.chain(missing).collect()
}

fn no_mapping(connection: &Connection, databases: &BTreeMap<u64, Database>) -> Failure {
    let listed: Vec<String> = databases
        .values()
        .map(|database| format!("{} (`{}`, {})", database.id, database.name, database.engine))
        .collect();
    let first = databases.keys().next().copied().unwrap_or(1);
    Failure::new(
        Code::NotMapped,
        format!(
            "`connections.{}.mappings.databaseMappings` names no database that is read; the server has {}",
            connection.id,
            if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
        ),
    )
    .hint(format!(
        "write `mappings: {{databaseMappings: {{\"{first}\": <warehouse>}}}}` below the connection; a database without a warehouse, or switched off by `syncEnabled`, is not read"
    ))
}

fn scope(
    connection: &Connection,
    mappings: &BTreeMap<u64, String>,
    project: &OpenProject,
) -> Outcome<Scope> {
    let numbers = |path: &[&str]| -> BTreeSet<u64> {
        let list = at(connection, path).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .collect()
    };
    let mode = at(connection, &["syncMode"]).and_then(Value::as_str);
    Ok(Scope {
        databases: mappings.keys().copied().collect(),
        mode: match mode {
            Some("ONLY") => Mode::Only,
            Some("EXCEPT") => Mode::Except,
            _ => Mode::All,
        },
        collections: numbers(&["selections", "collections"]),
        cards: numbers(&["selections", "items"]),
        earlier: earlier(connection, project)?,
    })
}

fn hint(connection: &Connection, error: &RestError) -> Option<String> {
    let id = &connection.id;
    match error.kind {
        RestErrorKind::Auth | RestErrorKind::Forbidden => Some(format!(
            "set `connections.{id}.api_key_ref` to a key of a group that may see the collections"
        )),
        RestErrorKind::NotFound | RestErrorKind::Strange => Some(format!(
            "look at whether `connections.{id}.api_url` is the address of a Metabase server"
        )),
        _ => None,
    }
}
