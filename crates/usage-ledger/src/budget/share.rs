//! The limits of one agent within a run.

use std::sync::Arc;

use ktx_llm_runtime::LlmError;

use super::MeterLoad;
use super::plan::Plan;
use crate::ceiling::{BudgetFit, BudgetUnit, CeilingLoad};
use crate::refusal::{of_agent, unpriced_agent};
use crate::{Ceiling, Meter, UsageAmount};

/// The limit of one agent and the agents that it asks.
#[derive(Debug, Clone)]
pub struct AgentShare {
    agent: String,
    ceiling: Ceiling,
    meter: Arc<Meter>,
}

impl AgentShare {
    /// The caller feeds the meter.
    pub fn new(agent: &str, ceiling: Ceiling) -> Self {
        Self {
            agent: agent.to_owned(),
            ceiling,
            meter: Arc::default(),
        }
    }

    pub const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    pub const fn ceiling(&self) -> &Ceiling {
        &self.ceiling
    }

    pub(super) fn has_room(&self, plan: &Plan, next: UsageAmount) -> Result<bool, LlmError> {
        let held = self.meter.held();
        let load = MeterLoad {
            spent: self.spent()?,
            held: held.all,
            by_others: held.by_loops.minus(plan.by_loops),
        };
        load.has_room(&self.ceiling, next, |unit, _, spent| {
            self.used_up(unit, spent)
        })
    }

    pub(super) fn check(&self) -> Result<(), LlmError> {
        let held = self.meter.held().all;
        let spent = self.spent()?;
        let mut sum = spent;
        sum += held;
        match self.ceiling.exceeded(sum) {
            Some(unit) => Err(self.used_up(unit, spent)),
            None => Ok(()),
        }
    }

    /// Checks the room for an admitted turn.
    pub(super) fn begin(&self, next: UsageAmount) -> Result<(), LlmError> {
        let spent = self.spent()?;
        let load = CeilingLoad {
            spent,
            ..CeilingLoad::default()
        };
        match self.ceiling.fit(&load, next) {
            BudgetFit::Never(unit) | BudgetFit::AfterTheirs(unit) => Err(self.used_up(unit, spent)),
            BudgetFit::Now | BudgetFit::AfterOurs => Ok(()),
        }
    }

    fn spent(&self) -> Result<UsageAmount, LlmError> {
        let spent = self.meter.spent();
        match (self.ceiling.cost, &spent.unpriced) {
            (Some(limit), Some(reason)) => Err(unpriced_agent(&self.agent, reason, limit)),
            _ => Ok(spent.amount),
        }
    }

    fn used_up(&self, unit: BudgetUnit, spent: UsageAmount) -> LlmError {
        of_agent(&self.agent, unit, &self.ceiling, spent)
    }
}
