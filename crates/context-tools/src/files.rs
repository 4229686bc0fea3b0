//! A project folder seen through the port.

mod beside;
mod config;
mod index;
mod indexed;
mod kept;
mod limited;
mod listing;
mod meaning;
mod pages;
mod provider;
mod reindex;
mod scans;
mod sources;
mod stamp;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use ktx_config::{Connection, Driver};
use ktx_diagnostics::Failure;
use ktx_project_store::Layout;
use ktx_scan::{Found, load_links};
use ktx_search::{Index, Query, SearchOutcome, Vectors};
use ktx_semantic_layer::Catalog;
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{Connector, WarehouseError};
use ktx_wiki::{Page, PagePath, UserId};

use crate::context::{AuditEntry, Need, ProjectContext, Runner};
use crate::layers::{LayerPart, WithheldParts};
use crate::policy::ClientPolicy;
use crate::reader::Reader;
use crate::scans::ScanSnapshot;
use crate::state::ProjectState;
use crate::wire::SourceList;

pub use index::Scope as IndexScope;
use limited::Limited;
pub use reindex::{Reindexed, ReindexedScope, Reindexing};
pub(crate) use stamp::stamp_at;

pub trait Warehouses: Send + Sync {
    fn dialect(&self, driver: Driver) -> Option<Dialect>;

    fn supports(&self, driver: Driver) -> bool;

    /// Connects to nothing.
    fn open(&self, connection: &Connection) -> Result<Arc<dyn Connector>, WarehouseError>;
}

pub trait AuditSink: Send + Sync {
    /// Must return at once.
    fn note(&self, entry: AuditEntry);
}

#[derive(Debug, Clone, Copy)]
pub struct NoAudit;

