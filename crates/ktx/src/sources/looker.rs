//! Looker as a context source: which of its connections are read, and the warehouse of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_context_sources::looker::{self, Crawl, Scope};
use ktx_context_sources::{Definitions, Rest, RestError, RestErrorKind};
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::Source;
use ktx_secrets::Secret;

use super::target;
use super::{Access, Contents, ContextSource, cache, earlier, fetched, secret, unreachable};
use crate::invocation::CommandContext;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Mode;
use crate::report::Outcome;

/// The field with the id of the key.
const ID: [&str; 1] = ["client_id"];

/// The fields with the secret of the key.
const SECRET: [&str; 2] = ["client_secret_ref", "client_secret"];

/// The warehouse of each Looker connection that is read.
type Mappings = BTreeMap<String, String>;

/// Looker servers.
pub(super) struct Looker;

impl ContextSource for Looker {
    fn driver(&self) -> Driver {
        Driver::Looker
    }

    fn product(&self) -> &'static str {
        "Looker"
    }

    fn contents(&self) -> Contents {
        Contents::Facts
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

/// Reads each Looker connection that is mapped to a warehouse.
fn read(
    connection: &Connection,
    target: Option<&str>,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Vec<Source>> {
    let id = &connection.id;
    let mappings = mappings(connection, project)?;
    let rest = client(connection, invocation, project)?;
    let hinted = |error: &RestError| hint(connection, error);
    let known = fetched(connection, looker::connections(&rest), hinted)?;
    if mappings.is_empty() {
        return Err(no_mapping(connection, &known));
    }
    if let Some(target) = target
        && !mappings.values().any(|warehouse| warehouse == target)
    {
        return Err(Failure::new(
            Code::NotMapped,
            format!("`{id}` maps no connection of Looker to `{target}`"),
        )
        .hint(format!(
            "look at `connections.{id}.mappings.connectionMappings`"
        )));
    }
    if printer.mode != Mode::Json {
        printer.note(&format!("{id}: reading Looker"));
    }
    let scope = Scope {
        connections: mappings.keys().cloned().collect(),
        earlier: earlier(connection, project)?,
    };
    let cache = cache(connection, project);
    let mut crawl = fetched(connection, looker::read(&rest, &scope, &cache), hinted)?;
    let left_out = crawl.snapshot.left_out.iter();
    let told = left_out.map(|file| format!("`{}` was not read: {}", file.path, file.reason));
    let told: Vec<String> = told.collect();
    crawl.warnings.extend(told);
    let missing = mappings.keys().filter(|name| !known.contains_key(*name));
    let missing =
        missing.map(|name| format!("the server has no connection `{name}`, or not for this key"));
    crawl.warnings.extend(missing);
    sources(connection, target, (crawl, &mappings), project)
}

fn sources(
    connection: &Connection,
    target: Option<&str>,
    (mut crawl, mappings): (Crawl, &Mappings),
    project: &OpenProject,
) -> Outcome<Vec<Source>> {
    let snapshot = Arc::new(crawl.snapshot.clone());
    let mut sources = Vec::new();
    for (warehouse, units) in looker::units(&crawl, mappings) {
        if target.is_some_and(|target| target != warehouse) {
            continue;
        }
        let own = mappings.iter().filter(|(_, mapped)| **mapped == warehouse);
        let own: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
        let mut facts = looker::facts(&crawl, &own);
        // Shared warnings are reported with the first of them.
        let mut warnings = std::mem::take(&mut crawl.warnings);
        warnings.append(&mut facts.warnings);
        facts.warnings = warnings;
        sources.push(Source {
            id: connection.id.clone(),
            warehouse: target::named(Some(&warehouse), project)?,
            snapshot: Arc::clone(&snapshot),
            units,
            facts,
            definitions: Definitions::default(),
            has_facts: true,
            documents: None,
            scope: Some(looker::scope(&warehouse)),
        });
    }
    Ok(sources)
}

/// Returns the owner of the key.
fn test(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<String> {
    let rest = client(connection, invocation, project)?;
    let user = fetched(connection, looker::user(&rest), |error| {
        hint(connection, error)
    })?;
    Ok(format!("User: {user}"))
}

fn client(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Rest> {
    let field = |fields: &[&str], what: &str| -> Outcome<Secret> {
        secret(connection, fields, invocation, project)?.ok_or_else(|| {
            Failure::new(
                Code::NoKey,
                format!("`connections.{}` has no `{what}`", connection.id),
            )
            .hint(
                "make an API key in Looker (Admin, Users, Edit, API Keys), and set `client_id` and \
                 `client_secret_ref: env:LOOKER_CLIENT_SECRET`",
            )
        })
    };
    let id = field(&ID, "client_id")?;
    let secret = field(&SECRET, "client_secret_ref")?;
    let address = connection.text(&["base_url"]).unwrap_or_default();
    looker::client(&address, &id, &secret)
        .map_err(|error| unreachable(connection, &error, hint(connection, &error)))
}

fn mappings(connection: &Connection, project: &OpenProject) -> Outcome<Mappings> {
    let id = &connection.id;
    let written = connection.fields.get("mappings");
    let written = written.and_then(|found| found.get("connectionMappings")?.as_object());
    let mut mappings = Mappings::new();
    for (name, warehouse) in written.into_iter().flatten() {
        let Some(warehouse) = warehouse.as_str() else {
            continue;
        };
        let mut known = project.config.warehouses();
        if !known.any(|found| found.id.as_str() == warehouse) {
            return Err(Failure::new(
                Code::NotAWarehouse,
                format!(
                    "`connections.{id}.mappings.connectionMappings.{name}`: there is no warehouse `{warehouse}`"
                ),
            )
            .hint("`ktx connection list` shows the connections"));
        }
        mappings.insert(name.clone(), warehouse.to_owned());
    }
    Ok(mappings)
}

fn no_mapping(connection: &Connection, known: &BTreeMap<String, Option<String>>) -> Failure {
    let listed: Vec<String> = known
        .iter()
        .map(|(name, dialect)| match dialect {
            Some(dialect) => format!("`{name}` ({dialect})"),
            None => format!("`{name}`"),
        })
        .collect();
    let listed = if listed.is_empty() {
        "none, or none for this key".to_owned()
    } else {
        listed.join(", ")
    };
    let first = known.keys().next().map_or("<name>", String::as_str);
    Failure::new(
        Code::NotMapped,
        format!(
            "`connections.{}.mappings.connectionMappings` names no connection of Looker that is read; the server has {listed}",
            connection.id
        ),
    )
    .hint(format!(
        "write `mappings: {{connectionMappings: {{\"{first}\": <warehouse>}}}}` below the connection; what is about a connection without a \
         warehouse is not read"
    ))
}

fn hint(connection: &Connection, error: &RestError) -> Option<String> {
    let id = &connection.id;
    match error.kind {
        // Looker answers an unknown key with "not found".
        RestErrorKind::Auth => Some(format!(
            "set `connections.{id}.client_id` and `client_secret_ref` to an API key that is still valid, and `base_url` to the address \
             of its Looker server"
        )),
        RestErrorKind::Forbidden => Some(format!(
            "give the user of `connections.{id}.client_id` the permissions `see_lookml`, `see_looks` and `see_user_dashboards`"
        )),
        RestErrorKind::NotFound | RestErrorKind::Strange | RestErrorKind::Refused => Some(format!(
            "look at whether `connections.{id}.base_url` is the address of a Looker server with API 4.0"
        )),
        _ => None,
    }
}
