//! The usage of a run so far.

use std::sync::{Mutex, PoisonError};

use ktx_llm_runtime::UsageFact;

use crate::price::unpriced_reason;
use crate::{Amount, Cost};

/// The usage of a run so far. The receiver of the usage facts feeds it before any step that can
/// fail.
#[derive(Debug, Default)]
pub struct Meter {
    spent: Mutex<Spent>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    pub(crate) amount: Amount,
    pub(crate) priced_tokens: u64,
    /// Why the cost of an item is unknown, for display.
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

    /// Marks that facts can no longer be stored: a run under a budget must not continue.
    pub fn give_up(&self, reason: &str) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.unrecorded.get_or_insert_with(|| reason.to_owned());
    }

    pub(crate) fn spent(&self) -> Spent {
        self.spent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
