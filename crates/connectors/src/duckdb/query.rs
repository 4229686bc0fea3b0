//! Runs one statement on a blocking thread.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adbc_core::{CancelHandle, Connection as _, Statement as _};
use arrow_array::{Array as _, RecordBatch};
use ktx_warehouse::{Cell, ColumnHeader, ErrorKind, WarehouseError};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

use super::error::{ErrorMapper, map};
use super::instance::DuckDbEngine;
use super::kind::ArrowKind;
use crate::stop::StopSignal;

/// Interval between interrupts: DuckDB ignores one that precedes the statement's start.
const AGAIN: Duration = Duration::from_millis(20);

pub(super) struct QueryRequest {
    pub(super) engine: Arc<DuckDbEngine>,
    pub(super) sql: String,
    pub(super) cell_bytes: usize,
    pub(super) stop: StopSignal,
    pub(super) interrupter: Interrupter,
}

pub(super) enum QueryEvent {
    Header(Vec<ColumnHeader>),
    Row(Vec<Cell>),
}

#[derive(Clone, Default)]
pub(super) struct Interrupter {
    session: Arc<Mutex<Option<Box<dyn CancelHandle>>>>,
}

impl Interrupter {
    fn arm(&self, handle: Box<dyn CancelHandle>) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
    }

    fn fire(&self) {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = session.as_ref()
            && let Err(error) = handle.try_cancel()
        {
            tracing::debug!(message = error.message, "DuckDB cannot be interrupted");
        }
    }
}

pub(super) async fn watch(stop: StopSignal, interrupter: Interrupter, ended: CancellationToken) {
    tokio::select! {
        () = ended.cancelled() => return,
        () = stop.due() => {}
    }
    loop {
        interrupter.fire();
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

pub(super) fn run(
    request: &QueryRequest,
    events: &Sender<QueryEvent>,
) -> Result<(), WarehouseError> {
    let (engine, stop) = (&request.engine, &request.stop);
    let wrap = |error: adbc_core::error::Error| engine.wrong(&error, stop);
    fail_if_due(stop)?;
    let instance = engine.instance()?;
    let mut session = instance.connect().map_err(wrap)?;
    request.interrupter.arm(session.get_cancel_handle());
    fail_if_due(stop)?;
    let mut statement = session.new_statement().map_err(wrap)?;
    statement.set_sql_query(&request.sql).map_err(wrap)?;
    fail_if_due(stop)?;
    let batches = statement.execute().map_err(wrap)?;
    let schema = batches.schema();
    let mut kinds = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        kinds.push(
            ArrowKind::of(field).map_err(|native_type| unreadable(field.name(), &native_type))?,
        );
    }
    let header: Vec<ColumnHeader> = schema
        .fields()
        .iter()
        .zip(&kinds)
        .map(|(field, kind)| ColumnHeader {
            name: field.name().clone(),
            native_type: Some(kind.name()),
        })
        .collect();
    if events.blocking_send(QueryEvent::Header(header)).is_err() {
        return Ok(());
    }
    for batch in batches {
        let batch =
            batch.map_err(|error| map(&error.to_string(), &ErrorMapper(&engine.path), stop))?;
        if send(&batch, &kinds, request, events)? == RowReceiver::Gone {
            return Ok(());
        }
        fail_if_due(stop)?;
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum RowReceiver {
    There,
    Gone,
}

fn send(
    batch: &RecordBatch,
    kinds: &[ArrowKind],
    request: &QueryRequest,
    events: &Sender<QueryEvent>,
) -> Result<RowReceiver, WarehouseError> {
    for row in 0..batch.num_rows() {
        let mut cells = Vec::with_capacity(kinds.len());
        for (kind, array) in kinds.iter().zip(batch.columns()) {
            let cell = kind
                .read(array.as_ref(), row, request.cell_bytes)
                .ok_or_else(|| unreadable(&kind.name(), &array.data_type().to_string()))?;
            cells.push(cell);
        }
        if events.blocking_send(QueryEvent::Row(cells)).is_err() {
            return Ok(RowReceiver::Gone);
        }
    }
    Ok(RowReceiver::There)
}

fn fail_if_due(stop: &StopSignal) -> Result<(), WarehouseError> {
    if stop.is_due() {
        Err(stop.reason())
    } else {
        Ok(())
    }
}

fn unreadable(column: &str, native_type: &str) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Sql,
        format!("values of the type `{native_type}` cannot be read (`{column}`)"),
    )
    .hint("cast the value to VARCHAR in the statement")
}
