//! Runs queries with gate, audit log, caps and remaining time.

use std::time::{Duration, Instant};

use ktx_read_only_sql::AllowedFunctions;
use ktx_warehouse::{
    AdmissionError, Caps, Cell, Connector, ErrorKind, QueryResult, SchemaSnapshot, Scope,
    WarehouseError, admit, collect,
};
use tokio_util::sync::CancellationToken;

use super::columns::RelationColumn;
use super::{StatementLog, StatementOutcome};
use crate::probes::{Probe, Wanted};

const LONGEST: Duration = Duration::from_mins(1);

pub(super) enum Answer {
    /// At least in the sample. Holds the columns of the result.
    Holds(Vec<RelationColumn>),
    Broken(String),
    Repeated {
        key: String,
        rows: String,
    },
    Refused(String),
    CouldNotLook(String),
    /// There are no rows yet.
    NotReady(String),
    Unreachable(WarehouseError),
}

pub(super) struct StatementRunner<'a> {
    pub(super) connector: &'a dyn Connector,
    pub(super) allowed: &'a AllowedFunctions,
    pub(super) log: &'a dyn StatementLog,
    pub(super) cancel: &'a CancellationToken,
    pub(super) until: Instant,
}

impl StatementRunner<'_> {
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    pub(super) async fn structure(&self, scope: &Scope) -> Result<SchemaSnapshot, WarehouseError> {
        let reading = self.connector.introspect(scope, self.cancel);
        match tokio::time::timeout(self.left(), reading).await {
            Ok(answer) => answer,
            Err(_) => Err(WarehouseError::new(
                ErrorKind::Timeout,
                "the catalog was not read in time",
            )
            .hint("allow more time with `--timeout`")),
        }
    }

    pub(super) async fn run(&self, probe: &Probe) -> Result<Answer, WarehouseError> {
        let statement = match admit(&probe.sql, self.connector, self.allowed, self.cancel).await {
            Ok(statement) => statement,
            Err(AdmissionError::Refused(refusal)) => {
                self.log
                    .record(&probe.sql, StatementOutcome::Refused { code: refusal.code });
                return Ok(Answer::Refused(refusal.reason));
            }
            Err(AdmissionError::Failed(error)) => return self.failed(&probe.sql, error),
        };
        let left = self.left();
        if left.is_zero() {
            return Ok(Answer::CouldNotLook("the time was over".to_owned()));
        }
        if probe.wanted == Wanted::Runs {
            // A warehouse that bills by scanned bytes compiles the statement without running it.
            match self.connector.estimate(&statement, self.cancel).await {
                Ok(Some(_)) => return Ok(Answer::Holds(Vec::new())),
                Ok(None) => {}
                Err(error) => return self.failed(&probe.sql, error),
            }
        }
        let caps = Caps {
            rows: 1,
            timeout: left.min(LONGEST),
            ..Caps::default()
        };
        match collect(self.connector, &statement, &caps, self.cancel).await {
            Ok(result) => {
                let rows = result.rows.len();
                self.log
                    .record(statement.as_str(), StatementOutcome::Executed { rows });
                Ok(answer(probe, &result))
            }
            Err(error) => self.failed(statement.as_str(), error),
        }
    }

    fn failed(&self, sql: &str, error: WarehouseError) -> Result<Answer, WarehouseError> {
        let code = error.kind.code();
        self.log.record(sql, StatementOutcome::Failed { code });
        match error.kind {
            ErrorKind::Cancelled => Err(error),
            ErrorKind::Sql => Ok(Answer::Broken(error.message)),
            ErrorKind::NotReady => Ok(Answer::NotReady(error.message)),
            ErrorKind::Permission | ErrorKind::Policy | ErrorKind::Timeout | ErrorKind::Limit => {
                Ok(Answer::CouldNotLook(error.message))
            }
            ErrorKind::Config
            | ErrorKind::Unreachable
            | ErrorKind::Authentication
            | ErrorKind::NotFound
            | ErrorKind::Tls
            | ErrorKind::Dropped
            | ErrorKind::Other => Ok(Answer::Unreachable(error)),
        }
    }
}

fn answer(probe: &Probe, result: &QueryResult) -> Answer {
    if let (Wanted::NoRow { .. }, Some(row)) = (probe.wanted, result.rows.first())
        && let Some((count, key)) = row.split_last()
    {
        let texts: Vec<String> = key
            .iter()
            .map(|cell| cell.to_text().unwrap_or_else(|| "NULL".to_owned()))
            .collect();
        let count = Cell::to_text(count).unwrap_or_default();
        return Answer::Repeated {
            key: format!("`{}`", texts.join(", ")),
            rows: format!("{count} rows"),
        };
    }
    let columns = result.columns.iter().map(|column| RelationColumn {
        name: column.name.clone(),
        native_type: column.native_type.clone(),
        kind: None,
    });
    Answer::Holds(columns.collect())
}
