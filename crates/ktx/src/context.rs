//! The project as tools and commands see it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ktx_config::{Connection, Driver, Environment};
use ktx_context_tools::{FileContext, FileContextParts, IndexPlace, ProjectContext, Warehouses};
use ktx_diagnostics::{Code, Failure};
use ktx_sql::Dialect;
use ktx_warehouse::{Connector, WarehouseError};
use ktx_wiki::UserId;

use crate::audit::AuditLog;
use crate::compose;
use crate::report::{Outcome, Report as _};
use crate::session::{Opened, ProjectSecrets, Session};

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

/// The project for the local user. Reads nothing yet.
pub(crate) fn open(session: &Session, opened: &Opened) -> Outcome<Arc<dyn ProjectContext>> {
    open_for(session, opened, "local")
}

/// The project for a user whose private pages are seen.
pub(crate) fn open_for(
    session: &Session,
    opened: &Opened,
    user: &str,
) -> Outcome<Arc<dyn ProjectContext>> {
    let user =
        UserId::parse(user).map_err(|error| Failure::from_error(Code::InvalidName, &error))?;
    Ok(context(session, opened, user))
}

/// The project's files with an index that is kept, in a folder that is made when it is missing.
pub(crate) fn files(session: &Session, opened: &Opened) -> Outcome<FileContext> {
    let user =
        UserId::parse("local").map_err(|error| Failure::from_error(Code::Internal, &error))?;
    Ok(over(session, opened, user, kept_index(&opened.dir)))
}

fn context(session: &Session, opened: &Opened, user: UserId) -> Arc<dyn ProjectContext> {
    Arc::new(over(session, opened, user, index(&opened.dir)))
}

fn over(session: &Session, opened: &Opened, user: UserId, index: IndexPlace) -> FileContext {
    FileContext::new(FileContextParts {
        root: opened.dir.clone(),
        user,
        index,
        warehouses: Arc::new(Connectors {
            dir: opened.dir.clone(),
            environment: session.environment.clone(),
            unix_start: compose::unix_seconds(session.now),
            started: Instant::now(),
        }),
        audit: Arc::new(AuditLog::new(&opened.store)),
        now: || jiff::Timestamp::now().into(),
    })
}

/// The search index lies beside the other local state, when the project has any.
fn index(dir: &Path) -> IndexPlace {
    if ktx_project_store::Layout::new(dir).state().is_dir() {
        kept_index(dir)
    } else {
        IndexPlace::Memory
    }
}

fn kept_index(dir: &Path) -> IndexPlace {
    let state = ktx_project_store::Layout::new(dir).state();
    IndexPlace::File(state.join("search.sqlite"))
}
