//! Costs of attempts during a test run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use ktx_agent_eval::Usage;
use ktx_llm_runtime::{EventSink, RuntimeEvent, UsageFact, UsageKind};
use ktx_usage_ledger::{PriceTable, UsageRecorder, price_of};
use ktx_vocabulary::RunId;

use crate::compose::{LedgerSink, RecordingSink};

/// Sums usage by run. Each attempt and each judgment is a run.
pub(super) struct TestSink {
    ledger: LedgerSink,
    /// `None` if the price table is unreadable, which the ledger reports.
    prices: Option<PriceTable>,
    by_run: Mutex<BTreeMap<RunId, Usage>>,
}

impl TestSink {
    pub(super) fn new(ledger: LedgerSink, prices: Option<PriceTable>) -> Arc<Self> {
        Arc::new(Self {
            ledger,
            prices,
            by_run: Mutex::default(),
        })
    }

    pub(super) fn spent(&self, run: &RunId) -> Usage {
        let by_run = self.by_run.lock().unwrap_or_else(PoisonError::into_inner);
        by_run.get(run).copied().unwrap_or(Usage::NOTHING)
    }

    pub(super) fn finish(&self) {
        self.ledger.finish();
    }

    fn add(&self, fact: &UsageFact) {
        let prices = self.prices.as_ref();
        let now = Timestamp::now().to_string();
        let cost = prices.and_then(|prices| price_of(fact, &now, prices));
        let usage = Usage {
            tokens: fact.usage.total(),
            cost_usd: cost.map(|cost| cost.amount.dollars()),
            steps: u64::from(fact.kind != UsageKind::Unattributed),
        };
        let mut by_run = self.by_run.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = by_run.entry(fact.run_id.clone()).or_insert(Usage::NOTHING);
        *spent = spent.plus(usage);
    }
}

impl RecordingSink for TestSink {
    fn recorder(&self) -> &Arc<UsageRecorder> {
        self.ledger.recorder()
    }
}

impl EventSink for TestSink {
    fn event(&self, event: RuntimeEvent) {
        if let RuntimeEvent::Usage(fact) = &event {
            self.add(fact);
        }
        self.ledger.event(event);
    }
}
