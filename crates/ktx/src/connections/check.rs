//! Tests of connections: whether each is reached, as whom, and what it shows.

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

pub(crate) struct Checked<'a> {
    pub(crate) connection: &'a Connection,
    /// The state of its schemas, if it was reached and names some.
    pub(crate) schemas: SchemaReport,
    /// All schemas, if it was reached and can list them.
    pub(crate) listing: Vec<ListedSchema>,
    pub(crate) result: Result<ConnectionCheck, Failure>,
    /// The state of past queries, if scans should read them.
    pub(crate) history: Option<PastQueries>,
}

/// Tests connections, warehouses concurrently.
pub(crate) fn check_all<'c>(
    connections: &[&'c Connection],
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Vec<Checked<'c>>> {
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
    let sources = sources.into_iter().map(|connection| Checked {
        connection,
        schemas: SchemaReport::default(),
        listing: Vec::new(),
        history: None,
        result: crate::sources::tested(connection, invocation, project),
    });
    let mut checked: Vec<Checked<'c>> = sources.collect();
    checked.extend(reached(opened_connectors)?);
    let place = |tested: &Checked<'_>| {
        let is_it = |connection: &&Connection| connection.id == tested.connection.id;
        connections.iter().position(is_it)
    };
    checked.sort_by_key(place);
    Ok(checked)
}

type Connectors<'c> = Vec<(&'c Connection, Outcome<Arc<dyn Connector>>)>;

/// Tests warehouses concurrently.
fn reached(opened_connectors: Connectors<'_>) -> Outcome<Vec<Checked<'_>>> {
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
                Err(failure) => Checked {
                    connection,
                    schemas: SchemaReport::default(),
                    listing: Vec::new(),
                    history: None,
                    result: Err(failure),
                },
                Ok(looked) => Checked {
                    connection,
                    result: named_schemas::judge(connection, &looked.schemas)
                        .map(|()| looked.check),
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
