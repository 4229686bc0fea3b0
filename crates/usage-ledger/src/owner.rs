//! The process that writes a message, and messages of ended processes.

use std::path::Path;
use std::time::Duration;

use rusqlite::Row;

use crate::{Ledger, LedgerError};

/// Maximum wait of readers for a writer.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReservationOwner {
    pub process: u32,
    /// Unique together with the id.
    pub started: Option<u64>,
}

impl ReservationOwner {
    pub fn this_process() -> Self {
        Self::of(std::process::id())
    }

    pub(crate) fn of(process: u32) -> Self {
        Self {
            process,
            started: start_of(process),
        }
    }

    pub(crate) fn of_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let started: Option<i64> = row.get(first + 1)?;
        Ok(Self {
            process: row.get(first)?,
            started: started.and_then(|started| u64::try_from(started).ok()),
        })
    }

    pub(crate) fn started_column(self) -> Option<i64> {
        self.started
            .map(|started| i64::try_from(started).unwrap_or(i64::MAX))
    }

    /// An unknown process counts as ended: if it runs, its facts replace the settled ones.
    pub fn is_running(self) -> bool {
        let is_known = self.started.is_some() && start_of(self.process) == self.started;
        is_known || self == Self::this_process()
    }
}

/// Clock ticks since boot: field 22 of `/proc/<id>/stat`. `None` for a missing process or a zombie.
fn start_of(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
    let started = fields.nth(18)?.parse().ok()?;
    (!has_ended).then_some(started)
}

impl Ledger {
    /// Settles messages of ended programs.
    pub fn open_to_read(path: &Path) -> Result<Self, LedgerError> {
        // Reading must not create a ledger.
        if !path.is_file() {
            return Self::in_memory();
        }
        let ledger = Self::open_waiting(path, PATIENCE)?;
        // A reader without write access can still read; the next writer settles the messages.
        if let Err(error) = ledger.settle(ReservationOwner::is_running) {
            tracing::debug!(%error, "messages that were cut off are not in the usage ledger yet");
        }
        Ok(ledger)
    }
}
