//! Idle sessions for the next statement. Reading the schema of a file with a thousand tables takes
//! far longer than most statements, so sessions are reused.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ktx_warehouse::WarehouseError;
use rusqlite::Connection;

use super::session::{self, Rights};
use crate::stop::Stop;

const IDLE: usize = 4;

/// Sessions of one database file, all for user queries.
#[derive(Debug, Default)]
pub(super) struct Pool {
    idle: Mutex<Vec<Session>>,
}

#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    file: Option<Identity>,
}

impl Session {
    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Identifies a file independently of its name.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    /// Returns `None` if there is no file; such a session is not kept.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            number: found.ino(),
        })
    }
}

impl Pool {
    /// Returns a session that watches `stop`: an idle one, unless the file was replaced since.
    pub(super) fn take(&self, path: &Path, stop: &Stop) -> Result<Session, WarehouseError> {
        let file = Identity::of(path);
        while let Some(mut idle) = self.pop() {
            if file.is_some() && idle.file == file {
                session::watch(&mut idle.connection, path, stop)?;
                return Ok(idle);
            }
        }
        let connection = session::open(path, Rights::Query, stop)?;
        Ok(Session { connection, file })
    }

    pub(super) fn give_back(&self, session: Session) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if session.file.is_some() && idle.len() < IDLE {
            idle.push(session);
        }
    }

    fn pop(&self) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }
}
