//! The processing of a usage fact: dated, priced, metered and stored.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ktx_llm_runtime::{CallLabel, ReportedCost, UsageFact, UsageKind};
use ktx_usage_ledger::{Cost, Meter, PriceTable, price_of};

use super::Say;
use super::queue::{Entry, Stage};
use super::writer::Writer;
use crate::compose::prices::PriceSource;

type Clock = Box<dyn Fn() -> jiff::Timestamp + Send + Sync>;

pub(super) struct Facts {
    say: Say,
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

impl Facts {
    pub(super) fn new(say: Say, clock: Clock, ledger: &Path, source: PriceSource) -> Self {
        Self {
            writer: Writer::new(ledger, Arc::clone(&say)),
            say,
            clock,
            source,
            prices: OnceLock::new(),
            meter: Arc::default(),
            begun: Mutex::default(),
            unpriced: Mutex::default(),
        }
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Records an unfinished message. A budget counts it at its end; until then its call holds a
    /// reservation. The first report is in the ledger when this returns, so that no abrupt end of
    /// the program loses the next request.
    pub(super) fn begin(&self, fact: UsageFact) {
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
    pub(super) fn forget(&self, fact: UsageFact) {
        self.open_messages().remove(&fact.reference());
        self.write(Entry::Dropped(fact));
    }

    /// Records a fact. The meter comes first, so that a budget works even if the ledger fails.
    pub(super) fn record(&self, fact: UsageFact) {
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
    pub(super) fn reported(&self, told: ReportedCost) {
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

    /// Writes waiting facts, and reports lost ones.
    pub(super) fn finish(&self) {
        self.tell_unpriced();
        if let Some(lost) = self.writer.finish() {
            (self.say)(&format!(
                "warning: {} model messages with {} tokens are missing in the usage ledger: {}",
                lost.messages, lost.tokens, lost.reason
            ));
            if let Some(remedy) = lost.remedy {
                (self.say)(&format!("hint: {remedy}"));
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
            (self.say)(&match why {
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
                    (self.say)(&format!("warning: costs are not known: {why}"));
                })
                .ok()
        };
        self.prices.get_or_init(read).as_ref()
    }
}

#[cfg(test)]
mod tests;
