//! The project for tools and commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ktx_config::{Client, Connection, Driver, Environment};
use ktx_context_tools::{
    ClientPolicy, FileContext, FileContextParts, IndexPlace, ProjectContext, Reader, Warehouses,
    WithheldParts,
};
use ktx_diagnostics::{Code, Failure};
use ktx_sql::Dialect;
use ktx_warehouse::{Connector, WarehouseError};
use ktx_wiki::UserId;

use crate::audit::AuditLog;
use crate::compose;
use crate::invocation::{Invocation, OpenProject, ProjectSecrets};
use crate::report::{Outcome, Report as _};

struct Connectors {
    dir: PathBuf,
    environment: Environment,
    /// Wall clock at `started`, for signed logins.
    unix_start: u64,
    started: Instant,
}

impl Warehouses for Connectors {
    fn dialect(&self, driver: Driver) -> Option<Dialect> {
        compose::dialect(driver)
    }

    fn supports(&self, driver: Driver) -> bool {
        compose::supports(driver)
    }

    fn open(&self, connection: &Connection) -> Result<Arc<dyn Connector>, WarehouseError> {
        compose::open_connector(
            connection,
            &ProjectSecrets::new(&self.environment, &self.dir),
            self.unix_start + self.started.elapsed().as_secs(),
        )
    }
}

/// Reads nothing yet.
pub(crate) fn open(
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Arc<dyn ProjectContext>> {
    open_for(invocation, project, LOCAL)
}

pub(crate) fn open_for(
    invocation: &Invocation,
    project: &OpenProject,
    user: &str,
) -> Outcome<Arc<dyn ProjectContext>> {
    let parts = parts(invocation, project, user, Reader::Person)?;
    Ok(Arc::new(FileContext::new(parts)))
}

pub(crate) fn open_for_agent(
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Arc<dyn ProjectContext>> {
    let parts = parts(invocation, project, LOCAL, Reader::Agent)?;
    Ok(Arc::new(FileContext::new(parts)))
}

/// Withholds parts of the layer; the index is in memory.
pub(crate) fn open_withholding(
    invocation: &Invocation,
    project: &OpenProject,
    withheld: WithheldParts,
) -> Outcome<Arc<dyn ProjectContext>> {
    let parts = parts(invocation, project, LOCAL, Reader::Agent)?;
    Ok(Arc::new(FileContext::new(FileContextParts {
        index: IndexPlace::Memory,
        withheld,
        ..parts
    })))
}

/// Applies the client's policy; the index is in memory.
pub(crate) fn open_for_client(
    invocation: &Invocation,
    project: &OpenProject,
    client: &Client,
) -> Outcome<Arc<dyn ProjectContext>> {
    let parts = parts(invocation, project, LOCAL, Reader::Agent)?;
    Ok(Arc::new(FileContext::new(FileContextParts {
        index: IndexPlace::Memory,
        // An in-memory index would pay for all vectors at each start.
        vectors: None,
        policy: Some(Arc::new(ClientPolicy::of(client))),
        ..parts
    })))
}

pub(crate) fn files(invocation: &Invocation, project: &OpenProject) -> Outcome<FileContext> {
    let parts = parts(invocation, project, LOCAL, Reader::Person)?;
    let index = index_place(&project.dir);
    Ok(FileContext::new(FileContextParts { index, ..parts }))
}

const LOCAL: &str = "local";

fn parts(
    invocation: &Invocation,
    project: &OpenProject,
    user: &str,
    reader: Reader,
) -> Outcome<FileContextParts> {
    Ok(FileContextParts {
        root: project.dir.clone(),
        user: UserId::parse(user)
            .map_err(|error| Failure::from_error(Code::InvalidName, &error))?,
        reader,
        index: index_place(&project.dir),
        vectors: compose::vectors(
            &project.config.ingest.embeddings,
            compose::EmbeddingsOrigin::Project,
            &invocation.environment,
            &project.dir,
        ),
        warehouses: Arc::new(Connectors {
            dir: project.dir.clone(),
            environment: invocation.environment.clone(),
            unix_start: compose::unix_seconds(invocation.now),
            started: Instant::now(),
        }),
        withheld: WithheldParts::default(),
        policy: None,
        audit: Arc::new(AuditLog::new(&project.store)),
        now: || jiff::Timestamp::now().into(),
    })
}

fn index_place(dir: &Path) -> IndexPlace {
    let state = ktx_project_store::Layout::new(dir).state();
    IndexPlace::File(state.join("search.sqlite"))
}
