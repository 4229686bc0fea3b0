//! The journal of runs.

use jiff::Timestamp;
use ktx_vocabulary::RunId;
use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use super::{StateDatabase, StateError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Or killed and not marked yet.
    Running,
    Done,
    Partial,
    Failed,
    Cancelled,
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

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub command: String,
    pub status: RunStatus,
    pub started: Timestamp,
    pub finished: Option<Timestamp>,
    /// In a format of the command's own.
    pub detail: Value,
}

impl StateDatabase {
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

    pub fn continue_run(&self, id: &RunId, detail: &Value) -> Result<(), StateError> {
        self.execute(
            "UPDATE runs SET status = 'running', finished = NULL, detail = ?2 WHERE id = ?1",
            (id.as_str(), detail.to_string()),
        )
    }

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

    /// The caller must hold the project's lock and call this before its own run begins.
    pub fn interrupt_runs(&self, command: &str, at: Timestamp) -> Result<(), StateError> {
        self.execute(
            "UPDATE runs SET status = 'interrupted', finished = ?2 WHERE status = 'running' AND command = ?1",
            (command, at.to_string()),
        )
    }

    pub fn run(&self, id: &RunId) -> Result<Option<Run>, StateError> {
        let row = self
            .connection
            .query_row(
                &format!("{SELECT} WHERE id = ?1"),
                [id.as_str()],
                RunRow::read,
            )
            .optional()
            .map_err(|error| self.database_error(error))?;
        row.map(RunRow::parse).transpose()
    }

    pub fn runs(&self, limit: u32) -> Result<Vec<Run>, StateError> {
        self.select_runs("ORDER BY started DESC, id DESC LIMIT ?1", [limit])
    }

    pub fn runs_beginning_with(&self, prefix: &str) -> Result<Vec<Run>, StateError> {
        let chosen = "WHERE substr(id, 1, length(?1)) = ?1 ORDER BY started DESC, id DESC";
        self.select_runs(chosen, [prefix])
    }

    fn select_runs(
        &self,
        chosen: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<Run>, StateError> {
        let rows = || {
            let mut query = self.connection.prepare(&format!("{SELECT} {chosen}"))?;
            query
                .query_map(values, RunRow::read)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        rows()
            .map_err(|error| self.database_error(error))?
            .into_iter()
            .map(RunRow::parse)
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

struct RunRow {
    id: String,
    command: String,
    status: String,
    started: String,
    finished: Option<String>,
    detail: String,
}

impl RunRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            command: row.get(1)?,
            status: row.get(2)?,
            started: row.get(3)?,
            finished: row.get(4)?,
            detail: row.get(5)?,
        })
    }

    fn parse(self) -> Result<Run, StateError> {
        let parse = || -> Result<Run, Box<dyn std::error::Error + Send + Sync>> {
            let status = RunStatus::ALL
                .into_iter()
                .find(|known| known.as_str() == self.status);
            Ok(Run {
                id: RunId::parse(&self.id)?,
                command: self.command,
                status: status.ok_or_else(|| format!("unknown status `{}`", self.status))?,
                started: self.started.parse()?,
                finished: self.finished.map(|text| text.parse()).transpose()?,
                detail: serde_json::from_str(&self.detail)?,
            })
        };
        parse().map_err(|source| StateError::Row {
            table: "runs",
            source,
        })
    }
}
