//! Caps of a statement, applied while rows are read.

use std::time::Duration;

use ktx_warehouse::{Caps, Cell, ColumnHeader, ErrorKind, Flow, QueryEnd, RowSink, WarehouseError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::settings::LoginTarget;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowDemand {
    More,
    Enough,
}

/// Passes rows to a sink and counts them.
///
/// Reads one row past a cap, or past the point where the sink stops, so `truncated` is exact.
pub(crate) struct Meter<'a> {
    caps: &'a Caps,
    sink: &'a mut dyn RowSink,
    rows: usize,
    bytes: usize,
    sated: bool,
    truncated: bool,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(caps: &'a Caps, sink: &'a mut dyn RowSink) -> Self {
        Self {
            caps,
            sink,
            rows: 0,
            bytes: 0,
            sated: false,
            truncated: false,
        }
    }

    pub(crate) fn header(&mut self, columns: &[ColumnHeader]) {
        self.sink.header(columns);
    }

    /// # Errors
    /// [`ErrorKind::Limit`] if the first row alone exceeds the byte cap. A later row past the cap
    /// truncates the result.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) -> Result<RowDemand, WarehouseError> {
        if self.sated || self.rows >= self.caps.rows {
            self.truncated = true;
            return Ok(RowDemand::Enough);
        }
        let cells: Vec<Cell> = cells
            .into_iter()
            .map(|cell| clip(cell, self.caps.cell_bytes))
            .collect();
        let size = cells.iter().map(Cell::size).sum::<usize>();
        let total = self.bytes.saturating_add(size);
        if total > self.caps.bytes {
            if self.rows == 0 {
                return Err(too_large(size, self.caps.bytes));
            }
            self.truncated = true;
            return Ok(RowDemand::Enough);
        }
        self.bytes = total;
        self.rows += 1;
        if self.sink.row(cells) == Flow::Stop {
            self.sated = true;
        }
        Ok(RowDemand::More)
    }

    pub(crate) fn end(&self) -> QueryEnd {
        QueryEnd {
            rows: self.rows,
            truncated: self.truncated,
        }
    }
}

fn too_large(size: usize, cap: usize) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Limit,
        format!("one row has {size} bytes, more than the limit of {cap} bytes for a whole result"),
    )
    .hint("select fewer columns, or only a part of the long ones")
}

/// Cuts a cell to `cap` bytes and appends `…`. A cut binary or JSON cell becomes text.
pub(crate) fn clip(cell: Cell, cap: usize) -> Cell {
    match cell {
        Cell::Text(text) if text.len() > cap => Cell::Text(cut(&text, cap)),
        Cell::Bytes(mut bytes) if bytes.len() > cap => {
            bytes.truncate(cap);
            let hexadecimal = Cell::Bytes(bytes).to_text().unwrap_or_default();
            Cell::Text(format!("{hexadecimal}…"))
        }
        Cell::Json(value) => {
            let text = value.to_string();
            if text.len() > cap {
                Cell::Text(cut(&text, cap))
            } else {
                Cell::Json(value)
            }
        }
        other => other,
    }
}

fn cut(text: &str, cap: usize) -> String {
    let end = text.floor_char_boundary(cap);
    format!("{}…", text.get(..end).unwrap_or_default())
}

pub(crate) async fn bounded<T>(
    work: impl Future<Output = Result<T, WarehouseError>>,
    deadline: Instant,
    cancel: &CancellationToken,
) -> Result<T, WarehouseError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(WarehouseError::cancelled()),
        result = work => result,
        () = tokio::time::sleep_until(deadline) => {
            Err(WarehouseError::new(ErrorKind::Timeout, "no answer within the time limit"))
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct SentStatement {
    statement: String,
    since: Instant,
}

const SHOWN_LETTERS: usize = 80;

impl SentStatement {
    pub(crate) fn begin(sql: &str) -> Self {
        let mut statement = String::new();
        for word in sql.split_whitespace() {
            let blank = if statement.is_empty() { "" } else { " " };
            if statement.chars().count() + word.chars().count() >= SHOWN_LETTERS {
                statement.extend([blank, "…"]);
                break;
            }
            statement.extend([blank, word]);
        }
        Self {
            statement,
            since: Instant::now(),
        }
    }

    pub(crate) fn give_up(self) -> UnansweredStatement {
        UnansweredStatement {
            statement: self.statement,
            waited: self.since.elapsed(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct UnansweredStatement {
    statement: String,
    waited: Duration,
}

impl UnansweredStatement {
    fn overdue(&self) -> WarehouseError {
        let (statement, seconds) = (&self.statement, self.waited.as_secs());
        WarehouseError::new(
            ErrorKind::Timeout,
            format!("no answer to `{statement}` after {seconds} s"),
        )
    }

    fn silent(&self, target: &LoginTarget) -> WarehouseError {
        let (statement, seconds) = (&self.statement, self.waited.as_secs());
        WarehouseError::new(
            ErrorKind::Dropped,
            target.redactor.redact(&format!(
                "the connection to {} is silent: no answer to `{statement}` after {seconds} s, nor to the cancel request",
                target.address()
            )),
        )
        .hint("run the command again; if it happens again, check the proxies and firewalls on the way to the server")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReply {
    Stopped,
    Silent,
}

pub(crate) fn interrupted(
    error: WarehouseError,
    unanswered: Option<UnansweredStatement>,
    reply: StopReply,
    target: &LoginTarget,
) -> WarehouseError {
    match (error.kind, unanswered, reply) {
        (ErrorKind::Timeout, Some(statement), StopReply::Stopped) => statement.overdue(),
        (ErrorKind::Timeout, Some(statement), StopReply::Silent) => statement.silent(target),
        _ => error,
    }
}

pub(crate) fn timed_out(limit: Duration) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Timeout,
        format!(
            "the statement ran longer than its limit of {} s",
            limit.as_secs_f64()
        ),
    )
    .hint("narrow the statement with filters, or raise the time limit")
}

pub(crate) fn without_parameters(count: usize) -> Result<(), WarehouseError> {
    if count == 0 {
        return Ok(());
    }
    Err(WarehouseError::new(
        ErrorKind::Sql,
        format!("the statement has placeholders ({count}) and no values for them"),
    )
    .hint("write the values into the statement"))
}

#[cfg(test)]
mod tests;
