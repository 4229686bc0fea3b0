//! The journal of runs.

use jiff::Timestamp;
use ktx_vocabulary::RunId;
use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use super::{StateDatabase, StateError};

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// It is running, or was killed and not marked yet.
    Running,
    /// It completed all its work.
    Done,
    /// It completed a part of its work.
    Partial,
    Failed,
    /// The user ended it.
    Cancelled,
    /// It was killed.
    Interrupted,
}

impl RunStatus {
    const ALL: [Self; 6] = [
        Self::Running,
        Self::Done,
        Self::Partial,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// Returns the spelling in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One run of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    /// The command, such as `scan`.
    pub command: String,
    pub status: RunStatus,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    /// Details in a format of the command's own.
    pub detail: Value,
}

impl StateDatabase {
    /// Records the start of a run.
    pub fn begin_run(
        &self,
        id: &RunId,
        command: &str,
        at: Timestamp,
        detail: &Value,
    ) -> Result<(), StateError> {
        self.execute(
            "INSERT INTO runs (id, command, status, started, detail) VALUES (?1, ?2, 'running', ?3, ?4)",
            (id.as_str(), command, at.to_string(), detail.to_string()),
        )
    }

    /// Records the end of a run.
    pub fn finish_run(
        &self,
        id: &RunId,
        status: RunStatus,
        at: Timestamp,
        detail: &Value,
    ) -> Result<(), StateError> {
        self.execute(
            "UPDATE runs SET status = ?2, finished = ?3, detail = ?4 WHERE id = ?1",
            (
                id.as_str(),
                status.as_str(),
                at.to_string(),
                detail.to_string(),
            ),
        )
    }

    /// Marks the runs of `command` that appear to be running as killed. The caller must hold the
    /// project's lock and call this before its own run begins.
    pub fn interrupt_runs(&self, command: &str, at: Timestamp) -> Result<(), StateError> {
        self.execute(
            "UPDATE runs SET status = 'interrupted', finished = ?2 WHERE status = 'running' AND command = ?1",
            (command, at.to_string()),
        )
    }

    pub fn run(&self, id: &RunId) -> Result<Option<Run>, StateError> {
        let columns = self
            .connection
            .query_row(&format!("{SELECT} WHERE id = ?1"), [id.as_str()], columns)
            .optional()
            .map_err(|error| self.database_error(error))?;
        columns.map(typed).transpose()
    }

    /// Returns the latest runs, latest first.
    pub fn runs(&self, limit: u32) -> Result<Vec<Run>, StateError> {
        let rows = || {
            let mut query = self
                .connection
                .prepare(&format!("{SELECT} ORDER BY started DESC, id DESC LIMIT ?1"))?;
            query
                .query_map([limit], columns)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        rows()
            .map_err(|error| self.database_error(error))?
            .into_iter()
            .map(typed)
            .collect()
    }

    pub(super) fn execute(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<(), StateError> {
        self.connection
            .execute(sql, values)
            .map(drop)
            .map_err(|error| self.database_error(error))
    }
}

const SELECT: &str = "SELECT id, command, status, started, finished, detail FROM runs";

type Columns = (String, String, String, String, Option<String>, String);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    row.try_into()
}

fn typed((id, command, status, started, finished, detail): Columns) -> Result<Run, StateError> {
    let read = || -> Result<Run, Box<dyn std::error::Error + Send + Sync>> {
        let found = RunStatus::ALL
            .into_iter()
            .find(|known| known.as_str() == status);
        Ok(Run {
            id: RunId::parse(&id)?,
            command,
            status: found.ok_or_else(|| format!("unknown status `{status}`"))?,
            started: started.parse()?,
            finished: finished.map(|text| text.parse()).transpose()?,
            detail: serde_json::from_str(&detail)?,
        })
    };
    read().map_err(|source| StateError::Row {
        table: "runs",
        source,
    })
}
