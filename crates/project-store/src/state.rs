//! The local database `.ktx/state/ktx.sqlite`: runs, stages of scans, and tables of other crates.

mod runs;
mod stages;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ktx_diagnostics::{Hint, Hints};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior};

use crate::FileError;

pub use runs::{Run, RunStatus};
pub use stages::StageRow;

const COMPONENT: &str = "project-store";

const STEPS: &[&str] = &["
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    status TEXT NOT NULL,
    started TEXT NOT NULL,
    finished TEXT,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_start ON runs (started);
CREATE TABLE stages (
    connection TEXT NOT NULL,
    table_key TEXT NOT NULL,
    stage TEXT NOT NULL,
    structure_hash TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    output TEXT NOT NULL,
    updated TEXT NOT NULL,
    PRIMARY KEY (connection, table_key, stage)
) STRICT;
"];

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the local database `{path}` cannot be used")]
    Database {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("the tables of `{component}` in `{path}` are from a newer ktx")]
    Newer { path: PathBuf, component: String },
    #[error("a row of `{table}` cannot be parsed")]
    Row {
        table: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Hints for StateError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Newer { .. } => vec![Hint::new("install the newer ktx that wrote them")],
            // Caused by the machine.
            Self::File(_) | Self::Database { .. } => Vec::new(),
            Self::Row { .. } => vec![Hint::new(
                "move `.ktx/state/ktx.sqlite` away, then run the command again: ktx makes a new one",
            )],
        }
    }
}

/// One per thread.
#[derive(Debug)]
pub struct StateDatabase {
    connection: Connection,
    path: PathBuf,
}

impl StateDatabase {
    /// Creates a missing database and migrates its tables.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let mut connection = open_sqlite(path)?;
        migrate(&mut connection, COMPONENT, STEPS)?;
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    /// Changes nothing.
    pub(crate) fn check_readable(path: &Path) -> Result<(), StateError> {
        let failed = |source| StateError::Database {
            path: path.to_owned(),
            source,
        };
        let read = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
            let has_tables = "SELECT 1 FROM sqlite_master WHERE name = 'component_versions'";
            if !connection.prepare(has_tables)?.exists([])? {
                return Ok(None);
            }
            let version = "SELECT version FROM component_versions WHERE component = ?1";
            connection
                .query_row(version, [COMPONENT], |row| row.get(0))
                .optional()
        };
        let have: Option<u32> = read().map_err(failed)?;
        match have.map(usize::try_from) {
            Some(Ok(have)) if have > STEPS.len() => Err(StateError::Newer {
                path: path.to_owned(),
                component: COMPONENT.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// For the tables of other crates; see [`migrate`].
    pub const fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn database_error(&self, source: rusqlite::Error) -> StateError {
        StateError::Database {
            path: self.path.clone(),
            source,
        }
    }
}

/// Write-ahead log, foreign keys, a busy timeout of five seconds. Writing transactions should be
/// immediate.
pub fn open_sqlite(path: &Path) -> Result<Connection, StateError> {
    let open = || {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        Ok(connection)
    };
    open().map_err(|source| StateError::Database {
        path: path.to_owned(),
        source,
    })
}

/// New steps must be appended at the end.
pub fn migrate(
    connection: &mut Connection,
    component: &str,
    steps: &[&str],
) -> Result<(), StateError> {
    let path = connection.path().map(PathBuf::from).unwrap_or_default();
    let have = apply(connection, component, steps).map_err(|source| StateError::Database {
        path: path.clone(),
        source,
    })?;
    if usize::try_from(have).is_ok_and(|have| have > steps.len()) {
        return Err(StateError::Newer {
            path,
            component: component.to_owned(),
        });
    }
    Ok(())
}

fn apply(connection: &mut Connection, component: &str, steps: &[&str]) -> rusqlite::Result<u32> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS component_versions (component TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;",
    )?;
    let have: Option<u32> = transaction
        .query_row(
            "SELECT version FROM component_versions WHERE component = ?1",
            [component],
            |row| row.get(0),
        )
        .optional()?;
    let have = have.unwrap_or_default();
    let mut version: u32 = 0;
    for step in steps {
        version += 1;
        if version > have {
            transaction.execute_batch(step)?;
        }
    }
    if version > have {
        transaction.execute(
            "INSERT INTO component_versions VALUES (?1, ?2) ON CONFLICT DO UPDATE SET version = excluded.version",
            (component, version),
        )?;
    }
    transaction.commit()?;
    Ok(have)
}

#[cfg(test)]
mod tests;
