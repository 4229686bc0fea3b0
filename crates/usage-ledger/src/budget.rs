//! Budgets of runs. Every turn reserves its expected usage until the meter has its real usage.
//!
//! A project's budget also reserves the maximum usage in the ledger. A refused turn is an error of
//! kind `Budget`; the same command resumes there.

mod plan;
mod share;
mod turn;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_llm_runtime::{LlmError, PlannedTurn, TokenUsage, TurnGate, TurnPermit, estimated_tokens};
use ktx_vocabulary::ModelRole;

use crate::ceiling::{BudgetFit, BudgetUnit, CeilingLoad};
use crate::day_budget::CallSize;
use crate::meter::{HeldAmounts, MeterSums};
use crate::refusal::{of_run, refusal, time_used, unpriced_day, unpriced_run, unrecorded, used_up};
use crate::{Ceiling, DayBudget, Meter, Money, UsageAmount};
use plan::Plan;
use turn::TurnReservation;

pub use share::AgentShare;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// At list prices.
    pub cost: Option<Money>,
    pub tokens: Option<u64>,
    pub time: Option<Duration>,
}

impl Limits {
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    const fn ceiling(&self) -> Ceiling {
        Ceiling {
            cost: self.cost,
            tokens: self.tokens,
        }
    }
}

type ListPrice = Arc<dyn Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync>;

/// Clones share the reservations.
#[derive(Clone)]
pub struct Budget {
    inner: Arc<BudgetState>,
}

struct BudgetState {
    limits: Limits,
    day: Option<DayBudget>,
    meter: Arc<Meter>,
    /// Limits of the agents that the turns are for.
    shares: Vec<AgentShare>,
    price: ListPrice,
    began: Instant,
    plan: Mutex<Plan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReservationSpan {
    Turn,
    /// Includes the model's tools. One of them can be another agent, which must not wait for this
    /// reservation.
    Loop,
}

const RESERVED: &str = "other calls have reserved the rest";

enum TurnAdmission {
    Now(TurnReservation),
    /// Possible if running turns use less than they reserved.
    Later,
    Never(LlmError),
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget")
            .field("limits", &self.inner.limits)
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// The time limit begins now. Turns are estimated at the price of their role's model.
    pub fn new(
        limits: Limits,
        meter: Arc<Meter>,
        price: impl Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync + 'static,
    ) -> Self {
        Self::shared(limits, None, meter, price)
    }

    /// Like [`Self::new`], with limits that all processes of a project share.
    pub fn shared(
        limits: Limits,
        day: Option<DayBudget>,
        meter: Arc<Meter>,
        price: impl Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: Arc::new(BudgetState {
                limits,
                day,
                meter,
                shares: Vec::new(),
                price: Arc::new(price),
                began: Instant::now(),
                plan: Mutex::default(),
            }),
        }
    }

    /// Adds the limits of an agent and of the agents that asked for it.
    #[must_use]
    pub fn for_agent(&self, shares: Vec<AgentShare>) -> Self {
        self.over(shares)
    }

    /// Returns a budget for turns that a running loop of this budget waits for; they never wait for
    /// what the loop has reserved.
    pub(crate) fn beside(&self) -> Self {
        self.over(self.inner.shares.clone())
    }

    fn over(&self, shares: Vec<AgentShare>) -> Self {
        let BudgetState {
            limits,
            day,
            meter,
            price,
            began,
            shares: _,
            plan: _,
        } = &*self.inner;
        Self {
            inner: Arc::new(BudgetState {
                limits: *limits,
                day: day.clone(),
                meter: Arc::clone(meter),
                shares,
                price: Arc::clone(price),
                began: *began,
                plan: Mutex::default(),
            }),
        }
    }

    pub(crate) fn check(&self) -> Result<(), LlmError> {
        let plan = self.inner.plan();
        let held = self.inner.meter.held();
        let spent = self.inner.checked_sums()?;
        let next = plan.expected_usage(0, &spent, &held);
        let reserved = held.all;
        drop(held);
        drop(plan);
        let ceiling = self.inner.limits.ceiling();
        let mut sum = spent.amount;
        sum += reserved;
        if let Some(unit) = ceiling.exceeded(sum) {
            return Err(used_up(unit, &ceiling, spent.amount));
        }
        for share in &self.inner.shares {
            share.check()?;
        }
        self.inner
            .day
            .as_ref()
            .map_or(Ok(()), |day| day.check(next))
    }

