//! Finished stages of interrupted scans.

use jiff::Timestamp;
use ktx_vocabulary::ConnectionId;
use rusqlite::{OptionalExtension as _, Row};
use serde_json::Value;

use super::{StateDatabase, StateError};

/// A stage of a table, or of a connection under the caller's key.
#[derive(Debug, Clone, PartialEq)]
pub struct StageRow {
    /// Such as [`ktx_vocabulary::TableRef::key`].
    pub table_key: String,
    /// Such as `descriptions`.
    pub stage: String,
    pub structure_hash: String,
    pub input_hash: String,
    pub output: Value,
    pub updated: Timestamp,
}

impl StateDatabase {
    pub fn put_stage(&self, connection: &ConnectionId, row: &StageRow) -> Result<(), StateError> {
        self.execute(
            "INSERT INTO stages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET structure_hash = excluded.structure_hash,
                 input_hash = excluded.input_hash, output = excluded.output, updated = excluded.updated",
            (
                connection.as_str(),
                &row.table_key,
                &row.stage,
                &row.structure_hash,
                &row.input_hash,
                row.output.to_string(),
                row.updated.to_string(),
            ),
        )
    }

    pub fn stage(
        &self,
        connection: &ConnectionId,
        table_key: &str,
        stage: &str,
    ) -> Result<Option<StageRow>, StateError> {
        let sql = format!("{SELECT} WHERE connection = ?1 AND table_key = ?2 AND stage = ?3");
        let columns = self
            .connection
            .query_row(&sql, (connection.as_str(), table_key, stage), columns)
            .optional()
            .map_err(|error| self.database_error(error))?;
        columns.map(typed).transpose()
    }

    pub fn stages(&self, connection: &ConnectionId) -> Result<Vec<StageRow>, StateError> {
        let rows = || {
            let sql = format!("{SELECT} WHERE connection = ?1 ORDER BY table_key, stage");
            let mut query = self.connection.prepare(&sql)?;
            query
                .query_map([connection.as_str()], columns)?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        rows()
            .map_err(|error| self.database_error(error))?
            .into_iter()
            .map(typed)
            .collect()
    }

    pub fn remove_stage(
        &self,
        connection: &ConnectionId,
        table_key: &str,
        stage: &str,
    ) -> Result<(), StateError> {
        self.execute(
            "DELETE FROM stages WHERE connection = ?1 AND table_key = ?2 AND stage = ?3",
            (connection.as_str(), table_key, stage),
        )
    }
}

const SELECT: &str =
    "SELECT table_key, stage, structure_hash, input_hash, output, updated FROM stages";

type StageColumns = (String, String, String, String, String, String);

fn columns(row: &Row<'_>) -> rusqlite::Result<StageColumns> {
    row.try_into()
}

fn typed(columns: StageColumns) -> Result<StageRow, StateError> {
    let (table_key, stage, structure_hash, input_hash, output, updated) = columns;
    let read = || -> Result<StageRow, Box<dyn std::error::Error + Send + Sync>> {
        Ok(StageRow {
            table_key,
            stage,
            structure_hash,
            input_hash,
            output: serde_json::from_str(&output)?,
            updated: updated.parse()?,
        })
    };
    read().map_err(|source| StateError::Row {
        table: "stages",
        source,
    })
}
