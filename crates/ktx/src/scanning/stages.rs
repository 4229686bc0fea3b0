//! Finished work of a scan in the local database.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use ktx_diagnostics::Failure;
use ktx_project_store::{StageRow, StateDatabase, StateError};
use ktx_scan::{PortError, ScanError, StageStore};
use ktx_vocabulary::ConnectionId;
use serde_json::Value;

use super::{Around, scan_failure, state_failure};

/// Finished work in the local database.
pub(super) struct Stages {
    connection: ConnectionId,
    now: Timestamp,
    state: Arc<Mutex<StateDatabase>>,
    /// Why the database could not be used; the scan itself knows only that it failed.
    failed: Mutex<Option<Failure>>,
}

const STAGE: &str = "scan";

impl Stages {
    pub(super) fn new(connection: &ConnectionId, around: Around<'_>) -> Self {
        Self {
            connection: connection.clone(),
            now: around.invocation.now,
            state: Arc::clone(around.state),
            failed: Mutex::default(),
        }
    }

    /// Returns the failure of a scan, or that of the database if it is the cause.
    pub(super) fn failure(&self, error: &ScanError) -> Failure {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            ScanError::Port { .. } => failed.take().unwrap_or_else(|| scan_failure(error)),
            _ => scan_failure(error),
        }
    }

    fn with<T>(&self, work: impl Fn(&StateDatabase) -> Result<T, StateError>) -> Port<T> {
        let state = self
            .state
            .lock()
            .map_err(|_| PortError::new("the local database is poisoned"))?;
        work(&state).map_err(|error| {
            let failure = state_failure(&error);
            let said = PortError::new(failure.message.clone());
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
            said
        })
    }
}

type Port<T> = Result<T, PortError>;

impl StageStore for Stages {
    fn get(&self, key: &str) -> Port<Option<String>> {
        let row = self.with(|state| state.stage(&self.connection, key, STAGE))?;
        Ok(row.and_then(|row| row.output.as_str().map(str::to_owned)))
    }

    fn put(&self, key: &str, value: &str) -> Port<()> {
        let row = StageRow {
            table_key: key.to_owned(),
            stage: STAGE.to_owned(),
            structure_hash: String::new(),
            input_hash: String::new(),
            output: Value::String(value.to_owned()),
            updated: self.now,
        };
        self.with(|state| state.put_stage(&self.connection, &row))
    }
}
