//! Tests connections, their users and visible schemas.

use std::sync::Arc;

use ktx_config::{Connection, DriverKind};
use ktx_diagnostics::{Code, Failure};
use ktx_warehouse::{ConnectionCheck, Connector, ListedSchema, SchemaReport};
use tokio_util::sync::CancellationToken;

use super::history::{self, PastQueries};
use super::named_schemas;
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

pub(crate) struct TestedConnection<'a> {
    pub(crate) connection: &'a Connection,
    /// If reached and schemas are named.
    pub(crate) schemas: SchemaReport,
    pub(crate) listing: Vec<ListedSchema>,
    pub(crate) result: Result<ConnectionCheck, Failure>,
    pub(crate) history: Option<PastQueries>,
}

pub(crate) fn check_all<'c>(
    connections: &[&'c Connection],
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Vec<TestedConnection<'c>>> {
    let (sources, warehouses): (Vec<_>, Vec<_>) = connections
        .iter()
        .copied()
        .partition(|connection| connection.driver.kind() == DriverKind::ContextSource);
    let opened_connectors: Vec<_> = warehouses
        .into_iter()
        .map(|connection| {
            let connector = compose::connector(invocation, &project.dir, connection);
            (connection, connector)
        })
        .collect();
    let sources = sources.into_iter().map(|connection| TestedConnection {
        connection,
        schemas: SchemaReport::default(),
        listing: Vec::new(),
        history: None,
        result: crate::sources::tested(connection, invocation, project),
    });
    let mut checked: Vec<TestedConnection<'c>> = sources.collect();
    checked.extend(reached(opened_connectors)?);
    let place = |tested: &TestedConnection<'_>| {
        let is_it = |connection: &&Connection| connection.id == tested.connection.id;
        connections.iter().position(is_it)
    };
    checked.sort_by_key(place);
    Ok(checked)
}

type Connectors<'c> = Vec<(&'c Connection, Outcome<Arc<dyn Connector>>)>;

fn reached(opened_connectors: Connectors<'_>) -> Outcome<Vec<TestedConnection<'_>>> {
    compose::block_on(|cancel| async move {
        let mut tasks = Vec::new();
        for (connection, connector) in opened_connectors {
            let settings = connection.clone();
            let cancel = cancel.clone();
            let task = connector.map(|connector| {
                tokio::spawn(async move { inspect(&*connector, &settings, &cancel).await })
            });
            tasks.push((connection, task));
        }
        let mut tested = Vec::new();
        for (connection, task) in tasks {
            let outcome = match task {
                Err(failure) => Err(failure),
                Ok(task) => task
                    .await
                    .map_err(|error| Failure::from_error(Code::Internal, &error))
                    .flatten(),
            };
            tested.push(match outcome {
                Err(failure) => TestedConnection {
                    connection,
                    schemas: SchemaReport::default(),
                    listing: Vec::new(),
                    history: None,
                    result: Err(failure),
                },
                Ok(outcome) => TestedConnection {
                    connection,
                    result: named_schemas::judge(connection, &outcome.schemas)
                        .map(|()| outcome.check),
                    schemas: outcome.schemas,
                    listing: outcome.listing,
                    history: outcome.history,
                },
            });
        }
        Ok(tested)
    })
}

struct ConnectionFacts {
    check: ConnectionCheck,
    schemas: SchemaReport,
    listing: Vec<ListedSchema>,
    history: Option<PastQueries>,
}

async fn inspect(
    connector: &dyn Connector,
    connection: &Connection,
    cancel: &CancellationToken,
) -> Outcome<ConnectionFacts> {
    let check = connector.check(cancel).await?;
    let scope = compose::scope(connection);
    let names = &scope.schemas;
    let not_looked_at =
        |error| Failure::from(error).context("the schemas of the connection could not be checked");
    let schemas = if names.is_empty() {
        SchemaReport::default()
    } else {
        let report = connector.check_schemas(names, cancel).await;
        report.map_err(not_looked_at)?
    };
    let listing = connector.list_schemas(&scope, cancel).await;
    Ok(ConnectionFacts {
        check,
        schemas,
        listing: listing.map_err(not_looked_at)?,
        history: history::inspect(connector, connection, cancel).await,
    })
}
