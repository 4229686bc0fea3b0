//! Records usage facts during a run: each is dated, priced, metered and stored.

mod queue;
mod writer;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ktx_llm_runtime::{CallLabel, ReportedCost, UsageFact, UsageKind};

use crate::reservation::Reservation;
use crate::{Cost, Meter, PriceSource, PriceTable, price_of};
use queue::{Entry, Stage};
use writer::Writer;

/// Shows a message to the user.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// Records the usage facts of one run. A thread writes them, so that no call waits for the
/// database.
pub struct UsageRecorder {
    notify: Notify,
    clock: Clock,
    source: PriceSource,
    prices: OnceLock<Option<PriceTable>>,
    meter: Arc<Meter>,
    writer: Writer,
    /// Unfinished messages.
    begun: Mutex<BTreeSet<String>>,
    /// The models whose messages have no known cost, and why.
    unpriced: Mutex<BTreeSet<(String, Unpriced)>>,
}

/// Why the cost of a message is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unpriced {
    NoPrice,
    /// Its provider does not report usage.
    Uncounted,
}

impl std::fmt::Debug for UsageRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageRecorder").finish_non_exhaustive()
    }
}

impl UsageRecorder {
    /// Creates a recorder that opens the ledger at its first fact.
    pub fn new(notify: Notify, clock: Clock, ledger: &Path, source: PriceSource) -> Self {
        Self {
            writer: Writer::new(ledger, Arc::clone(&notify)),
            notify,
            clock,
            source,
            prices: OnceLock::new(),
            meter: Arc::default(),
            begun: Mutex::default(),
            unpriced: Mutex::default(),
        }
    }

    /// Returns the usage so far, for the budget of the run.
    pub fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Records an unfinished message. A budget counts it at its end; until then its call holds a
    /// reservation. The first report is in the ledger when this returns, so that no abrupt end of
    /// the program loses the next request.
    pub fn begin(&self, fact: UsageFact) {
        let (at, cost) = self.priced(&fact);
        let is_new = self.open_messages().insert(fact.reference());
        let entry = Entry::Message {
            stage: Stage::Begun,
            fact,
            at,
            cost,
        };
        self.write(entry.clone());
        if is_new {
            self.writer.wait_for(&entry);
        }
    }

    /// Records that a message which began is not billed.
    pub fn forget(&self, fact: UsageFact) {
        self.open_messages().remove(&fact.reference());
        self.write(Entry::Dropped(fact));
    }

    /// Records a fact. The meter comes first, so that a budget works even if the ledger fails.
    pub fn record(&self, fact: UsageFact) {
        let (at, cost) = self.priced(&fact);
        self.meter.add(&fact, cost);
        self.open_messages().remove(&fact.reference());
        if fact.kind == UsageKind::Estimated {
            self.note_unpriced(&fact, Unpriced::Uncounted);
        } else if cost.is_none() && self.prices().is_some() {
            self.note_unpriced(&fact, Unpriced::NoPrice);
        }
        self.write(Entry::Message {
            stage: Stage::Paid,
            fact,
            at,
            cost,
        });
    }

    /// Records a backend's cost figure, which counts for nothing.
    pub fn reported(&self, told: ReportedCost) {
        let at = (self.clock)();
        self.write(Entry::Reported { told, at });
    }

    fn priced(&self, fact: &UsageFact) -> (jiff::Timestamp, Option<Cost>) {
        let at = (self.clock)();
        let prices = self.prices();
        let cost = prices.and_then(|prices| price_of(fact, &at.to_string(), prices));
        (at, cost)
    }

    fn write(&self, entry: Entry) {
        if let Err(reason) = self.writer.take(entry) {
            self.meter.give_up(&reason);
        }
    }

    /// Waits until everything recorded so far is in the ledger, for a bounded time. Fails with the
    /// reason why it is not.
    pub(crate) fn flush(&self) -> Result<(), String> {
        self.writer.flush()
    }

    /// Gives a reservation back, after the facts recorded so far.
    pub(crate) fn release(&self, reservation: Reservation) {
        self.write(Entry::Released(reservation));
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> jiff::Timestamp {
        (self.clock)()
    }

    /// Returns the file of the ledger.
    pub(crate) fn ledger(&self) -> &Path {
        self.writer.path()
    }

    /// Writes waiting facts, and reports lost ones.
    pub fn finish(&self) {
        self.tell_unpriced();
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

    /// The command that made a probe reports about it.
    fn note_unpriced(&self, fact: &UsageFact, why: Unpriced) {
        if fact.stage != CallLabel::PROBE {
            self.unpriced_models().insert((fact.model.clone(), why));
        }
    }

    /// Reports once per model (COG-16).
    fn tell_unpriced(&self) {
        for (model, why) in std::mem::take(&mut *self.unpriced_models()) {
            (self.notify)(&match why {
                Unpriced::NoPrice => format!(
                    "warning: the model `{model}` has no list price; what it costs is unknown"
                ),
                Unpriced::Uncounted => format!(
                    "warning: the provider does not tell what the model `{model}` uses; its tokens are \
                     estimated from the size of the messages, and what it costs is unknown"
                ),
            });
        }
    }

    fn open_messages(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unpriced_models(&self) -> MutexGuard<'_, BTreeSet<(String, Unpriced)>> {
        self.unpriced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the table of the run; without one nothing has a price.
    fn prices(&self) -> Option<&PriceTable> {
        let read = || {
            self.source
                .read()
                .inspect_err(|error| {
                    let why = ktx_diagnostics::chain(error).join(": ");
                    (self.notify)(&format!("warning: costs are not known: {why}"));
                })
                .ok()
        };
        self.prices.get_or_init(read).as_ref()
    }
}

#[cfg(test)]
mod tests;
