//! Writes to the ledger.

use ktx_llm_runtime::UsageFact;
use rusqlite::{Connection, Params, ToSql};

use crate::ledger::failed;
use crate::{Cost, Ledger, LedgerError, PriceTable, ReservationOwner, price_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOutcome {
    New,
    /// Already there (COG-12).
    Known,
}

const COLUMNS: &str = "source_system, source_reference, executor_type, run_id, attempt, message_id,
  recorded_at, model, role, stage, unit, connection_id, input_tokens, cache_write_5m_tokens,
  cache_write_1h_tokens, cache_read_tokens, output_tokens, cost_picodollars, cost_estimated, kind,
  location, reasoning_tokens";

const CHANGED: &str = "recorded_at = excluded.recorded_at, model = excluded.model,
  input_tokens = excluded.input_tokens, cache_write_5m_tokens = excluded.cache_write_5m_tokens,
  cache_write_1h_tokens = excluded.cache_write_1h_tokens,
  cache_read_tokens = excluded.cache_read_tokens, output_tokens = excluded.output_tokens,
  cost_picodollars = excluded.cost_picodollars, cost_estimated = excluded.cost_estimated,
  kind = excluded.kind, location = excluded.location,
  reasoning_tokens = excluded.reasoning_tokens";

const COUNTS: &str = "usage_facts.kind = 'incomplete' AND (excluded.kind <> 'incomplete'
  OR excluded.output_tokens > usage_facts.output_tokens)";

const VALUES: &str =
    "?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22";

impl Ledger {
    /// Like [`Self::record_at`], at the price of that time.
    pub fn record(
        &self,
        fact: &UsageFact,
        at: &str,
        prices: &PriceTable,
    ) -> Result<RecordOutcome, LedgerError> {
        self.record_at(fact, at, price_of(fact, at, prices))
    }

    /// `at` is UTC (RFC 3339). Only an interrupted fact is replaced, by a complete or longer one.
    pub fn record_at(
        &self,
        fact: &UsageFact,
        at: &str,
        cost: Option<Cost>,
    ) -> Result<RecordOutcome, LedgerError> {
        let insert = format!(
            "INSERT INTO usage_facts ({COLUMNS}) VALUES ({VALUES})
             ON CONFLICT (source_system, source_reference) DO UPDATE SET {CHANGED} WHERE {COUNTS}"
        );
        let forget = "DELETE FROM open_messages WHERE source_system = ?1 AND source_reference = ?2";
        let reference = (fact.source_system.as_str(), fact.reference());
        let written = self.at_once(|database| {
            let written = with_fact(fact, at, cost, |values| {
                execute(database, &insert, values.as_slice())
            })?;
            execute(database, forget, reference)?;
            Ok(written)
        })?;
        Ok(if written == 1 {
            RecordOutcome::New
        } else {
            RecordOutcome::Known
        })
    }

    /// Records an unfinished message until its fact arrives or [`Self::settle`] makes one.
    pub fn begin(
        &self,
        fact: &UsageFact,
        at: &str,
        cost: Option<Cost>,
        owner: ReservationOwner,
    ) -> Result<(), LedgerError> {
        // `WHERE` keeps the parser from reading `ON CONFLICT` as part of a join.
        let insert = format!(
            "INSERT INTO open_messages ({COLUMNS}, owner_process, owner_started)
             SELECT {VALUES},?23,?24 WHERE NOT EXISTS (SELECT 1 FROM usage_facts
               WHERE source_system = ?1 AND source_reference = ?2)
             ON CONFLICT (source_system, source_reference) DO UPDATE SET {CHANGED}"
        );
        let started = owner.started_column();
        let grow = format!(
            "INSERT INTO usage_facts ({COLUMNS}) VALUES ({VALUES})
             ON CONFLICT (source_system, source_reference) DO UPDATE SET {CHANGED} WHERE {COUNTS}"
        );
        self.at_once(|database| {
            with_fact(fact, at, cost, |values| {
                let mut all = values.clone();
                all.push(&owner.process);
                all.push(&started);
                match execute(database, &insert, all.as_slice())? {
                    0 => execute(database, &grow, values.as_slice()),
                    begun => Ok(begun),
                }
            })
        })?;
        Ok(())
    }

    pub fn forget(&self, fact: &UsageFact) -> Result<(), LedgerError> {
        let forget = "DELETE FROM open_messages WHERE source_system = ?1 AND source_reference = ?2";
        let reference = (fact.source_system.as_str(), fact.reference());
        execute(&self.database, forget, reference)?;
        Ok(())
    }

