//! The usage of a run so far.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ktx_llm_runtime::UsageFact;
use tokio::sync::Notify;

use crate::price::unpriced_reason;
use crate::{Cost, UsageAmount};

/// The usage of a run. Budgets over one meter share reservations, so an agent and the agents that
/// it asks cannot exceed a limit together.
#[derive(Debug, Default)]
pub struct Meter {
    spent: Mutex<MeterSums>,
    held: Mutex<HeldAmounts>,
    ended: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct HeldAmounts {
    pub(crate) all: UsageAmount,
    /// Until the tools of a loop have ended.
    pub(crate) by_loops: UsageAmount,
    pub(crate) output: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MeterSums {
    pub(crate) amount: UsageAmount,
    pub(crate) priced_tokens: u64,
    pub(crate) unpriced: Option<String>,
    pub(crate) unrecorded: Option<String>,
}

impl Meter {
    /// Without a known price only tokens count; cost limits no longer hold.
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

    pub fn give_up(&self, reason: &str) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.unrecorded.get_or_insert_with(|| reason.to_owned());
    }

    pub fn amount(&self) -> UsageAmount {
        self.spent().amount
    }

    /// Lock before the sums: a turn counts twice rather than never.
    pub(crate) fn held(&self) -> MutexGuard<'_, HeldAmounts> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
