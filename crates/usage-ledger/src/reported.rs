//! The backends' own costs, in no sum and no budget (C-18).

use std::collections::BTreeMap;

use ktx_llm_runtime::ReportedCost;
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::ledger::failed;
use crate::{Ledger, LedgerError, Money, RecordOutcome, ReportGroup, ReportWindow};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportedCosts {
    pub calls: u64,
    pub cost: Money,
    /// Calls whose messages are all recorded with known prices.
    pub compared_calls: u64,
    pub compared: Money,
    pub computed: Money,
}

impl ReportedCosts {
    pub fn difference(&self) -> Money {
        let minus = self.compared.picodollars() - self.computed.picodollars();
        Money::from_picodollars(minus)
    }

    /// True from a cent and a hundredth of our cost on.
    pub fn differs(&self) -> bool {
        let (difference, computed) = (self.difference().picodollars(), self.computed.picodollars());
        let cent = Money::from_dollars(0.01).picodollars();
        difference.abs() >= cent.max(computed / 100)
    }

    fn add(&mut self, cost: Money, computed: Option<Money>) {
        self.calls += 1;
        self.cost += cost;
        if let Some(computed) = computed {
            self.compared_calls += 1;
            self.compared += cost;
            self.computed += computed;
        }
    }
}

impl Ledger {
    /// All messages must already be in the ledger. No comparison without their prices.
    pub fn record_reported(
        &self,
        call_cost: &ReportedCost,
        at: &str,
    ) -> Result<RecordOutcome, LedgerError> {
        let insert = "INSERT INTO reported_costs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)
             ON CONFLICT DO NOTHING";
        let label = &call_cost.label;
        let connection = label
            .connection
            .as_ref()
            .map(ktx_vocabulary::ConnectionId::as_str);
        let reported = Money::from_dollars(call_cost.dollars)
            .picodollars()
            .to_string();
        let written = self.at_once(|database| {
            let computed =
                computed(database, call_cost)?.map(|cost| cost.picodollars().to_string());
            let values = (
                call_cost.source_system.as_str(),
                call_cost.reference(&call_cost.call),
                label.run_id.as_str(),
                at,
                call_cost.role.as_str(),
                &label.stage,
                &label.unit,
                connection,
                &reported,
                &computed,
            );
            let mut statement = database.prepare_cached(insert).map_err(failed("written"))?;
            statement.execute(values).map_err(failed("written"))
        })?;
        Ok(if written == 1 {
            RecordOutcome::New
        } else {
            RecordOutcome::Known
        })
    }

    /// Empty when grouped by model: calls can use several.
    pub(crate) fn reported(
        &self,
        group: ReportGroup,
        window: &ReportWindow,
    ) -> Result<(BTreeMap<String, ReportedCosts>, ReportedCosts), LedgerError> {
        let column = match group {
            ReportGroup::Model => "NULL",
            ReportGroup::All
            | ReportGroup::Run
            | ReportGroup::Role
            | ReportGroup::Stage
            | ReportGroup::Connection => group.column(),
        };
        let sql = format!(
            "SELECT {column}, reported_picodollars, computed_picodollars FROM reported_costs
             WHERE (?1 IS NULL OR run_id = ?1) AND (?2 IS NULL OR recorded_at >= ?2)"
        );
        let mut statement = self.database.prepare(&sql).map_err(failed("read"))?;
        let values = (&window.run_id, &window.since);
        let read =
            |row: &Row<'_>| -> rusqlite::Result<(Option<String>, Option<Money>, Option<Money>)> {
                Ok((row.get(0)?, amount(row, 1)?, amount(row, 2)?))
            };
        let rows = statement.query_map(values, read).map_err(failed("read"))?;
        let (mut by_key, mut total) = (
            BTreeMap::<String, ReportedCosts>::new(),
            ReportedCosts::default(),
        );
        for row in rows {
            let (key, call_cost, computed) = row.map_err(failed("read"))?;
            let Some(call_cost) = call_cost else { continue };
            total.add(call_cost, computed);
            if let Some(key) = key {
                by_key.entry(key).or_default().add(call_cost, computed);
            }
        }
        Ok((by_key, total))
    }
}

fn amount(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Money>> {
    let text: Option<String> = row.get(at)?;
    Ok(text
        .and_then(|text| text.parse().ok())
        .map(Money::from_picodollars))
}

/// `None` unless all messages are complete and priced.
fn computed(database: &Connection, call_cost: &ReportedCost) -> Result<Option<Money>, LedgerError> {
    let mut statement = database
        .prepare_cached(
            "SELECT cost_picodollars FROM usage_facts
             WHERE source_system = ?1 AND source_reference = ?2 AND kind <> 'incomplete'",
        )
        .map_err(failed("read"))?;
    let mut sum = Money::default();
    for unit in &call_cost.message_ids {
        let key = (call_cost.source_system.as_str(), call_cost.reference(unit));
        let cost = statement.query_row(key, |row| amount(row, 0)).optional();
        match cost.map_err(failed("read"))?.flatten() {
            Some(cost) => sum += cost,
            None => return Ok(None),
        }
    }
    Ok(Some(sum))
}
