//! The port through which the tools see a project.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_config::{Connection, DriverKind};
use ktx_diagnostics::{Code, Failure};
use ktx_scan::Found;
use ktx_search::{Query, SearchOutcome};
use ktx_semantic_layer::{Catalog, Query as SemanticQuery};
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::Connector;
use ktx_wiki::{Page, PagePath};

use crate::documents;
use crate::failure::{ADD_CONNECTION, not_a_warehouse, unknown_connection};
use crate::reader::Reader;
use crate::scans::ScanSnapshot;
use crate::state::ProjectState;
use crate::wire::SourceList;

/// One statement that was sent, or refused, on behalf of an agent or a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// What asked: `sl_query` or `sql_execution`.
    pub tool: &'static str,
    /// The caller's id of the call.
    pub call_id: String,
    /// The connection.
    pub connection: ConnectionId,
    /// The SQL as it was sent; as it was given when it was refused.
    pub sql: String,
    /// How it ended.
    pub outcome: AuditOutcome,
}

/// How a statement ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditOutcome {
    /// Rows were read.
    Executed {
        /// How many were handed out.
        rows: usize,
    },
    /// The read-only gate refused it; nothing was sent.
    Refused {
        /// The code of the refusal.
        code: Code,
    },
    /// The warehouse or the connection failed.
    Failed {
        /// The code of the failure.
        code: Code,
    },
}

/// Whether statements can run on a connection.
#[derive(Debug, Clone)]
pub enum Runner {
    /// They can.
    Ready(Arc<dyn Connector>),
    /// This build has no connector for the driver: queries are compiled and not run.
    CompileOnly {
        /// Why, for people.
        reason: String,
    },
}

/// What a catalog is asked for.
#[derive(Debug, Clone)]
pub enum Need {
    /// The answer to a query.
    Query(Box<SemanticQuery>),
    /// The text of a source.
    Text(String),
}

/// What the tools need of a project. Everything is read when it is asked for and read again when
/// its files have changed; nothing is written but the search index, listings and the audit log.
#[async_trait]
pub trait ProjectContext: Send + Sync {
    /// Who reads the answers.
    fn reader(&self) -> Reader;

    /// The connections of `ktx.yaml`, in their order there.
    async fn connections(&self) -> Result<Vec<Connection>, Failure>;

    /// The connections that have a folder under `semantic-layer/`, in the order of their ids.
    async fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure>;

    /// What runs statements on a warehouse. Reaches nothing.
    async fn runner(&self, connection: &Connection) -> Result<Runner, Failure>;

    /// The semantic sources of a connection; empty when it has none.
    async fn catalog(&self, connection: &ConnectionId) -> Result<Arc<Catalog>, Failure>;

    /// The semantic sources of a connection, of which those may be read alone that are needed: the answer is that of
    /// the whole catalog.
    async fn catalog_for(
        &self,
        connection: &ConnectionId,
        _need: Need,
    ) -> Result<Arc<Catalog>, Failure> {
        self.catalog(connection).await
    }

    /// The listing of a connection's sources, with what is wrong in their files.
    async fn listing(&self, connection: &ConnectionId) -> Result<SourceList, Failure> {
        let catalog = self.catalog(connection).await?;
        Ok(documents::source_list(connection, &catalog))
    }

    /// Where the pages lie that the user sees, one for each key, ordered by key.
    async fn page_paths(&self) -> Result<Vec<PagePath>, Failure>;

    /// What lies among the pages and is not read, in words.
    async fn unread_pages(&self) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// The pages at these places, in their order; those that are no longer there are left out.
    async fn pages(&self, paths: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure>;

    /// The last scan of a connection; `None` when it was never scanned.
    async fn snapshot(
        &self,
        connection: &ConnectionId,
    ) -> Result<Option<Arc<ScanSnapshot>>, Failure>;

    /// The joins that the last scan of a connection has found, with the decisions about them; `None` when no scan that
    /// can be read has looked for joins.
    async fn links(&self, _connection: &ConnectionId) -> Option<Found> {
        None
    }

    /// Answers queries in their order, after bringing the index up to date once.
    async fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure>;

    /// What the files of the project are now.
    async fn state(&self) -> Result<ProjectState, Failure> {
        Ok(ProjectState::default())
    }

    /// Notes one statement.
    fn audit(&self, entry: AuditEntry);
}

/// Answers one query.
pub(crate) async fn search_one(
    context: &dyn ProjectContext,
    query: Query,
) -> Result<SearchOutcome, Failure> {
    let mut outcomes = context.search(vec![query]).await?;
    Ok(outcomes.pop().unwrap_or_default())
}

/// The connection of this id.
pub async fn connection_of(
    context: &dyn ProjectContext,
    text: &str,
) -> Result<Connection, Failure> {
    let connections = context.connections().await?;
    let found = connections
        .iter()
        .find(|connection| connection.id.as_str() == text);
    match found {
        Some(connection) => Ok(connection.clone()),
        None => Err(unknown_connection(
            text,
            connections.iter().map(|one| &one.id),
        )),
    }
}

/// The warehouse of this id; without an id the only warehouse that there is.
pub async fn warehouse_of(
    context: &dyn ProjectContext,
    id: Option<&str>,
) -> Result<Connection, Failure> {
    let connections = context.connections().await?;
    find_warehouse(&connections, id, context.reader()).cloned()
}

/// Finds the warehouse of this id among the connections of a project; without an id the only
/// warehouse that there is.
///
/// # Errors
///
/// `unknown_connection` and `not_a_warehouse` for an id; `no_warehouse` and `connection_required`
/// without one.
pub fn find_warehouse<'a>(
    connections: impl IntoIterator<Item = &'a Connection>,
    id: Option<&str>,
    reader: Reader,
) -> Result<&'a Connection, Failure> {
    let connections: Vec<&Connection> = connections.into_iter().collect();
    let is_warehouse = |connection: &Connection| connection.driver.kind() == DriverKind::Warehouse;
    let warehouses = connections.iter().copied().filter(|one| is_warehouse(one));
    let warehouses: Vec<&Connection> = warehouses.collect();
    let ids = || warehouses.iter().map(|one| one.id.as_str());
    let Some(id) = id else {
        return match warehouses.as_slice() {
            [only] => Ok(*only),
            [] => Err(
                Failure::new(Code::NoWarehouse, "the project has no warehouse connection")
                    .hint(ADD_CONNECTION),
            ),
            several => Err(Failure::new(
                Code::ConnectionRequired,
                format!(
                    "the project has {} warehouses: say which with {}",
                    several.len(),
                    reader.connection_argument()
                ),
            )
            .try_one_of(ids())),
        };
    };
    match connections.into_iter().find(|one| one.id.as_str() == id) {
        Some(found) if is_warehouse(found) => Ok(found),
        Some(found) => Err(not_a_warehouse(&found.id, found.driver).try_one_of(ids())),
        None => Err(unknown_connection(id, warehouses.iter().map(|one| &one.id))),
    }
}

/// All warehouses, or the one of this id.
pub async fn warehouses_of(
    context: &dyn ProjectContext,
    id: Option<&str>,
) -> Result<Vec<Connection>, Failure> {
    if id.is_some() {
        return Ok(vec![warehouse_of(context, id).await?]);
    }
    let mut connections = context.connections().await?;
    connections.retain(|connection| connection.driver.kind() == DriverKind::Warehouse);
    Ok(connections)
}
