//! Counts a scan's use of the warehouse and enforces its budget.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ktx_read_only_sql::ReadOnlySql;
use ktx_warehouse::{
    Caps, Cell, ColumnHeader, ErrorKind, Flow, QueryEnd, QueryResult, RowSink, WarehouseError,
};

use crate::budget::{Budget, Spent, StopReason};
use crate::request::ScanRequest;

/// Consecutive lost connections.
const STRIKES: usize = 4;

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    strikes: usize,
    stopped: Option<StopReason>,
}

/// Counts every statement that reads values.
#[derive(Debug)]
pub(crate) struct Spending<'r> {
    request: &'r ScanRequest,
    began: Instant,
    state: Mutex<State>,
}

impl<'r> Spending<'r> {
    pub(crate) fn new(request: &'r ScanRequest) -> Self {
        Self {
            request,
            began: Instant::now(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.state().stopped.clone()
    }

    pub(crate) fn spent(&self) -> Spent {
        self.state().spent
    }

    pub(crate) async fn run(
        &self,
        sql: &str,
        caps: &Caps,
        sink: &mut dyn RowSink,
    ) -> Result<QueryEnd, WarehouseError> {
        let dialect = self.request.connector.dialect();
        let checked = ktx_read_only_sql::check(sql, dialect).map_err(|refusal| {
            WarehouseError::new(
                ErrorKind::Sql,
                format!("the read-only gate refused the statement: {refusal}"),
            )
        })?;
        self.run_checked(&checked, caps, sink).await
    }

    pub(crate) async fn run_checked(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
    ) -> Result<QueryEnd, WarehouseError> {
        let budget = &self.request.settings.budget;
        let billed = match budget.bytes {
            Some(_) if self.stopped().is_none() => self.price(sql).await?,
            _ => None,
        };
        let left = self.begin(billed)?;
        let mut counting = Counting {
            sink,
            bytes: 0,
            counts: billed.is_none(),
        };
        let caps = Caps {
            timeout: left.map_or(caps.timeout, |left| caps.timeout.min(left)),
            ..*caps
        };
        let cancel = &self.request.cancel;
        let connector = &self.request.connector;
        let result = connector.query(sql, &caps, &mut counting, cancel).await;
        self.end(counting.bytes, result.as_ref().err(), caps.timeout);
        result
    }

    pub(crate) async fn first_row(
        &self,
        sql: &str,
        caps: &Caps,
    ) -> Result<Vec<Cell>, WarehouseError> {
        let mut result = QueryResult::default();
        self.run(sql, caps, &mut result).await?;
        Ok(result.rows.into_iter().next().unwrap_or_default())
    }

    /// Returns `None` if the warehouse gives no estimates.
    async fn price(&self, sql: &ReadOnlySql) -> Result<Option<u64>, WarehouseError> {
        let estimate = self
            .request
            .connector
            .estimate(sql, &self.request.cancel)
            .await?;
        Ok(estimate.map(|estimate| estimate.bytes))
    }

    /// Takes one statement from the budget and returns the remaining time.
    fn begin(&self, billed: Option<u64>) -> Result<Option<Duration>, WarehouseError> {
        let budget = &self.request.settings.budget;
        let used = self.began.elapsed();
        let mut state = self.state();
        if state.stopped.is_none() {
            let bytes = state.spent.bytes.saturating_add(billed.unwrap_or(0));
            let over = |bound: u64| bytes > bound || (billed.is_none() && bytes >= bound);
            state.stopped = match budget {
                Budget {
                    statements: Some(bound),
                    ..
                } if state.spent.statements >= *bound => Some(StopReason::Statements(*bound)),
                Budget {
                    time: Some(bound), ..
                } if used >= *bound => Some(StopReason::Time(*bound)),
                Budget {
                    bytes: Some(bound), ..
                } if over(*bound) => Some(StopReason::Bytes(*bound)),
                _ => None,
            };
        }
        if let Some(reason) = &state.stopped {
            return Err(reason.error());
        }
        state.spent.statements += 1;
        state.spent.bytes = state.spent.bytes.saturating_add(billed.unwrap_or(0));
        Ok(budget.time.map(|bound| bound.saturating_sub(used)))
    }

    fn end(&self, bytes: u64, error: Option<&WarehouseError>, timeout: Duration) {
        let mut state = self.state();
        state.spent.bytes = state.spent.bytes.saturating_add(bytes);
        match error {
            Some(error) if is_lost(error.kind) => {
                state.strikes += 1;
                if state.strikes >= STRIKES {
                    state
                        .stopped
                        .get_or_insert_with(|| StopReason::Lost(error.clone()));
                }
            }
            Some(error) if error.kind == ErrorKind::Timeout => {
                // The run's time limit ended the statement, not its own timeout.
                let own = Duration::from_secs(self.request.settings.statement_seconds);
                if let Some(bound) = self.request.settings.budget.time
                    && timeout < own
                {
                    state.stopped.get_or_insert(StopReason::Time(bound));
                }
            }
            _ => state.strikes = 0,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StopReason {
    pub fn text(&self) -> String {
        match self {
            Self::Statements(bound) => format!("{bound} statements were allowed"),
            Self::Time(bound) if bound.as_secs() % 60 == 0 => {
                format!("{} minutes were allowed", bound.as_secs() / 60)
            }
            Self::Time(bound) => format!("{} seconds were allowed", bound.as_secs()),
            Self::Bytes(bound) => format!("{bound} bytes were allowed"),
            Self::Lost(error) => format!("the warehouse answers no more: {error}"),
        }
    }

    fn error(&self) -> WarehouseError {
        WarehouseError::new(ErrorKind::Limit, self.text())
    }
}

pub(crate) const fn is_lost(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Dropped | ErrorKind::Unreachable)
}

pub(crate) const fn is_strain(kind: ErrorKind) -> bool {
    is_lost(kind) || matches!(kind, ErrorKind::Timeout)
}

struct Counting<'s> {
    sink: &'s mut dyn RowSink,
    bytes: u64,
    counts: bool,
}

impl RowSink for Counting<'_> {
    fn header(&mut self, columns: &[ColumnHeader]) {
        self.sink.header(columns);
    }

    fn row(&mut self, cells: Vec<Cell>) -> Flow {
        if self.counts {
            let size: usize = cells.iter().map(Cell::size).sum();
            self.bytes = self.bytes.saturating_add(size as u64);
        }
        self.sink.row(cells)
    }
}
