//! Sums over the ledger.

use ktx_llm_runtime::{TokenUsage, UsageKind};

use crate::ledger::failed;
use crate::{Ledger, LedgerError, Money, ReportGroup, ReportWindow, ReportedCosts};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    /// Empty for facts without a value of the group.
    pub key: String,
    pub messages: u64,
    /// Calls with usage outside of messages, by model (COG-14).
    pub unattributed: u64,
    /// Messages and unattributed calls together.
    pub usage: TokenUsage,
    pub unattributed_tokens: u64,
    /// The sum over facts with a known price.
    pub cost: Money,
    pub unpriced: u64,
    /// Facts priced with a related price in place of a missing one.
    pub estimated: u64,
    /// Interrupted messages; the output is the received part.
    pub incomplete: u64,
    /// Messages without tokens from the provider.
    pub uncounted: u64,
    /// The total can be too high by this amount.
    pub estimated_tokens: u64,
    /// Empty when grouped by model.
    pub reported: ReportedCosts,
}

impl ReportRow {
    pub const fn facts(&self) -> u64 {
        self.messages + self.unattributed
    }

    /// True if at least one fact has a known price, or there are none.
    pub const fn cost_is_known(&self) -> bool {
        self.facts() == 0 || self.unpriced < self.facts()
    }

    fn add(&mut self, fact: &FactRow) {
        let FactRow { kind, usage, .. } = fact;
        if kind == UsageKind::Unattributed.as_str() {
            self.unattributed += 1;
            self.unattributed_tokens = self.unattributed_tokens.saturating_add(usage.total());
        } else {
            self.messages += 1;
            let is_cut = kind == UsageKind::Incomplete.as_str();
            let is_uncounted = kind == UsageKind::Estimated.as_str();
            self.incomplete += u64::from(is_cut);
            self.uncounted += u64::from(is_uncounted);
            if is_cut || is_uncounted {
                self.estimated_tokens = self.estimated_tokens.saturating_add(usage.total());
            }
        }
        self.usage += *usage;
        self.cost += fact.cost.unwrap_or_default();
        self.unpriced += u64::from(fact.cost.is_none());
        self.estimated += u64::from(fact.is_estimated);
    }
}

struct FactRow {
    kind: String,
    usage: TokenUsage,
    cost: Option<Money>,
    is_estimated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    pub rows: Vec<ReportRow>,
    pub total: ReportRow,
}

impl Ledger {
    pub fn report(
        &self,
        group: ReportGroup,
        window: &ReportWindow,
    ) -> Result<UsageReport, LedgerError> {
        let read = |source| LedgerError::Database {
            doing: "read",
            source,
        };
        let sql = format!(
            "SELECT {}, {COLUMNS}
             FROM usage_facts
             WHERE (?1 IS NULL OR run_id = ?1) AND (?2 IS NULL OR recorded_at >= ?2)
             ORDER BY 1",
            group.column()
        );
        let mut statement = self.database.prepare(&sql).map_err(read)?;
        let mut found = statement
            .query((&window.run_id, &window.since))
            .map_err(read)?;
        let mut rows: Vec<ReportRow> = Vec::new();
        let mut total = empty(String::new());
        while let Some(row) = found.next().map_err(read)? {
            let key: String = row.get(0).map_err(read)?;
            if rows.last().is_none_or(|last| last.key != key) {
                rows.push(empty(key));
            }
            let fact = fact_of(row).map_err(read)?;
            for sum in rows.last_mut().into_iter().chain([&mut total]) {
                sum.add(&fact);
            }
        }
        let (mut by_key, reported) = self.reported(group, window)?;
        for row in &mut rows {
            row.reported = by_key.remove(&row.key).unwrap_or_default();
        }
        total.reported = reported;
        Ok(UsageReport { rows, total })
    }
}

impl Ledger {
    /// Ignores messages that the ledger does not have.
    pub fn sum_of<'a>(
        &self,
        key: &str,
        messages: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ReportRow, LedgerError> {
        let read = failed("read");
        let sql =
            format!("SELECT '', {COLUMNS} FROM usage_facts WHERE run_id = ?1 AND message_id = ?2");
        let mut statement = self.database.prepare(&sql).map_err(&read)?;
        let mut sum = empty(key.to_owned());
        for message in messages {
            let mut found = statement.query(message).map_err(&read)?;
            while let Some(row) = found.next().map_err(&read)? {
                sum.add(&fact_of(row).map_err(&read)?);
            }
        }
        Ok(sum)
    }
}

const COLUMNS: &str = "input_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
                    cache_read_tokens, output_tokens, cost_picodollars, cost_estimated, kind,
                    reasoning_tokens";

fn fact_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<FactRow> {
    let count = |at: usize| {
        row.get::<_, i64>(at)
            .map(|value| u64::try_from(value).unwrap_or(0))
    };
    let usage = TokenUsage {
        input: count(1)?,
        cache_write_5m: count(2)?,
        cache_write_1h: count(3)?,
        cache_read: count(4)?,
        output: count(5)?,
        reasoning: count(9)?,
    };
    let cost: Option<String> = row.get(6)?;
    let cost = cost
        .and_then(|text| text.parse().ok())
        .map(Money::from_picodollars);
    Ok(FactRow {
        kind: row.get(8)?,
        usage,
        cost,
        is_estimated: row.get(7)?,
    })
}

fn empty(key: String) -> ReportRow {
    ReportRow {
        key,
        messages: 0,
        unattributed: 0,
        usage: TokenUsage::default(),
        unattributed_tokens: 0,
        cost: Money::default(),
        unpriced: 0,
        estimated: 0,
        incomplete: 0,
        uncounted: 0,
        estimated_tokens: 0,
        reported: ReportedCosts::default(),
    }
}