    pub(crate) async fn admit_for(
        &self,
        turn: PlannedTurn,
        span: ReservationSpan,
    ) -> Result<Box<dyn TurnPermit>, LlmError> {
        loop {
            let mut ended = std::pin::pin!(self.inner.meter.ended().notified());
            // Registers before the check, so that no end is missed.
            ended.as_mut().enable();
            match self.verdict(turn, span) {
                TurnAdmission::Now(reserved) => return reserved.of_day().await,
                TurnAdmission::Never(error) => return Err(error),
                TurnAdmission::Later => ended.await,
            }
        }
    }

    pub(crate) fn end(&self) -> Option<(Instant, LlmError)> {
        let limit = self.inner.limits.time?;
        let end = self.inner.began.checked_add(limit)?;
        let message = format!("the model call was ended: {}", time_used(limit));
        Some((end, of_run(message)))
    }

    fn verdict(&self, turn: PlannedTurn, span: ReservationSpan) -> TurnAdmission {
        let mut plan = self.inner.plan();
        let mut held = self.inner.meter.held();
        match self.inner.weigh(&plan, &held, turn) {
            Err(error) => TurnAdmission::Never(error),
            Ok(None) => TurnAdmission::Later,
            Ok(Some(size)) => {
                let open_ended = u32::from(turn.max_output.is_none());
                let reserve = |held: &mut HeldAmounts| {
                    held.all += size.expected;
                    if span == ReservationSpan::Loop {
                        held.by_loops += size.expected;
                    }
                };
                reserve(&mut held);
                for share in &self.inner.shares {
                    reserve(&mut share.meter().held());
                }
                if span == ReservationSpan::Loop {
                    plan.by_loops += size.expected;
                }
                plan.open_ended += open_ended;
                TurnAdmission::Now(TurnReservation {
                    budget: self.clone(),
                    size,
                    span,
                    open_ended,
                    visible_input: estimated_tokens(turn.bytes),
                    of_day: None,
                })
            }
        }
    }
}

impl BudgetState {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_beside_loops(&self) -> bool {
        let own = self.plan().by_loops;
        self.meter.held().by_loops.minus(own) != UsageAmount::default()
    }

    fn checked_sums(&self) -> Result<MeterSums, LlmError> {
        let spent = self.meter.spent();
        if let Some(limit) = self.limits.time
            && self.began.elapsed() >= limit
        {
            return Err(refusal(&time_used(limit)));
        }
        if let (Some(limit), Some(reason)) = (self.limits.cost, &spent.unpriced) {
            return Err(unpriced_run(reason, limit));
        }
        match &spent.unrecorded {
            Some(reason) => Err(unrecorded(reason)),
            None => Ok(spent),
        }
    }

    fn weigh(
        &self,
        plan: &Plan,
        held: &HeldAmounts,
        turn: PlannedTurn,
    ) -> Result<Option<CallSize>, LlmError> {
        let spent = self.checked_sums()?;
        let size = self.size(plan, held, turn, &spent)?;
        // One turn at a time measures an unknown length of answers.
        let measures = self.has_ceiling()
            && turn.max_output.is_none()
            && plan.output.is_none()
            && plan.open_ended > 0;
        let load = MeterLoad {
            spent: spent.amount,
            held: held.all,
            by_others: held.by_loops.minus(plan.by_loops),
        };
        let ceiling = self.limits.ceiling();
        let mut has_room = load.has_room(&ceiling, size.expected, used_up)?;
        for share in &self.shares {
            has_room &= share.has_room(plan, size.expected)?;
        }
        Ok((has_room && !measures).then_some(size))
    }

    fn has_ceiling(&self) -> bool {
        let mut shares = self.shares.iter();
        self.limits.ceiling().is_set() || shares.any(|share| share.ceiling().is_set())
    }

