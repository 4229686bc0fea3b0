//! The ledger itself: a table in SQLite that only grows.

use std::path::Path;
use std::time::Duration;

use ktx_llm_runtime::UsageFact;
use rusqlite::{Connection, TransactionBehavior, params};

use crate::{Cost, PriceTable, price_of};

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The database failed.
    #[error("the usage ledger cannot be {doing}")]
    Database {
        /// What was tried: `opened`, `written` or `read`.
        doing: &'static str,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
    /// A newer version of the program has changed the ledger's layout.
    #[error("the usage ledger was written by a newer version of ktx")]
    Newer,
}

/// Whether a fact was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It was written.
    New,
    /// It was there already (COG-12).
    Known,
}

/// The ledger. One writer per run holds it (COG-15).
#[derive(Debug)]
pub struct Ledger {
    pub(crate) database: Connection,
}

const STEPS: [&str; 2] = [
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
];

fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> LedgerError {
    move |source| LedgerError::Database { doing, source }
}

impl Ledger {
    /// Opens the ledger in a file of its own, making it when it is missing.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        Self::prepare(Connection::open(path).map_err(failed("opened"))?)
    }

    /// A ledger in memory.
    pub fn in_memory() -> Result<Self, LedgerError> {
        Self::prepare(Connection::open_in_memory().map_err(failed("opened"))?)
    }

    fn prepare(mut database: Connection) -> Result<Self, LedgerError> {
        database
            .busy_timeout(Duration::from_secs(10))
            .map_err(failed("opened"))?;
        database
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            .map_err(failed("opened"))?;
        let transaction = database
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed("opened"))?;
        let have: u32 = transaction
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(failed("opened"))?;
        let have = usize::try_from(have).unwrap_or(usize::MAX);
        if have > STEPS.len() {
            return Err(LedgerError::Newer);
        }
        for (number, step) in (1_u32..).zip(STEPS).skip(have) {
            transaction.execute_batch(step).map_err(failed("opened"))?;
            transaction
                .pragma_update(None, "user_version", number)
                .map_err(failed("opened"))?;
        }
        transaction.commit().map_err(failed("opened"))?;
        Ok(Self { database })
    }

    /// Writes one fact with its cost at the moment `at` (UTC, RFC 3339). A fact that is there
    /// already stays as it is.
    pub fn record(
        &self,
        fact: &UsageFact,
        at: &str,
        prices: &PriceTable,
    ) -> Result<Recorded, LedgerError> {
        self.record_at(fact, at, price_of(fact, at, prices))
    }

    /// Writes one fact of the moment `at` (UTC, RFC 3339) with what it cost then, when that is known.
    pub fn record_at(
        &self,
        fact: &UsageFact,
        at: &str,
        cost: Option<Cost>,
    ) -> Result<Recorded, LedgerError> {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let written = self
            .database
            .execute(
                "INSERT INTO usage_facts (source_system, source_reference, executor_type, run_id,
                   attempt, message_id, recorded_at, model, role, stage, unit, connection_id,
                   input_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_read_tokens,
                   output_tokens, cost_picodollars, cost_estimated, kind, location)
                 VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21)
                 ON CONFLICT DO NOTHING",
                params![
                    fact.source_system.as_str(),
                    fact.reference(),
                    fact.source_system.executor(),
                    fact.run_id.as_str(),
                    fact.attempt,
                    fact.message_id,
                    at,
                    fact.model,
                    fact.role.as_str(),
                    fact.stage,
                    fact.unit,
                    fact.connection
                        .as_ref()
                        .map(ktx_vocabulary::ConnectionId::as_str),
                    count(fact.usage.input),
                    count(fact.usage.cache_write_5m),
                    count(fact.usage.cache_write_1h),
                    count(fact.usage.cache_read),
                    count(fact.usage.output),
                    cost.map(|cost| cost.amount.picodollars().to_string()),
                    cost.is_some_and(|cost| cost.estimated),
                    fact.kind.as_str(),
                    fact.location,
                ],
            )
            .map_err(failed("written"))?;
        Ok(if written == 1 {
            Recorded::New
        } else {
            Recorded::Known
        })
    }
}
