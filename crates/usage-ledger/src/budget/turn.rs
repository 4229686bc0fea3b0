//! What a turn holds until it ends.

use ktx_llm_runtime::{LlmError, TokenUsage, TurnPermit};

use super::{Budget, BudgetState, ReservationSpan};
use crate::day_budget::{CallSize, DayReservation};
use crate::meter::HeldAmounts;

pub(super) struct TurnReservation {
    pub(super) of_day: Option<DayReservation>,
    pub(super) budget: Budget,
    pub(super) size: CallSize,
    pub(super) span: ReservationSpan,
    pub(super) open_ended: u32,
    pub(super) visible_input: u64,
}

impl TurnReservation {
    /// Also reserves under the project's limits.
    pub(super) async fn of_day(mut self) -> Result<Box<dyn TurnPermit>, LlmError> {
        if let Some(day) = &self.budget.inner.day {
            let may_be_asked_by_a_loop = || self.budget.inner.is_beside_loops();
            self.of_day = Some(day.admit(self.size, may_be_asked_by_a_loop).await?);
        }
        Ok(Box::new(self))
    }

    fn give_back(&self, held: &mut HeldAmounts) {
        held.all = held.all.minus(self.size.expected);
        if self.span == ReservationSpan::Loop {
            held.by_loops = held.by_loops.minus(self.size.expected);
        }
    }
}

impl TurnPermit for TurnReservation {
    fn settle(self: Box<Self>, usage: TokenUsage) {
        let mut plan = self.budget.inner.plan();
        let hidden = usage.input_total().saturating_sub(self.visible_input);
        plan.hidden_input = plan.hidden_input.max(hidden);
        if self.open_ended > 0 {
            plan.output = Some(plan.output.unwrap_or_default().max(usage.output));
            let mut held = self.budget.inner.meter.held();
            held.output = held.output.max(plan.output);
        }
    }
}

impl Drop for TurnReservation {
    fn drop(&mut self) {
        // Before the notification, so that the next turn finds the room.
        drop(self.of_day.take());
        let BudgetState { meter, shares, .. } = &*self.budget.inner;
        let mut plan = self.budget.inner.plan();
        let mut held = meter.held();
        self.give_back(&mut held);
        for share in shares {
            self.give_back(&mut share.meter().held());
        }
        if self.span == ReservationSpan::Loop {
            plan.by_loops = plan.by_loops.minus(self.size.expected);
        }
        plan.open_ended = plan.open_ended.saturating_sub(self.open_ended);
        drop(held);
        drop(plan);
        meter.ended().notify_waiters();
    }
}