    /// Returns the number of new facts.
    pub fn settle(
        &self,
        is_running: impl Fn(ReservationOwner) -> bool,
    ) -> Result<usize, LedgerError> {
        let gone: Vec<ReservationOwner> = self
            .owners()?
            .into_iter()
            .filter(|owner| !is_running(*owner))
            .collect();
        if gone.is_empty() {
            return Ok(0);
        }
        let of_owner = "owner_process = ?1 AND owner_started IS ?2";
        let insert = format!(
            "INSERT INTO usage_facts ({COLUMNS}) SELECT {COLUMNS} FROM open_messages
             WHERE {of_owner}
             ON CONFLICT (source_system, source_reference) DO UPDATE SET {CHANGED} WHERE {COUNTS}"
        );
        let forget = format!("DELETE FROM open_messages WHERE {of_owner}");
        self.at_once(|database| {
            let mut settled = 0;
            for owner in &gone {
                let started = owner.started_column();
                settled += execute(database, &insert, (owner.process, started))?;
                execute(database, &forget, (owner.process, started))?;
            }
            Ok(settled)
        })
    }

    fn owners(&self) -> Result<Vec<ReservationOwner>, LedgerError> {
        let sql = "SELECT DISTINCT owner_process, owner_started FROM open_messages ORDER BY 1, 2";
        let mut query = self.database.prepare(sql).map_err(failed("read"))?;
        let rows = query
            .query_map((), |row| ReservationOwner::of_row(row, 0))
            .map_err(failed("read"))?;
        rows.collect::<Result<_, _>>().map_err(failed("read"))
    }

    /// Copies facts and open messages of another ledger once.
    pub fn import_from(&self, other: &std::path::Path) -> Result<(), LedgerError> {
        // Migrates it, or fails if it cannot be read.
        drop(Self::open(other)?);
        let name = other.to_string_lossy();
        execute(&self.database, "ATTACH DATABASE ?1 AS other", [&*name])?;
        let copied = self.at_once(|database| {
            for table in ["usage_facts", "open_messages"] {
                let (more, known) = match table {
                    "open_messages" => (", owner_process, owner_started", "NOTHING".to_owned()),
                    _ => ("", format!("UPDATE SET {CHANGED} WHERE {COUNTS}")),
                };
                let copy = format!(
                    "INSERT INTO main.{table} ({COLUMNS}{more})
                     SELECT {COLUMNS}{more} FROM other.{table} WHERE true
                     ON CONFLICT (source_system, source_reference) DO {known}"
                );
                execute(database, &copy, ())?;
            }
            let copy = "INSERT INTO main.reported_costs SELECT * FROM other.reported_costs
                        WHERE true ON CONFLICT DO NOTHING";
            execute(database, copy, ())?;
            Ok(())
        });
        execute(&self.database, "DETACH DATABASE other", ())?;
        copied
    }

    pub(crate) fn at_once<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let transaction = self
            .database
            .unchecked_transaction()
            .map_err(failed("written"))?;
        let done = work(&transaction)?;
        transaction.commit().map_err(failed("written"))?;
        Ok(done)
    }
}

pub(crate) fn execute(
    database: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<usize, LedgerError> {
    let mut statement = database.prepare_cached(sql).map_err(failed("written"))?;
    statement.execute(values).map_err(failed("written"))
}

fn with_fact<T>(
    fact: &UsageFact,
    at: &str,
    cost: Option<Cost>,
    write: impl FnOnce(&Vec<&dyn ToSql>) -> T,
) -> T {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let usage = &fact.usage;
    let connection = fact
        .connection
        .as_ref()
        .map(ktx_vocabulary::ConnectionId::as_str);
    write(&vec![
        &fact.source_system.as_str(),
        &fact.reference(),
        &fact.source_system.executor(),
        &fact.run_id.as_str(),
        &fact.attempt,
        &fact.message_id,
        &at,
        &fact.model,
        &fact.role.as_str(),
        &fact.stage,
        &fact.unit,
        &connection,
        &count(usage.input),
        &count(usage.cache_write_5m),
        &count(usage.cache_write_1h),
        &count(usage.cache_read),
        &count(usage.output),
        &cost.map(|cost| cost.amount.picodollars().to_string()),
        &cost.is_some_and(|cost| cost.estimated),
        &fact.kind.as_str(),
        &fact.location,
        &count(usage.reasoning),
    ])
}
