//! The usage of a run so far.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::UsageFact;
use tokio::sync::Notify;

use crate::price::unpriced_reason;
use crate::{Amount, Cost};

/// The receiver of the usage facts feeds it before any step that can fail. Budgets over one meter share what their
/// running turns have reserved: an agent and those that it asks cannot exceed a limit together.
#[derive(Debug, Default)]
pub struct Meter {
    spent: Mutex<MeterSums>,
    held: Mutex<Held>,
    ended: Notify,
}

/// What the running turns of all budgets over a meter have reserved.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) all: Amount,
    /// The part of those that last until the tools of a loop have ended.
    pub(crate) by_loops: Amount,
    /// The longest answer of any budget so far.
    pub(crate) output: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MeterSums {
    pub(crate) amount: Amount,
    pub(crate) priced_tokens: u64,
    /// Why the cost of a call is unknown, for display.
    pub(crate) unpriced: Option<String>,
    /// Why the sums are no longer stored in the ledger.
    pub(crate) unrecorded: Option<String>,
}

impl Meter {
    /// Adds one fact. Without a known price only its tokens count, and no cost limit can be
    /// enforced any more.
    pub fn add(&self, fact: &UsageFact, cost: Option<Cost>) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let tokens = fact.usage.total();
        spent.amount.tokens = spent.amount.tokens.saturating_add(tokens);
        match cost {
            Some(cost) => {
                spent.amount.cost += cost.amount;
                spent.priced_tokens = spent.priced_tokens.saturating_add(tokens);
            }
            None => {
                spent
                    .unpriced
                    .get_or_insert_with(|| unpriced_reason(fact.kind.as_str(), &fact.model));
            }
        }
    }

    /// Facts can no longer be stored: a run under a budget must not continue.
    pub fn give_up(&self, reason: &str) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.unrecorded.get_or_insert_with(|| reason.to_owned());
    }

    /// Returns the sums so far; the cost is of the facts with a known price.
    pub fn amount(&self) -> Amount {
        self.spent().amount
    }

    /// Locked before the sums: a turn that ends in between is counted twice rather than never.
    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells when a reservation is given back.
    pub(crate) const fn ended(&self) -> &Notify {
        &self.ended
    }

    pub(crate) fn spent(&self) -> MeterSums {
        self.spent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