impl AuditSink for NoAudit {
    fn note(&self, _: AuditEntry) {}
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexPlace {
    /// Falls back to memory.
    File(PathBuf),
    Memory,
}

#[derive(Clone)]
pub struct FileContextParts {
    pub root: PathBuf,
    /// Whose private pages are visible.
    pub user: UserId,
    pub reader: Reader,
    pub index: IndexPlace,
    pub vectors: Option<Arc<dyn Vectors>>,
    pub warehouses: Arc<dyn Warehouses>,
    pub withheld: WithheldParts,
    /// `None` shows everything. With a policy, the index must be in memory.
    pub policy: Option<Arc<ClientPolicy>>,
    pub audit: Arc<dyn AuditSink>,
    /// Distinguishes files that have just changed.
    pub now: fn() -> SystemTime,
}

#[derive(Clone)]
pub struct FileContext {
    inner: Arc<Inner>,
}

struct Cached<T> {
    stamp: String,
    value: T,
}

type Connections = Result<Vec<Connection>, Failure>;

struct OpenConnection {
    settings: Connection,
    connector: Arc<dyn Connector>,
}

struct Inner {
    parts: FileContextParts,
    layout: Layout,
    config: Mutex<Option<Cached<Connections>>>,
    catalogs: Mutex<BTreeMap<ConnectionId, Cached<Arc<Catalog>>>>,
    pages: Mutex<BTreeMap<PagePath, Cached<Arc<Page>>>>,
    scans: Mutex<BTreeMap<ConnectionId, Cached<Arc<ScanSnapshot>>>>,
    runners: Mutex<BTreeMap<ConnectionId, OpenConnection>>,
    index: Mutex<Option<Index>>,
    readers: beside::Readers,
    kept_pages: kept::WatchedFolders<pages::PageFiles>,
    kept_shown: Mutex<Option<kept::ShownPages>>,
    kept_units: Mutex<Option<kept::KeptUnits>>,
    kept_sources: kept::WatchedFolders<sources::SourceFiles>,
    kept_scans: kept::WatchedFolders<Option<scans::LastScan>>,
    provider: provider::Provider,
    limited: Mutex<BTreeMap<ConnectionId, Cached<Arc<Limited>>>>,
    judged_pages: Mutex<BTreeMap<PagePath, Cached<bool>>>,
}

impl std::fmt::Debug for FileContextParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileContextParts")
            .field("root", &self.root)
            .field("user", &self.user)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

impl FileContext {
    pub fn new(parts: FileContextParts) -> Self {
        let layout = Layout::new(parts.root.clone());
        Self {
            inner: Arc::new(Inner {
                parts,
                layout,
                config: Mutex::default(),
                catalogs: Mutex::default(),
                pages: Mutex::default(),
                scans: Mutex::default(),
                runners: Mutex::default(),
                index: Mutex::default(),
                readers: beside::Readers::default(),
                kept_pages: Mutex::default(),
                kept_shown: Mutex::default(),
                kept_units: Mutex::default(),
                kept_sources: kept::WatchedFolders::default(),
                kept_scans: kept::WatchedFolders::default(),
                provider: provider::Provider::default(),
                limited: Mutex::default(),
                judged_pages: Mutex::default(),
            }),
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || work(&inner)).await;
        done.unwrap_or_else(|error| Err(Failure::internal(error.to_string())))
    }
}

impl std::fmt::Debug for FileContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileContext")
            .field("root", &self.inner.parts.root)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ProjectContext for FileContext {
    fn reader(&self) -> Reader {
        self.inner.parts.reader
    }

    async fn connections(&self) -> Result<Vec<Connection>, Failure> {
        self.blocking(Inner::shown_connections).await
    }

    async fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure> {
        self.blocking(Inner::source_folders).await
    }

    async fn runner(&self, connection: &Connection) -> Result<Runner, Failure> {
        match self.inner.runner(connection)? {
            Runner::Ready(connector) if self.inner.policy().is_some() => {
                let connection = connection.clone();
                let limit = move |inner: &Inner| inner.limit(&connection, connector);
                self.blocking(limit).await.map(Runner::Ready)
            }
            runner => Ok(runner),
        }
    }

    async fn catalog(&self, connection: &ConnectionId) -> Result<Arc<Catalog>, Failure> {
        let connection = connection.clone();
        self.blocking(move |inner| inner.catalog(&connection)).await
    }

    async fn catalog_for(
        &self,
        connection: &ConnectionId,
        need: Need,
    ) -> Result<Arc<Catalog>, Failure> {
        let connection = connection.clone();
        self.blocking(move |inner| inner.catalog_for(&connection, &need))
            .await
    }

    async fn listing(&self, connection: &ConnectionId) -> Result<SourceList, Failure> {
        let connection = connection.clone();
        self.blocking(move |inner| inner.listing(&connection)).await
    }

    async fn page_paths(&self) -> Result<Vec<PagePath>, Failure> {
        self.blocking(Inner::page_paths).await
    }

    async fn unread_pages(&self) -> Result<Vec<String>, Failure> {
        self.blocking(|inner| Ok(inner.unread_pages())).await
    }

    async fn pages(&self, paths: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure> {
        let paths = paths.to_vec();
        self.blocking(move |inner| inner.pages_at(&paths)).await
    }

    async fn snapshot(
        &self,
        connection: &ConnectionId,
    ) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        let connection = connection.clone();
        self.blocking(move |inner| inner.snapshot(&connection))
            .await
    }

    async fn links(&self, connection: &ConnectionId) -> Option<Found> {
        let withheld = &self.inner.parts.withheld;
        let policy = self.inner.policy();
        // Links name tables and columns that can be hidden.
        if policy.is_some_and(|policy| policy.rules(connection.as_str()).is_some()) {
            return None;
        }
        if withheld.contains(LayerPart::Joins) || withheld.contains(LayerPart::Semantic) {
            return None;
        }
        let connection = connection.clone();
        let read = move |inner: &Inner| load_links(&connection, &inner.layout);
        self.blocking(read).await.ok()
    }

    async fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure> {
        let meaning = self.meaning(&queries, meaning::Extent::Search).await;
        let _turn = self.inner.readers.turn().await;
        self.blocking(move |inner| inner.search(&queries, &meaning))
            .await
    }

    async fn state(&self) -> Result<ProjectState, Failure> {
        self.blocking(Inner::state).await
    }

    fn audit(&self, entry: AuditEntry) {
        self.inner.parts.audit.note(entry);
    }
}

/// The lock guards a cache, which is whole even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
