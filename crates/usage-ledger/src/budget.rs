//! Budgets: no turn begins that would exceed one.
//!
//! Every turn reserves its expected usage until its real usage is in the meter, so concurrent turns
//! cannot exceed a limit together, those of other budgets over the meter included. Under the budget of a project it also reserves the most that it
//! may use in the ledger, which other processes read. A refused turn is an error of kind `Budget`.
//! Finished work is kept; the same command resumes where it stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_llm_runtime::{LlmError, PlannedTurn, TokenUsage, TurnGate, TurnPermit, estimated_tokens};
use ktx_vocabulary::ModelRole;

use crate::ceiling::{CeilingLoad, Fit};
use crate::day_budget::{self, CallSize};
use crate::meter::{Held, MeterSums};
use crate::refusal::{of_run, refusal, time_used, unpriced_day, unpriced_run, unrecorded, used_up};
use crate::{Amount, Ceiling, DayBudget, Meter, Money};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Money at list prices.
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

/// Expected output tokens of a first turn.
const FIRST_OUTPUT: u64 = 500;

/// Longest output of a turn if the backend does not report it: what `claude` requests.
const LONGEST_OUTPUT: u64 = 32_000;

/// Input tokens that a backend adds to a first turn, such as its own instructions, unless the turn
/// is made over HTTP.
const FIRST_HIDDEN_INPUT: u64 = 20_000;

/// The budget of one run, or of one of its agents. Clones share the reservations.
#[derive(Clone)]
pub struct Budget {
    inner: Arc<BudgetState>,
}

struct BudgetState {
    limits: Limits,
    /// Limits shared with other processes.
    day: Option<DayBudget>,
    meter: Arc<Meter>,
    price: ListPrice,
    began: Instant,
    plan: Mutex<Plan>,
}

/// The running turns of a budget, and estimates learned from earlier ones.
#[derive(Debug, Default)]
struct Plan {
    /// What its loops have reserved.
    by_loops: Amount,
    open_ended: u32,
    /// Highest excess of input tokens over the estimate from the request text.
    hidden_input: u64,
    output: Option<u64>,
}

/// How long a reservation lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// Until the model has answered.
    Turn,
    /// Until the tools that the model calls have ended, too. One of them may be another agent: it must not wait for
    /// this reservation.
    Loop,
}

/// Why a call is refused that must not wait.
const RESERVED: &str = "other calls have reserved the rest";

enum TurnAdmission {
    Now(TurnReservation),
    /// The turn may be made if running turns use less than they reserved.
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
    /// Its time begins now. Turns are estimated at the price of their role's model.
    pub fn new(
        limits: Limits,
        meter: Arc<Meter>,
        price: impl Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync + 'static,
    ) -> Self {
        Self::shared(limits, None, meter, price)
    }

