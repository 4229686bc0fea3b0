//! Dates, prices, meters and stores usage facts.

mod queue;
mod writer;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ktx_llm_runtime::{CallLabel, ReportedCost, UsageFact, UsageKind};

use crate::reservation::Reservation;
use crate::{Cost, Meter, PriceSource, PriceTable, price_of};
use queue::{MessageStage, QueueEntry};
use writer::LedgerWriter;

pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// A thread writes, so that no call waits for the database.
pub struct UsageRecorder {
    notify: Notify,
    clock: Clock,
    source: PriceSource,
    prices: OnceLock<Option<PriceTable>>,
    meter: Arc<Meter>,
    writer: LedgerWriter,
    begun: Mutex<BTreeSet<String>>,
    unpriced: Mutex<BTreeSet<(String, UnknownCost)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UnknownCost {
    NoPrice,
    Uncounted,
}

impl std::fmt::Debug for UsageRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageRecorder").finish_non_exhaustive()
    }
}

impl UsageRecorder {
    pub fn new(notify: Notify, clock: Clock, ledger: &Path, source: PriceSource) -> Self {
        Self {
            writer: LedgerWriter::new(ledger, Arc::clone(&notify)),
            notify,
            clock,
            source,
            prices: OnceLock::new(),
            meter: Arc::default(),
            begun: Mutex::default(),
            unpriced: Mutex::default(),
        }
    }

    pub fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Waits until the first report is in the ledger, so that a crash does not lose the next
    /// request.
    pub fn begin(&self, fact: UsageFact) {
        let (at, cost) = self.priced(&fact);
        let is_new = self.open_messages().insert(fact.reference());
        let entry = QueueEntry::Message {
            stage: MessageStage::Begun,
            fact,
            at,
            cost,
        };
        self.write(entry.clone());
        if is_new {
            self.writer.wait_for(&entry);
        }
    }

    pub fn forget(&self, fact: UsageFact) {
        self.open_messages().remove(&fact.reference());
        self.write(QueueEntry::Dropped(fact));
    }

    /// The meter comes first, so that a budget works even if the ledger fails.
    pub fn record(&self, fact: UsageFact) {
        let (at, cost) = self.priced(&fact);
        self.meter.add(&fact, cost);
        self.open_messages().remove(&fact.reference());
        if fact.kind == UsageKind::Estimated {
            self.note_unpriced(&fact, UnknownCost::Uncounted);
        } else if cost.is_none() && self.prices().is_some() {
            self.note_unpriced(&fact, UnknownCost::NoPrice);
        }
        self.write(QueueEntry::Message {
            stage: MessageStage::Paid,
            fact,
            at,
            cost,
        });
    }

    pub fn cost_of(&self, fact: &UsageFact) -> Option<Cost> {
        self.priced(fact).1
    }

    /// Records a backend's own cost, which is in no sum.
    pub fn reported(&self, cost: ReportedCost) {
        let at = (self.clock)();
        self.write(QueueEntry::Reported { cost, at });
    }

    fn priced(&self, fact: &UsageFact) -> (jiff::Timestamp, Option<Cost>) {
        let at = (self.clock)();
        let prices = self.prices();
        let cost = prices.and_then(|prices| price_of(fact, &at.to_string(), prices));
        (at, cost)
    }

    fn write(&self, entry: QueueEntry) {
        if let Err(reason) = self.writer.take(entry) {
            self.meter.give_up(&reason);
        }
    }

    pub(crate) fn flush(&self) -> Result<(), String> {
        self.writer.flush()
    }

    pub(crate) fn release(&self, reservation: Reservation) {
        self.write(QueueEntry::Released(reservation));
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        (self.clock)()
    }

    pub(crate) fn ledger(&self) -> &Path {
        self.writer.path()
    }

    pub fn finish(&self) {
        self.report_unpriced();
        if let Some(lost) = self.writer.finish() {
            (self.notify)(&format!(
                "warning: {} model messages with {} tokens are missing in the usage ledger: {}",
                lost.messages, lost.tokens, lost.reason
            ));
            if let Some(remedy) = lost.remedy {
                (self.notify)(&format!("hint: {remedy}"));
            }
        }
    }

    /// A probe's command reports it itself.
    fn note_unpriced(&self, fact: &UsageFact, why: UnknownCost) {
        if fact.stage != CallLabel::PROBE {
            self.unpriced_models().insert((fact.model.clone(), why));
        }
    }

    /// Once per model (COG-16).
    fn report_unpriced(&self) {
        for (model, why) in std::mem::take(&mut *self.unpriced_models()) {
            (self.notify)(&match why {
                UnknownCost::NoPrice => format!(
                    "warning: the model `{model}` has no list price; what it costs is unknown"
                ),
                UnknownCost::Uncounted => format!(
                    "warning: the provider does not report the tokens of the model `{model}`; ktx estimates them from the size of the messages, and the cost is unknown"
                ),
            });
        }
    }

    fn open_messages(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unpriced_models(&self) -> MutexGuard<'_, BTreeSet<(String, UnknownCost)>> {
        self.unpriced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` if unreadable.
    fn prices(&self) -> Option<&PriceTable> {
        let read = || {
            self.source
                .read()
                .inspect_err(|error| {
                    let why = ktx_diagnostics::chain(error).join(": ");
                    (self.notify)(&format!("warning: costs are unknown: {why}"));
                })
                .ok()
        };
        self.prices.get_or_init(read).as_ref()
    }
}

#[cfg(test)]
mod tests;
