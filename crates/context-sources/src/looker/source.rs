//! Looker as a context source: which of its connections are read, and the warehouse of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use ktx_config::{Connection, Driver};
use ktx_diagnostics::{Code, Failure};
use ktx_secrets::Secret;

use super::{LookerCrawl, LookerScope};
use crate::rest::{Rest, RestError, RestErrorKind};
use crate::server::{Mapping, cache, unreachable, unread_files};
use crate::source::{Access, Contents, ContextSource, Kind, ReadRequest, Source, SourceContext};

const ID: [&str; 1] = ["client_id"];

const SECRET: [&str; 2] = ["client_secret_ref", "client_secret"];

const MAPPING: Mapping = Mapping {
    setting: "connectionMappings",
    part: "connection of Looker",
};

type Mappings = BTreeMap<String, String>;

pub(crate) struct Looker;

#[async_trait]
impl ContextSource for Looker {
    fn kind(&self) -> Kind {
        Kind {
            driver: Driver::Looker,
            product: "Looker",
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
        let mappings = MAPPING.read(connection, |_| true, context)?;
        let mappings: Mappings = mappings.into_iter().collect();
        let rest = client(connection, context)?;
        let known = super::connections(&rest).await.map_err(failed)?;
        if mappings.is_empty() {
            return Err(no_mapping(connection, &known));
        }
        MAPPING.check_target(connection, request.target, mappings.values())?;
        (request.notify)(&format!("{}: reading Looker", connection.id));
        let scope = LookerScope {
            connections: mappings.keys().cloned().collect(),
            earlier: request.earlier.clone(),
        };
        let cache = cache(connection, context);
        let read = super::read(&rest, &scope, &cache).await;
        let mut crawl = read.map_err(failed)?;
        crawl.warnings.extend(unread_files(&crawl.snapshot));
        let missing = mappings.keys().filter(|name| !known.contains_key(*name));
        let missing = missing
            .map(|name| format!("the server has no connection `{name}`, or not for this key"));
        crawl.warnings.extend(missing);
        sources(connection, crawl, &mappings, request)
    }

    async fn summarize(
        &self,
        connection: &Connection,
        context: SourceContext<'_>,
    ) -> Result<String, Failure> {
        let rest = client(connection, context)?;
        let user = super::user(&rest).await;
        let user = user.map_err(|error| unreachable(connection, &error, hint))?;
        Ok(format!("User: {user}"))
    }
}

fn sources(
    connection: &Connection,
    mut crawl: LookerCrawl,
    mappings: &Mappings,
    request: ReadRequest<'_>,
) -> Result<Vec<Source>, Failure> {
    let snapshot = Arc::new(crawl.snapshot.clone());
    let mut sources = Vec::new();
    for (warehouse, units) in super::units(&crawl, mappings) {
        if request.target.is_some_and(|target| target != warehouse) {
            continue;
        }
        let own = mappings.iter().filter(|(_, mapped)| **mapped == warehouse);
        let own: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
        let mut facts = super::facts(&crawl, &own);
        let mut warnings = std::mem::take(&mut crawl.warnings);
        warnings.append(&mut facts.warnings);
        facts.warnings = warnings;
        sources.push(Source {
            id: connection.id.clone(),
            warehouse: Some((request.context.warehouse)(&warehouse)?),
            snapshot: Arc::clone(&snapshot),
            units,
            facts,
            definitions: super::definitions(&crawl, &own),
            has_facts: true,
            documents: None,
            scope: Some(super::scope(&warehouse)),
        });
    }
    Ok(sources)
}

fn client(connection: &Connection, context: SourceContext<'_>) -> Result<Rest, Failure> {
    let field = |fields: &[&str], what: &str| -> Result<Secret, Failure> {
        context.secret(connection, fields)?.ok_or_else(|| {
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
    super::client(&address, &id, &secret).map_err(|error| unreachable(connection, &error, hint))
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
