//! The project as tools and commands see it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ktx_config::{Connection, Driver, Environment};
use ktx_context_tools::{
    FileContext, FileContextParts, IndexPlace, ProjectContext, Reader, Warehouses,
};
use ktx_diagnostics::{Code, Failure};
use ktx_sql::Dialect;
use ktx_warehouse::{Connector, WarehouseError};
use ktx_wiki::UserId;

use crate::audit::AuditLog;
use crate::compose;
use crate::invocation::{Invocation, OpenProject, ProjectSecrets};
use crate::report::{Outcome, Report as _};

/// The connectors that this program has.
struct Connectors {
    dir: PathBuf,
    environment: Environment,
    /// The wall clock at `started`: a server lives long, and signed logins say the time.
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

/// Opens the project for the local user at the command line. Reads nothing yet.
pub(crate) fn open(
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Arc<dyn ProjectContext>> {
    open_for(invocation, project, LOCAL)
}

/// Opens the project for a user whose private pages are seen.
pub(crate) fn open_for(
    invocation: &Invocation,
    project: &OpenProject,
    user: &str,
) -> Outcome<Arc<dyn ProjectContext>> {
    let parts = parts(invocation, project, user, Reader::Person)?;
    Ok(Arc::new(FileContext::new(parts)))
}

/// Opens the project for the tools of a model, which acts for the local user.
pub(crate) fn open_for_agent(
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Arc<dyn ProjectContext>> {
    let parts = parts(invocation, project, LOCAL, Reader::Agent)?;
    Ok(Arc::new(FileContext::new(parts)))
}

/// Opens the project's files with an index that is kept, in a folder that is made when it is
/// missing.
pub(crate) fn files(invocation: &Invocation, project: &OpenProject) -> Outcome<FileContext> {
    let parts = parts(invocation, project, LOCAL, Reader::Person)?;
    let index = kept_index(&project.dir);
    Ok(FileContext::new(FileContextParts { index, ..parts }))
}

/// The user whose private pages are seen if none is named.
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
        index: kept_index(&project.dir),
        warehouses: Arc::new(Connectors {
            dir: project.dir.clone(),
            environment: invocation.environment.clone(),
            unix_start: compose::unix_seconds(invocation.now),
            started: Instant::now(),
        }),
        audit: Arc::new(AuditLog::new(&project.store)),
        now: || jiff::Timestamp::now().into(),
    })
}

/// The search index lies beside the other local state.
fn kept_index(dir: &Path) -> IndexPlace {
    let state = ktx_project_store::Layout::new(dir).state();
    IndexPlace::File(state.join("search.sqlite"))
}
