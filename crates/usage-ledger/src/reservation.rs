//! Reservations of running calls of all processes.

use std::collections::BTreeMap;

use rusqlite::{Row, Transaction, TransactionBehavior};

use crate::ledger::failed;
use crate::price::unpriced_reason;
use crate::record::execute;
use crate::{Ledger, LedgerError, Money, ReservationOwner, UsageAmount};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation(i64);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeriodUsage {
    /// Includes messages of ended processes.
    pub spent: UsageAmount,
    /// Reserved, or used if that is more.
    pub ours: UsageAmount,
    pub theirs: UsageAmount,
    pub(crate) smallest: UsageAmount,
    /// For display.
    pub unpriced: Option<String>,
}

impl PeriodUsage {
    /// Reserved, or used if that is more.
    pub fn in_flight(&self) -> UsageAmount {
        let mut sum = self.ours;
        sum += self.theirs;
        sum
    }
}

/// The period and the process that asks.
pub struct Viewpoint<'a> {
    /// UTC (`YYYY-MM-DDTHH:MM:SS`).
    pub since: &'a str,
    pub owner: ReservationOwner,
    pub is_running: &'a dyn Fn(ReservationOwner) -> bool,
}

const TOKENS: &str = "input_tokens + cache_write_5m_tokens + cache_write_1h_tokens
  + cache_read_tokens + output_tokens";

impl std::fmt::Debug for Viewpoint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Viewpoint")
            .field("since", &self.since)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    /// Changes nothing.
    pub fn period_usage(&self, from: &Viewpoint<'_>) -> Result<PeriodUsage, LedgerError> {
        // One snapshot, because messages move between tables.
        let snapshot = self
            .database
            .unchecked_transaction()
            .map_err(failed("read"))?;
        read(&snapshot, from)
    }

    /// Decides in one transaction, so that no two processes get the same room. `decide` returns the
    /// reservation or the refusal.
    pub fn reserve<R>(
        &self,
        from: &Viewpoint<'_>,
        decide: impl FnOnce(&PeriodUsage) -> Result<UsageAmount, R>,
    ) -> Result<Result<Reservation, R>, LedgerError> {
        // A transaction that reads first cannot write after another process.
        let transaction =
            Transaction::new_unchecked(&self.database, TransactionBehavior::Immediate)
                .map_err(failed("written"))?;
        let amount = match decide(&read(&transaction, from)?) {
            Ok(amount) => amount,
            Err(refusal) => return Ok(Err(refusal)),
        };
        forget_ended(&transaction, from)?;
        execute(
            &transaction,
            "INSERT INTO reservations (owner_process, owner_started, tokens, cost_picodollars)
             VALUES (?1, ?2, ?3, ?4)",
            (
                from.owner.process,
                from.owner.started_column(),
                i64::try_from(amount.tokens).unwrap_or(i64::MAX),
                amount.cost.picodollars().to_string(),
            ),
        )?;
        let reservation = Reservation(transaction.last_insert_rowid());
        transaction.commit().map_err(failed("written"))?;
        Ok(Ok(reservation))
    }

    pub fn release(&self, reservation: Reservation) -> Result<(), LedgerError> {
        let remove = "DELETE FROM reservations WHERE id = ?1";
        execute(&self.database, remove, [reservation.0])?;
        Ok(())
    }
}

fn read(database: &Transaction<'_>, from: &Viewpoint<'_>) -> Result<PeriodUsage, LedgerError> {
    let mut period_usage = PeriodUsage {
        spent: facts(database, from.since)?,
        unpriced: unpriced(database, from.since)?,
        ..PeriodUsage::default()
    };
    let mut running: BTreeMap<ReservationOwner, InFlight> = BTreeMap::new();
    for row in reservations(database)? {
        if (from.is_running)(row.owner) {
            let process = running.entry(row.owner).or_default();
            process.reserved.push(row.amount);
        }
    }
    for row in open_messages(database)? {
        if (from.is_running)(row.owner) {
            running.entry(row.owner).or_default().used += row.amount;
        } else if row.recorded_at.as_str() >= from.since {
            period_usage.spent += row.amount;
            if period_usage.unpriced.is_none() {
                period_usage.unpriced = row.unpriced;
            }
        }
    }
    for (owner, process) in running {
        if owner == from.owner {
            period_usage.smallest = process.smallest();
            period_usage.ours += process.amount();
        } else {
            period_usage.theirs += process.amount();
        }
    }
    Ok(period_usage)
}

#[derive(Default)]
struct InFlight {
    reserved: Vec<UsageAmount>,
    used: UsageAmount,
}

