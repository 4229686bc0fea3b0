//! The usage of a run so far.

use std::sync::{Mutex, PoisonError};

use ktx_llm_runtime::{UsageFact, UsageKind};

use crate::{Cost, Money};

/// The usage of a run so far. The receiver of the usage facts feeds it before any step that can
/// fail.
#[derive(Debug, Default)]
pub struct Meter {
    spent: Mutex<Spent>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost: Money,
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
        spent.tokens = spent.tokens.saturating_add(tokens);
        match cost {
            Some(cost) => {
                spent.cost += cost.amount;
                spent.priced_tokens = spent.priced_tokens.saturating_add(tokens);
            }
            None => {
                spent.unpriced.get_or_insert_with(|| match fact.kind {
                    UsageKind::Estimated => format!(
                        "the provider does not tell what the model `{}` has used",
                        fact.model
                    ),
                    UsageKind::Message | UsageKind::Unattributed | UsageKind::Incomplete => {
                        format!("the model `{}` has no list price", fact.model)
                    }
                });
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
