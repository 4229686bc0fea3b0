//! What becomes of a usage fact: dated, priced, metered and written down.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ktx_llm_runtime::{CallLabel, UsageFact};
use ktx_usage_ledger::{Meter, PriceTable, price_of};

use super::Say;
use super::book::{Book, Entry, Standing};
use crate::compose::prices::PriceSource;

/// The clock by which facts are dated and priced.
type Clock = Box<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// The facts of one run.
pub(super) struct Facts {
    say: Say,
    clock: Clock,
    source: PriceSource,
    prices: OnceLock<Option<PriceTable>>,
    meter: Arc<Meter>,
    book: Mutex<Book>,
    troubled: AtomicBool,
    /// The models that people were told have no price.
    unpriced: Mutex<BTreeSet<String>>,
}

impl Facts {
    pub(super) fn new(say: Say, clock: Clock, ledger: &Path, source: PriceSource) -> Self {
        Self {
            say,
            clock,
            source,
            prices: OnceLock::new(),
            meter: Arc::default(),
            book: Mutex::new(Book::new(ledger)),
            troubled: AtomicBool::new(false),
            unpriced: Mutex::default(),
        }
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    /// Takes a fact. The meter comes first: a budget holds whatever becomes of the ledger.
    pub(super) fn record(&self, fact: UsageFact) {
        let at = (self.clock)();
        let prices = self.prices();
        let cost = prices.and_then(|prices| price_of(&fact, &at.to_string(), prices));
        self.meter.add(&fact, cost);
        if prices.is_some() && cost.is_none() {
            self.note_unpriced(&fact);
        }
        let standing = self.book().take(Entry { fact, at, cost });
        match standing {
            Standing::Written => {}
            Standing::Waiting(reason) => {
                if !self.troubled.swap(true, Ordering::Relaxed) {
                    (self.say)(&format!(
                        "warning: {reason}; usage is kept and written later"
                    ));
                }
            }
            Standing::Losing(reason) => self.meter.give_up(&reason),
        }
    }

    /// Writes what still waits, and tells what is lost.
    pub(super) fn finish(&self) {
        self.tell_unpriced();
        let lost = self.book().close();
        if let Some(lost) = lost {
            (self.say)(&format!(
                "warning: {} model messages with {} tokens are missing in the usage ledger: {}",
                lost.messages, lost.tokens, lost.reason
            ));
        }
    }

    /// A probe is told about by the command that made it.
    fn note_unpriced(&self, fact: &UsageFact) {
        if fact.stage != CallLabel::PROBE {
            self.unpriced_models().insert(fact.model.clone());
        }
    }

    /// Once for each model (COG-16).
    fn tell_unpriced(&self) {
        for model in std::mem::take(&mut *self.unpriced_models()) {
            (self.say)(&format!(
                "warning: the model `{model}` has no list price; what it costs is unknown"
            ));
        }
    }

    fn unpriced_models(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unpriced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table of the run; without one nothing has a price.
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
