//! What a run has used so far.

use std::sync::{Mutex, PoisonError};

use ktx_llm_runtime::{UsageFact, UsageKind};

use crate::{Cost, Money};

/// What a run has used so far. Fed by whoever receives the usage facts, before anything that can fail.
#[derive(Debug, Default)]
pub struct Meter {
    spent: Mutex<Spent>,
}

/// The sums of a meter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost: Money,
    pub(crate) priced_tokens: u64,
    /// Why the cost of something is not known, in words.
    pub(crate) unpriced: Option<String>,
    /// Why the sums are no longer kept anywhere but here.
    pub(crate) unrecorded: Option<String>,
}

impl Meter {
    /// Adds one fact. Without a known price only its tokens are known, and no limit of money holds
    /// any more.
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

    /// Facts can no longer be kept: a run under a budget must not go on.
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
