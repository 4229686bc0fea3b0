//! Runs one user statement on SQLite's thread.

use std::path::PathBuf;

use ktx_warehouse::{Cell, ColumnHeader, ErrorKind, WarehouseError};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tokio::sync::mpsc::Sender;

use super::error;
use super::pool::Pool;
use crate::limits;
use crate::stop::StopSignal;

pub(super) struct QueryRequest {
    pub(super) path: PathBuf,
    pub(super) sql: String,
    pub(super) cell_bytes: usize,
    pub(super) stop: StopSignal,
}

pub(super) enum QueryEvent {
    Header(Vec<ColumnHeader>),
    Row(Vec<Cell>),
}

pub(super) fn run(
    request: &QueryRequest,
    pool: &Pool,
    events: &Sender<QueryEvent>,
) -> Result<(), WarehouseError> {
    let session = pool.take(&request.path, &request.stop)?;
    read(request, session.connection(), events)?;
    pool.give_back(session);
    Ok(())
}

fn read(
    request: &QueryRequest,
    session: &Connection,
    events: &Sender<QueryEvent>,
) -> Result<(), WarehouseError> {
    let wrap = |error: rusqlite::Error| error::map(&error, &request.path, &request.stop);
    let mut statement = session.prepare(&request.sql).map_err(wrap)?;
    if !statement.readonly() {
        return Err(WarehouseError::new(
            ErrorKind::Permission,
            "the statement would write",
        ));
    }
    limits::without_parameters(statement.parameter_count())?;
    let header: Vec<ColumnHeader> = statement
        .columns()
        .map(|column| ColumnHeader {
            name: column.name().to_owned(),
            native_type: column
                .decl_type()
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
        })
        .collect();
    let width = header.len();
    if events.blocking_send(QueryEvent::Header(header)).is_err() {
        return Ok(());
    }
    let mut rows = statement.query([]).map_err(wrap)?;
    while let Some(row) = rows.next().map_err(wrap)? {
        let cells = (0..width)
            .map(|index| {
                row.get_ref(index)
                    .map(|value| cell(value, request.cell_bytes))
            })
            .collect::<Result<Vec<Cell>, rusqlite::Error>>()
            .map_err(wrap)?;
        if events.blocking_send(QueryEvent::Row(cells)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Cuts long values slightly above the cap, so that the caller detects the cut. Invalid UTF-8
/// becomes U+FFFD. Booleans and dates appear as stored.
fn cell(value: ValueRef<'_>, cap: usize) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Real(number) => Cell::Float(number),
        ValueRef::Text(bytes) => {
            Cell::Text(String::from_utf8_lossy(head(bytes, cap.saturating_add(8))).into_owned())
        }
        ValueRef::Blob(bytes) => Cell::Bytes(head(bytes, cap.saturating_add(1)).to_vec()),
    }
}

fn head(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(..length).unwrap_or(bytes)
}
