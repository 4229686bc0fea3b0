//! Metabase as a context source: which of its databases are read, and the warehouse of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use ktx_config::{Connection, Driver};
use ktx_diagnostics::{Code, Failure};
use serde_json::Value;

use super::{Database, MetabaseCrawl, MetabaseScope, Mode};
use crate::definitions::Definitions;
use crate::facts::{Facts, Writer};
use crate::rest::{Rest, RestError, RestErrorKind};
use crate::server::{Mapping, cache, mapping_setting, unreachable, unread_files};
use crate::snapshot::Unit;
use crate::source::{Access, Contents, ContextSource, Kind, ReadRequest, Source, SourceContext};

const KEY: [&str; 2] = ["api_key_ref", "api_key"];

const MAPPING: Mapping = Mapping {
    setting: "databaseMappings",
    part: "database",
};

type Mappings = BTreeMap<u64, String>;

pub(crate) struct Metabase;

#[async_trait]
impl ContextSource for Metabase {
    fn kind(&self) -> Kind {
        Kind {
            driver: Driver::Metabase,
            product: "Metabase",
            contents: Contents::Facts,
            access: Access::Server,
        }
    }

    async fn read(
        &self,
        connection: &Connection,
        request: ReadRequest<'_>,
    ) -> Result<Vec<Source>, Failure> {
        let context = request.context;
        let failed = |error| unreachable(connection, &error, hint);
        let mappings = mappings(connection, context)?;
        let rest = client(connection, context)?;
        let databases = super::databases(&rest).await.map_err(failed)?;
        if mappings.is_empty() {
            return Err(no_mapping(connection, &databases));
        }
        MAPPING.check_target(connection, request.target, mappings.values())?;
        (request.notify)(&format!("{}: reading Metabase", connection.id));
        let scope = scope(connection, &mappings, request.earlier);
        let cache = cache(connection, context);
        let read = super::read(&rest, &scope, &cache).await;
        let mut crawl = read.map_err(failed)?;
        crawl.warnings.extend(unread_files(&crawl.snapshot));
        crawl.warnings.extend(unmapped(&mappings, &databases));
        let mut sources = Vec::new();
        let snapshot = Arc::new(crawl.snapshot.clone());
        for (database, warehouse) in &mappings {
            if request.target.is_some_and(|target| target != warehouse) {
                continue;
            }
            let name = databases.get(database).map(|found| found.name.as_str());
            sources.push(Source {
                id: connection.id.clone(),
                warehouse: Some((context.warehouse)(warehouse)?),
                snapshot: Arc::clone(&snapshot),
                units: units(&crawl, *database, name.unwrap_or("?")),
                facts: Facts {
                    warnings: std::mem::take(&mut crawl.warnings),
                    writer: Writer::Metabase,
                    is_complete: is_complete(&crawl, &mappings, warehouse),
                    ..Facts::default()
                },
                definitions: definitions(&crawl, &mappings, warehouse),
                has_facts: true,
                documents: None,
                scope: Some(format!("metabase-db-{database}-")),
            });
        }
        Ok(sources)
    }

    async fn summarize(
        &self,
        connection: &Connection,
        context: SourceContext<'_>,
    ) -> Result<String, Failure> {
        let rest = client(connection, context)?;
        let databases = super::databases(&rest).await;
        let databases = databases.map_err(|error| unreachable(connection, &error, hint))?;
        Ok(format!("Databases: {}", databases.len()))
    }
}

fn is_complete(crawl: &MetabaseCrawl, mappings: &Mappings, warehouse: &str) -> bool {
    let mut unlisted = crawl.unlisted.iter();
    let is_of_it = |database| {
        mappings
            .get(database)
            .is_some_and(|mapped| mapped == warehouse)
    };
    crawl.snapshot.left_out.is_empty() && !unlisted.any(is_of_it)
}

/// An import file covers all databases of a warehouse.
fn definitions(crawl: &MetabaseCrawl, mappings: &Mappings, warehouse: &str) -> Definitions {
    let databases = mappings.iter().filter(|(_, mapped)| *mapped == warehouse);
    let each = databases.map(|(database, _)| super::definitions(crawl, *database));
    let all = each.reduce(|mut all, more| {
        all.models.extend(more.models);
        all.left.extend(more.left);
        all
    });
    all.unwrap_or_default()
}

fn units(crawl: &MetabaseCrawl, database: u64, name: &str) -> Vec<Unit> {
    let mut units = super::units(crawl, database);
    for unit in &mut units {
        let label = unit.label.take();
        unit.label = label.map(|label| format!("{name}: {label}"));
    }
    units
}

fn client(connection: &Connection, context: SourceContext<'_>) -> Result<Rest, Failure> {
    let id = &connection.id;
    let key = context.secret(connection, &KEY)?.ok_or_else(|| {
        Failure::new(
            Code::NoKey,
            format!("`connections.{id}` has no `api_key_ref`"),
        )
        .hint("make an API key in Metabase (Admin settings, Authentication, API keys), and set `api_key_ref: env:METABASE_API_KEY`")
    })?;
    let address = connection.text(&["api_url"]).unwrap_or_default();
    super::client(&address, &key).map_err(|error| unreachable(connection, &error, hint))
}

fn mappings(connection: &Connection, context: SourceContext<'_>) -> Result<Mappings, Failure> {
    let is_read = |database: &str| {
        let is_synced = mapping_setting(connection, &["syncEnabled", database]);
        database.parse::<u64>().is_ok() && is_synced.and_then(Value::as_bool) != Some(false)
    };
    let mappings = MAPPING.read(connection, is_read, context)?.into_iter();
    Ok(mappings
        .filter_map(|(database, warehouse)| Some((database.parse().ok()?, warehouse)))
        .collect())
}

fn unmapped(mappings: &Mappings, databases: &BTreeMap<u64, Database>) -> Vec<String> {
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
    mappings: &Mappings,
    earlier: &BTreeSet<String>,
) -> MetabaseScope {
    let numbers = |path: &[&str]| -> BTreeSet<u64> {
        let list = mapping_setting(connection, path).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_u64)
            .collect()
    };
    let mode = mapping_setting(connection, &["syncMode"]).and_then(Value::as_str);
    MetabaseScope {
        databases: mappings.keys().copied().collect(),
        mode: match mode {
            Some("ONLY") => Mode::Only,
            Some("EXCEPT") => Mode::Except,
            _ => Mode::All,
        },
        collections: numbers(&["selections", "collections"]),
        cards: numbers(&["selections", "items"]),
        earlier: earlier.clone(),
    }
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
