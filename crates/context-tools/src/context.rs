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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// `sl_query` or `sql_execution`.
    pub tool: &'static str,
    pub call_id: String,
    pub connection: ConnectionId,
    /// As sent, or as given if it was refused.
    pub sql: String,
    pub outcome: AuditOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditOutcome {
    Executed { rows: usize },
    Refused { code: Code },
    Failed { code: Code },
}

#[derive(Debug, Clone)]
pub enum Runner {
    Ready(Arc<dyn Connector>),
    /// The driver has no connector: queries are compiled but not run.
    CompileOnly {
        reason: String,
    },
}

#[derive(Debug, Clone)]
pub enum Need {
    Query(Box<SemanticQuery>),
    Text(String),
}

/// What the tools need of a project. Files are read on demand; only the index, listings and audit
/// log are written.
#[async_trait]
pub trait ProjectContext: Send + Sync {
    fn reader(&self) -> Reader;

    async fn connections(&self) -> Result<Vec<Connection>, Failure>;

    /// Lists the connections with a folder under `semantic-layer/`, ordered by id.
    async fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure>;

    /// Returns the connector of a warehouse. Connects to nothing.
    async fn runner(&self, connection: &Connection) -> Result<Runner, Failure>;

    async fn catalog(&self, connection: &ConnectionId) -> Result<Arc<Catalog>, Failure>;

    /// Reads at least the sources that `need` requires; the answer is the same.
    async fn catalog_for(
        &self,
        connection: &ConnectionId,
        _need: Need,
    ) -> Result<Arc<Catalog>, Failure> {
        self.catalog(connection).await
    }

    async fn listing(&self, connection: &ConnectionId) -> Result<SourceList, Failure> {
        let catalog = self.catalog(connection).await?;
        Ok(documents::source_list(connection, &catalog))
    }

    /// Lists the visible pages, one per key, ordered by key.
    async fn page_paths(&self) -> Result<Vec<PagePath>, Failure>;

    async fn unread_pages(&self) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Reads these pages in order; omits removed ones.
    async fn pages(&self, paths: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure>;

    /// Returns the last scan; `None` if the connection was never scanned.
    async fn snapshot(
        &self,
        connection: &ConnectionId,
    ) -> Result<Option<Arc<ScanSnapshot>>, Failure>;

    /// The joins found by the last scan, with the decisions about them.
    async fn links(&self, _connection: &ConnectionId) -> Option<Found> {
        None
    }

    /// Updates the index once, then answers the queries in order.
    async fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure>;

    async fn state(&self) -> Result<ProjectState, Failure> {
        Ok(ProjectState::default())
    }

    fn audit(&self, entry: AuditEntry);
}

pub(crate) async fn search_one(
    context: &dyn ProjectContext,
    query: Query,
) -> Result<SearchOutcome, Failure> {
    let mut outcomes = context.search(vec![query]).await?;
    Ok(outcomes.pop().unwrap_or_default())
}

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

/// Without an id, there must be only one warehouse.
pub async fn warehouse_of(
    context: &dyn ProjectContext,
    id: Option<&str>,
) -> Result<Connection, Failure> {
    let connections = context.connections().await?;
    find_warehouse(&connections, id, context.reader()).cloned()
}

/// Without an id, there must be only one warehouse.
///
/// # Errors
///
/// `unknown_connection`, `not_a_warehouse`, `no_warehouse`, `connection_required`.
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