impl InFlight {
    /// An answer can be longer than its reservation, and without a budget nothing is reserved.
    fn amount(&self) -> UsageAmount {
        let mut reserved = UsageAmount::default();
        for amount in &self.reserved {
            reserved += *amount;
        }
        reserved.at_least(self.used)
    }

    fn smallest(&self) -> UsageAmount {
        let least = |part: fn(&UsageAmount) -> i128| self.reserved.iter().map(part).min();
        let tokens = least(|amount| i128::from(amount.tokens)).unwrap_or_default();
        let cost = least(|amount| amount.cost.picodollars()).unwrap_or_default();
        UsageAmount {
            tokens: u64::try_from(tokens).unwrap_or_default(),
            cost: Money::from_picodollars(cost),
        }
    }
}

fn forget_ended(database: &Transaction<'_>, from: &Viewpoint<'_>) -> Result<(), LedgerError> {
    let remove = "DELETE FROM reservations WHERE owner_process = ?1 AND owner_started IS ?2";
    for row in reservations(database)? {
        if !(from.is_running)(row.owner) {
            execute(
                database,
                remove,
                (row.owner.process, row.owner.started_column()),
            )?;
        }
    }
    Ok(())
}

fn facts(database: &Transaction<'_>, since: &str) -> Result<UsageAmount, LedgerError> {
    let sql = format!(
        "SELECT coalesce(sum({TOKENS}), 0), coalesce(sum(CAST(cost_picodollars AS INTEGER)), 0)
         FROM usage_facts WHERE recorded_at >= ?1"
    );
    let sums = database.query_row(&sql, [since], |row| {
        Ok(UsageAmount {
            tokens: tokens(row, 0)?,
            cost: Money::from_picodollars(i128::from(row.get::<_, i64>(1)?)),
        })
    });
    sums.map_err(failed("read"))
}

fn unpriced(database: &Transaction<'_>, since: &str) -> Result<Option<String>, LedgerError> {
    let sql = "SELECT kind, model FROM usage_facts
               WHERE recorded_at >= ?1 AND cost_picodollars IS NULL ORDER BY recorded_at LIMIT 1";
    let mut query = database.prepare(sql).map_err(failed("read"))?;
    let mut rows = query.query([since]).map_err(failed("read"))?;
    let Some(row) = rows.next().map_err(failed("read"))? else {
        return Ok(None);
    };
    let kind: String = row.get(0).map_err(failed("read"))?;
    let model: String = row.get(1).map_err(failed("read"))?;
    Ok(Some(unpriced_reason(&kind, &model)))
}

struct ReservationRow {
    owner: ReservationOwner,
    amount: UsageAmount,
}

fn reservations(database: &Transaction<'_>) -> Result<Vec<ReservationRow>, LedgerError> {
    let sql = "SELECT owner_process, owner_started, tokens, cost_picodollars FROM reservations
               ORDER BY id";
    let mut query = database.prepare(sql).map_err(failed("read"))?;
    let rows = query
        .query_map((), |row| {
            Ok(ReservationRow {
                owner: ReservationOwner::of_row(row, 0)?,
                amount: UsageAmount {
                    tokens: tokens(row, 2)?,
                    cost: money(row, 3)?.unwrap_or_default(),
                },
            })
        })
        .map_err(failed("read"))?;
    rows.collect::<Result<_, _>>().map_err(failed("read"))
}

struct OpenRow {
    owner: ReservationOwner,
    recorded_at: String,
    amount: UsageAmount,
    unpriced: Option<String>,
}

fn open_messages(database: &Transaction<'_>) -> Result<Vec<OpenRow>, LedgerError> {
    let sql = format!(
        "SELECT owner_process, owner_started, recorded_at, {TOKENS}, cost_picodollars, kind, model
         FROM open_messages ORDER BY source_system, source_reference"
    );
    let mut query = database.prepare(&sql).map_err(failed("read"))?;
    let rows = query
        .query_map((), |row| {
            let cost = money(row, 4)?;
            let (kind, model): (String, String) = (row.get(5)?, row.get(6)?);
            Ok(OpenRow {
                owner: ReservationOwner::of_row(row, 0)?,
                recorded_at: row.get(2)?,
                amount: UsageAmount {
                    tokens: tokens(row, 3)?,
                    cost: cost.unwrap_or_default(),
                },
                unpriced: cost.is_none().then(|| unpriced_reason(&kind, &model)),
            })
        })
        .map_err(failed("read"))?;
    rows.collect::<Result<_, _>>().map_err(failed("read"))
}

fn tokens(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or_default())
}

fn money(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Money>> {
    let text: Option<String> = row.get(at)?;
    Ok(text
        .and_then(|text| text.parse().ok())
        .map(Money::from_picodollars))
}