    fn cost_limit(&self) -> Option<Money> {
        let shares = self.shares.iter().filter_map(|share| share.ceiling().cost);
        self.limits.cost.into_iter().chain(shares).min()
    }

    fn size(
        &self,
        plan: &Plan,
        held: &HeldAmounts,
        turn: PlannedTurn,
        spent: &MeterSums,
    ) -> Result<CallSize, LlmError> {
        let expected = plan.expected(turn.bytes, turn.max_output, held);
        let bound = plan.bound(&turn);
        let mut size = CallSize {
            expected: UsageAmount {
                tokens: expected.total(),
                cost: Money::default(),
            },
            bound: UsageAmount {
                tokens: bound.total(),
                cost: Money::default(),
            },
        };
        let day = self.day.as_ref().and_then(DayBudget::money);
        let of_run = self.cost_limit();
        if of_run.is_none() && day.is_none() {
            return Ok(size);
        }
        let price = |usage: &TokenUsage| {
            (self.price)(turn.role, usage).ok_or_else(|| {
                let reason = format!("the model of the role `{}` has no list price", turn.role);
                match of_run {
                    Some(limit) => unpriced_run(&reason, limit),
                    None => unpriced_day(&reason, day.unwrap_or_default()),
                }
            })
        };
        size.expected.cost = price(&expected)?.max(spent.mean(size.expected.tokens));
        size.bound.cost = price(&bound)?.max(size.expected.cost);
        Ok(size)
    }
}

struct MeterLoad {
    spent: UsageAmount,
    held: UsageAmount,
    /// Loops of other budgets may have asked for this turn.
    by_others: UsageAmount,
}

impl MeterLoad {
    /// Returns false if the turn must wait, an error if it must not wait.
    fn has_room(
        &self,
        ceiling: &Ceiling,
        next: UsageAmount,
        used_up: impl Fn(BudgetUnit, &Ceiling, UsageAmount) -> LlmError,
    ) -> Result<bool, LlmError> {
        let load = |ours| CeilingLoad {
            spent: self.spent,
            ours,
            theirs: UsageAmount::default(),
        };
        match ceiling.fit(&load(self.held), next) {
            BudgetFit::Now => Ok(true),
            BudgetFit::Never(unit) | BudgetFit::AfterTheirs(unit) => {
                Err(used_up(unit, ceiling, self.spent))
            }
            BudgetFit::AfterOurs
                if ceiling.fit(&load(self.by_others), next) == BudgetFit::AfterOurs =>
            {
                Err(refusal(RESERVED))
            }
            BudgetFit::AfterOurs => Ok(false),
        }
    }
}

impl MeterSums {
    fn mean(&self, tokens: u64) -> Money {
        let per_token = self
            .amount
            .cost
            .picodollars()
            .checked_div(i128::from(self.priced_tokens));
        Money::from_picodollars(per_token.unwrap_or_default() * i128::from(tokens))
    }
}

#[async_trait]
impl TurnGate for Budget {
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        self.admit_for(turn, ReservationSpan::Turn).await
    }

    /// Ignores the reservations of others, which they may not use up.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let plan = self.inner.plan();
        let held = self.inner.meter.held();
        let spent = self.inner.checked_sums()?;
        let next = plan.expected_usage(bytes, &spent, &held);
        drop(held);
        drop(plan);
        let ceiling = self.inner.limits.ceiling();
        let load = CeilingLoad {
            spent: spent.amount,
            ..CeilingLoad::default()
        };
        match ceiling.fit(&load, next) {
            BudgetFit::Never(unit) | BudgetFit::AfterTheirs(unit) => {
                return Err(used_up(unit, &ceiling, spent.amount));
            }
            BudgetFit::Now | BudgetFit::AfterOurs => {}
        }
        for share in &self.inner.shares {
            share.begin(next)?;
        }
        self.inner
            .day
            .as_ref()
            .map_or(Ok(()), |day| day.check(next))
    }

    fn look(&self) -> Result<(), LlmError> {
        self.check()
    }
}
