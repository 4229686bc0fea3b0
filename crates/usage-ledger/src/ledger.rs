//! The ledger: an append-only table in SQLite, and one of unfinished messages.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the usage ledger cannot be {doing}")]
    Database {
        /// `opened`, `written` or `read`.
        doing: &'static str,
        #[source]
        source: rusqlite::Error,
    },
    #[error("the usage ledger was written by a newer version of ktx")]
    Newer,
}

impl LedgerError {
    /// True if another program is writing, so that a retry can succeed.
    pub fn is_busy(&self) -> bool {
        let Self::Database { source, .. } = self else {
            return false;
        };
        matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        )
    }
}

/// Each run has one writer (COG-15).
#[derive(Debug)]
pub struct Ledger {
    pub(crate) database: Connection,
}

const STEPS: [&str; 6] = [
    "CREATE TABLE usage_facts (
  source_system TEXT NOT NULL,
  source_reference TEXT NOT NULL,
  executor_type TEXT NOT NULL,
  run_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  model TEXT NOT NULL,
  role TEXT NOT NULL,
  stage TEXT NOT NULL,
  unit TEXT,
  connection_id TEXT,
  input_tokens INTEGER NOT NULL,
  cache_write_5m_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_picodollars TEXT,
  cost_estimated INTEGER NOT NULL,
  UNIQUE (source_system, source_reference)
);
CREATE INDEX usage_facts_by_run ON usage_facts (run_id);
CREATE INDEX usage_facts_by_time ON usage_facts (recorded_at);",
    "ALTER TABLE usage_facts ADD COLUMN kind TEXT NOT NULL DEFAULT 'message';
ALTER TABLE usage_facts ADD COLUMN location TEXT;",
    "CREATE TABLE open_messages (
  source_system TEXT NOT NULL,
  source_reference TEXT NOT NULL,
  executor_type TEXT NOT NULL,
  run_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  model TEXT NOT NULL,
  role TEXT NOT NULL,
  stage TEXT NOT NULL,
  unit TEXT,
  connection_id TEXT,
  input_tokens INTEGER NOT NULL,
  cache_write_5m_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost_picodollars TEXT,
  cost_estimated INTEGER NOT NULL,
  kind TEXT NOT NULL,
  location TEXT,
  owner_process INTEGER NOT NULL,
  owner_started INTEGER,
  UNIQUE (source_system, source_reference)
);",
    "CREATE TABLE reported_costs (
  source_system TEXT NOT NULL,
  source_reference TEXT NOT NULL,
  run_id TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  role TEXT NOT NULL,
  stage TEXT NOT NULL,
  unit TEXT,
  connection_id TEXT,
  reported_picodollars TEXT NOT NULL,
  computed_picodollars TEXT,
  UNIQUE (source_system, source_reference)
);",
    "ALTER TABLE usage_facts ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE open_messages ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;",
    // `AUTOINCREMENT` never reuses ids, so a late release cannot hit another call.
    "CREATE TABLE reservations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_process INTEGER NOT NULL,
  owner_started INTEGER,
  tokens INTEGER NOT NULL,
  cost_picodollars TEXT NOT NULL
);",
];

const PATIENCE: Duration = Duration::from_secs(10);

fn version(database: &Connection) -> Result<usize, LedgerError> {
    let have: u32 = database
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failed("opened"))?;
    Ok(usize::try_from(have).unwrap_or(usize::MAX))
}

pub(crate) fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> LedgerError {
    move |source| LedgerError::Database { doing, source }
}

impl Ledger {
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        Self::open_waiting(path, PATIENCE)
    }

    /// All operations wait up to `patience` for another writer.
    pub fn open_waiting(path: &Path, patience: Duration) -> Result<Self, LedgerError> {
        Self::prepare(Connection::open(path).map_err(failed("opened"))?, patience)
    }

    pub fn in_memory() -> Result<Self, LedgerError> {
        let database = Connection::open_in_memory().map_err(failed("opened"))?;
        Self::prepare(database, PATIENCE)
    }

    fn prepare(mut database: Connection, patience: Duration) -> Result<Self, LedgerError> {
        database.busy_timeout(patience).map_err(failed("opened"))?;
        // Readers wait for no writer.
        if version(&database)? < STEPS.len() {
            use_wal(&database, patience)?;
            Self::migrate(&mut database)?;
        }
        if version(&database)? > STEPS.len() {
            return Err(LedgerError::Newer);
        }
        database
            .execute_batch("PRAGMA synchronous = NORMAL;")
            .map_err(failed("opened"))?;
        Ok(Self { database })
    }

    fn migrate(database: &mut Connection) -> Result<(), LedgerError> {
        let transaction = database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed("opened"))?;
        let have = version(&transaction)?;
        for (number, step) in (1_u32..).zip(STEPS).skip(have) {
            transaction.execute_batch(step).map_err(failed("opened"))?;
            transaction
                .pragma_update(None, "user_version", number)
                .map_err(failed("opened"))?;
        }
        transaction.commit().map_err(failed("opened"))
    }
}

const NEXT_TRY: Duration = Duration::from_millis(10);

/// SQLite does not wait when several connections create a ledger.
#[expect(
    clippy::disallowed_methods,
    reason = "SQLite has no event for a released lock"
)]
fn use_wal(database: &Connection, patience: Duration) -> Result<(), LedgerError> {
    let mut waited = Duration::ZERO;
    loop {
        let switched = database.execute_batch("PRAGMA journal_mode = WAL;");
        let is_busy = switched.as_ref().is_err_and(|error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        });
        if !is_busy || waited >= patience {
            return switched.map_err(failed("opened"));
        }
        std::thread::sleep(NEXT_TRY);
        waited += NEXT_TRY;
    }
}
