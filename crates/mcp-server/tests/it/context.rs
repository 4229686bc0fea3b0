//! An empty project that records the requests.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_config::Connection;
use ktx_context_tools::{AuditEntry, ProjectContext, Reader, Runner, ScanSnapshot};
use ktx_diagnostics::Failure;
use ktx_search::{Query, SearchOutcome};
use ktx_semantic_layer::Catalog;
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use ktx_wiki::{Page, PagePath};

#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<Vec<&'static str>>);

impl Watched {
    pub(crate) fn seen(&self) -> Vec<&'static str> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn note(&self, what: &'static str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }
}

#[async_trait]
impl ProjectContext for Watched {
    fn reader(&self) -> Reader {
        Reader::Agent
    }

    async fn connections(&self) -> Result<Vec<Connection>, Failure> {
        self.note("connections");
        Ok(Vec::new())
    }

    async fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure> {
        self.note("source_folders");
        Ok(Vec::new())
    }

    async fn runner(&self, connection: &Connection) -> Result<Runner, Failure> {
        self.note("runner");
        Ok(Runner::CompileOnly {
            reason: format!("`{}` is not there", connection.id),
        })
    }

    async fn catalog(&self, _: &ConnectionId) -> Result<Arc<Catalog>, Failure> {
        self.note("catalog");
        Ok(Arc::new(Catalog::load(Vec::new(), Dialect::Sqlite)))
    }

    async fn page_paths(&self) -> Result<Vec<PagePath>, Failure> {
        self.note("page_paths");
        Ok(Vec::new())
    }

    async fn pages(&self, _: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure> {
        self.note("pages");
        Ok(Vec::new())
    }

    async fn snapshot(&self, _: &ConnectionId) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        self.note("snapshot");
        Ok(None)
    }

    async fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure> {
        self.note("search");
        Ok(queries.iter().map(|_| SearchOutcome::default()).collect())
    }

    fn audit(&self, _: AuditEntry) {
        self.note("audit");
    }
}