    /// Like [`Self::new`], with the limits that all processes of a project share, if any.
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
                price: Arc::new(price),
                began: Instant::now(),
                plan: Mutex::default(),
            }),
        }
    }

    /// The same limits for turns of which a running loop of this budget may wait: what it has reserved is never waited
    /// for.
    pub(crate) fn beside(&self) -> Self {
        let BudgetState {
            limits,
            day,
            meter,
            price,
            began,
            plan: _,
        } = &*self.inner;
        Self {
            inner: Arc::new(BudgetState {
                limits: *limits,
                day: day.clone(),
                meter: Arc::clone(meter),
                price: Arc::clone(price),
                began: *began,
                plan: Mutex::default(),
            }),
        }
    }

    pub(crate) fn check(&self) -> Result<(), LlmError> {
        let plan = self.inner.plan();
        let held = self.inner.meter.held();
        let spent = self.inner.sound()?;
        let next = plan.like_before(0, &spent, &held);
        let reserved = held.all;
        drop(held);
        drop(plan);
        let ceiling = self.inner.limits.ceiling();
        let mut sum = spent.amount;
        sum += reserved;
        if let Some(unit) = ceiling.exceeded(sum) {
            return Err(used_up(unit, &ceiling, spent.amount));
        }
        self.inner
            .day
            .as_ref()
            .map_or(Ok(()), |day| day.check(next))
    }

    /// Like [`TurnGate::admit`], but does not wait for turns of the same run: their reservations
    /// count as used.
    pub(crate) fn admit_now(&self, turn: PlannedTurn) -> Result<TurnReservation, LlmError> {
        match self.verdict(turn, Span::Loop) {
            TurnAdmission::Now(reserved) => Ok(reserved),
            TurnAdmission::Never(error) => Err(error),
            TurnAdmission::Later => Err(refusal(RESERVED)),
        }
    }

    /// Like [`TurnGate::admit`], for as long as `span` says.
    pub(crate) async fn admit_for(
        &self,
        turn: PlannedTurn,
        span: Span,
    ) -> Result<Box<dyn TurnPermit>, LlmError> {
        loop {
            let mut ended = std::pin::pin!(self.inner.meter.ended().notified());
            // Registers before the plan is checked, so that no end is missed.
            ended.as_mut().enable();
            match self.verdict(turn, span) {
                TurnAdmission::Now(reserved) => return reserved.of_day().await,
                TurnAdmission::Never(error) => return Err(error),
                TurnAdmission::Later => ended.await,
            }
        }
    }

    /// Returns the end of the time, and the error of a call that it ends.
    pub(crate) fn end(&self) -> Option<(Instant, LlmError)> {
        let limit = self.inner.limits.time?;
        let end = self.inner.began.checked_add(limit)?;
        let message = format!("the model call was ended: {}", time_used(limit));
        Some((end, of_run(message)))
    }

    fn verdict(&self, turn: PlannedTurn, span: Span) -> TurnAdmission {
        let mut plan = self.inner.plan();
        let mut held = self.inner.meter.held();
        match self.inner.weigh(&plan, &held, turn) {
            Err(error) => TurnAdmission::Never(error),
            Ok(None) => TurnAdmission::Later,
            Ok(Some(size)) => {
                let open_ended = u32::from(turn.max_output.is_none());
                held.all += size.expected;
                if span == Span::Loop {
                    held.by_loops += size.expected;
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

    fn sound(&self) -> Result<MeterSums, LlmError> {
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

    /// A turn's reservation; `None` if it has to wait until running turns end.
    fn weigh(
        &self,
        plan: &Plan,
        held: &Held,
        turn: PlannedTurn,
    ) -> Result<Option<CallSize>, LlmError> {
        let spent = self.sound()?;
        let size = self.size(plan, held, turn, &spent)?;
        let ceiling = self.limits.ceiling();
        let load = CeilingLoad {
            spent: spent.amount,
            ours: held.all,
            theirs: Amount::default(),
        };
        // While the length of answers is unknown, one turn at a time measures it.
        let measures = ceiling.is_set()
            && turn.max_output.is_none()
            && plan.output.is_none()
            && plan.open_ended > 0;
        // Loops of other budgets may be those that have asked for this turn.
        let of_others = CeilingLoad {
            ours: held.by_loops.beyond(plan.by_loops),
            ..load
        };
        match ceiling.fit(&load, size.expected) {
            Fit::Never(unit) | Fit::AfterTheirs(unit) => Err(used_up(unit, &ceiling, spent.amount)),
            Fit::AfterOurs if ceiling.fit(&of_others, size.expected) == Fit::AfterOurs => {
                Err(refusal(RESERVED))
            }
            Fit::AfterOurs => Ok(None),
            Fit::Now => Ok((!measures).then_some(size)),
        }
    }

    fn size(
        &self,
        plan: &Plan,
        held: &Held,
        turn: PlannedTurn,
        spent: &MeterSums,
    ) -> Result<CallSize, LlmError> {
        let expected = plan.expected(turn.bytes, turn.max_output, held);
        let bound = plan.bound(&turn);
        let mut size = CallSize {
            expected: Amount {
                tokens: expected.total(),
                cost: Money::default(),
            },
            bound: Amount {
                tokens: bound.total(),
                cost: Money::default(),
            },
        };
        let day = self.day.as_ref().and_then(DayBudget::money);
        if self.limits.cost.is_none() && day.is_none() {
            return Ok(size);
        }
        let price = |usage: &TokenUsage| {
            (self.price)(turn.role, usage).ok_or_else(|| {
                let reason = format!("the model of the role `{}` has no list price", turn.role);
                match self.limits.cost {
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

impl Plan {
    /// A high estimate: input counts at the most expensive rate.
    fn expected(&self, bytes: usize, max_output: Option<u64>, held: &Held) -> TokenUsage {
        let first = || held.output.unwrap_or_default().max(FIRST_OUTPUT);
        let open = self.output.unwrap_or_else(first);
        TokenUsage {
            cache_write_1h: estimated_tokens(bytes).saturating_add(self.hidden_input),
            // The request's own limit counts, however short the answers were so far.
            output: max_output.unwrap_or(open),
            ..TokenUsage::default()
        }
    }

    fn like_before(&self, bytes: usize, spent: &MeterSums, held: &Held) -> Amount {
        let tokens = self.expected(bytes, None, held).total();
        Amount {
            tokens,
            cost: spent.mean(tokens),
        }
    }

    fn bound(&self, turn: &PlannedTurn) -> TokenUsage {
        let hidden = match turn.output_bound {
            Some(_) => self.hidden_input,
            None => self.hidden_input.max(FIRST_HIDDEN_INPUT),
        };
        let longest = turn.output_bound.unwrap_or(LONGEST_OUTPUT);
        TokenUsage {
            cache_write_1h: estimated_tokens(turn.bytes).saturating_add(hidden),
            output: turn.max_output.unwrap_or(longest),
            ..TokenUsage::default()
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

pub(crate) struct TurnReservation {
    of_day: Option<day_budget::DayReservation>,
    budget: Budget,
    size: CallSize,
    span: Span,
    open_ended: u32,
    visible_input: u64,
}

impl TurnReservation {
    /// Reserves the turn under the limits shared with other processes as well.
    pub(crate) async fn of_day(mut self) -> Result<Box<dyn TurnPermit>, LlmError> {
        if let Some(day) = &self.budget.inner.day {
            self.of_day = Some(day.admit(self.size).await?);
        }
        Ok(Box::new(self))
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
        // Before the notification, so that the next turn finds the room in the ledger, too.
        drop(self.of_day.take());
        let BudgetState { meter, .. } = &*self.budget.inner;
        let mut plan = self.budget.inner.plan();
        let mut held = meter.held();
        held.all = held.all.beyond(self.size.expected);
        if self.span == Span::Loop {
            held.by_loops = held.by_loops.beyond(self.size.expected);
            plan.by_loops = plan.by_loops.beyond(self.size.expected);
        }
        plan.open_ended = plan.open_ended.saturating_sub(self.open_ended);
        drop(held);
        drop(plan);
        meter.ended().notify_waiters();
    }
}

#[async_trait]
impl TurnGate for Budget {
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        self.admit_for(turn, Span::Turn).await
    }

    /// Ignores the reservations of others: they may use less, and this turn is among them.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let plan = self.inner.plan();
        let held = self.inner.meter.held();
        let spent = self.inner.sound()?;
        let next = plan.like_before(bytes, &spent, &held);
        drop(held);
        drop(plan);
        let ceiling = self.inner.limits.ceiling();
        let load = CeilingLoad {
            spent: spent.amount,
            ..CeilingLoad::default()
        };
        match ceiling.fit(&load, next) {
            Fit::Never(unit) | Fit::AfterTheirs(unit) => {
                return Err(used_up(unit, &ceiling, spent.amount));
            }
            Fit::Now | Fit::AfterOurs => {}
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
