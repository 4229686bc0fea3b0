//! Finished scan stages in the local database.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use ktx_project_store::{StageRow, StateDatabase, StateError};
use ktx_scan::StageStore;
use ktx_vocabulary::ConnectionId;
use serde_json::Value;

use super::ScanContext;

pub(super) struct ScanStages {
    connection: ConnectionId,
    now: Timestamp,
    state: Arc<Mutex<StateDatabase>>,
}

const STAGE: &str = "scan";

impl ScanStages {
    pub(super) fn new(connection: &ConnectionId, context: ScanContext<'_>) -> Self {
        Self {
            connection: connection.clone(),
            now: context.invocation.now,
            state: Arc::clone(context.state),
        }
    }

    fn state(&self) -> MutexGuard<'_, StateDatabase> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StageStore for ScanStages {
    fn get(&self, key: &str) -> Result<Option<String>, StateError> {
        let row = self.state().stage(&self.connection, key, STAGE)?;
        Ok(row.and_then(|row| row.output.as_str().map(str::to_owned)))
    }

    fn put(&self, key: &str, value: &str) -> Result<(), StateError> {
        let row = StageRow {
            table_key: key.to_owned(),
            stage: STAGE.to_owned(),
            structure_hash: String::new(),
            input_hash: String::new(),
            output: Value::String(value.to_owned()),
            updated: self.now,
        };
        self.state().put_stage(&self.connection, &row)
    }
}
