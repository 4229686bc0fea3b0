//! Idle sessions. Reading the schema of a thousand tables takes far longer than most statements.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ktx_warehouse::WarehouseError;
use rusqlite::Connection;

use super::session::{self, StatementRights};
use crate::stop::StopSignal;

const IDLE: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Pool {
    idle: Mutex<Vec<SqliteSession>>,
}

#[derive(Debug)]
pub(super) struct SqliteSession {
    connection: Connection,
    file: Option<FileIdentity>,
}

impl SqliteSession {
    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }
}

#[derive(Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// Returns `None` for a missing file, whose session is not kept.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            number: found.ino(),
        })
    }
}

impl Pool {
    pub(super) fn take(
        &self,
        path: &Path,
        stop: &StopSignal,
    ) -> Result<SqliteSession, WarehouseError> {
        let file = FileIdentity::of(path);
        while let Some(mut idle) = self.pop() {
            if file.is_some() && idle.file == file {
                session::watch(&mut idle.connection, path, stop)?;
                return Ok(idle);
            }
        }
        let connection = session::open(path, StatementRights::Query, stop)?;
        Ok(SqliteSession { connection, file })
    }

    pub(super) fn give_back(&self, session: SqliteSession) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if session.file.is_some() && idle.len() < IDLE {
            idle.push(session);
        }
    }

    fn pop(&self) -> Option<SqliteSession> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }
}
