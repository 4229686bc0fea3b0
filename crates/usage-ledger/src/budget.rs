//! Budgets: no turn begins that would exceed one.
//!
//! Every turn reserves its expected usage until the real usage is in the meter, so that concurrent
//! turns cannot exceed a limit together. Under the budget of a project it also reserves the most
//! that it may use in the ledger, which other processes read. A refused turn is an error of kind
//! `Budget`. Finished work is kept, so the same command resumes where it stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_llm_runtime::{LlmError, PlannedTurn, TokenUsage, TurnGate, TurnPermit, estimated_tokens};
use ktx_vocabulary::ModelRole;
use tokio::sync::Notify;

use crate::ceiling::{Fit, Load};
use crate::day_budget::{self, Size};
use crate::meter::Spent;
use crate::refusal::{of_run, refusal, time_used, unpriced_day, unpriced_run, unrecorded, used_up};
use crate::{Amount, Ceiling, DayBudget, Meter, Money};

/// The limits of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Money at list prices.
    pub cost: Option<Money>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
    /// Time since the creation of the budget.
    pub time: Option<Duration>,
}

impl Limits {
    /// Returns whether any limit is set.
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

/// Returns the list price of usage by the model of a role; `None` if unknown.
type ListPrice = Box<dyn Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync>;

/// Expected output tokens of a first turn.
const FIRST_OUTPUT: u64 = 500;

/// The longest output of a turn where the backend does not tell: what `claude` asks for.
const LONGEST_OUTPUT: u64 = 32_000;

/// Input tokens that a backend adds to a first turn, such as its own instructions, where the turn
/// is not made over HTTP.
const FIRST_HIDDEN_INPUT: u64 = 20_000;

/// The budget of one run. Cheap to clone; clones share the reservations.
#[derive(Clone)]
pub struct Budget {
    inner: Arc<Inner>,
}

struct Inner {
    limits: Limits,
    /// The limits that other processes share.
    day: Option<DayBudget>,
    meter: Arc<Meter>,
    price: ListPrice,
    began: Instant,
    plan: Mutex<Plan>,
    ended: Notify,
}

/// The reservations of running turns, and estimates learned from earlier ones.
#[derive(Debug, Default)]
struct Plan {
    reserved: Amount,
    /// Running turns without an output limit.
    open_ended: u32,
    /// The highest excess of input tokens over the estimate from the request text.
    hidden_input: u64,
    /// The longest answer so far without an output limit.
    output: Option<u64>,
}

/// Whether a turn may be made.
enum Verdict {
    Now(Reserved),
    /// Only if running turns use less than they reserved.
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
    /// Creates a budget whose time begins now. Turns are estimated at the price of their role's
    /// model.
    pub fn new(
        limits: Limits,
        meter: Arc<Meter>,
        price: impl Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync + 'static,
    ) -> Self {
        Self::shared(limits, None, meter, price)
    }

    /// As [`Self::new`], with the limits that all processes of a project share, if there are any.
    pub fn shared(
        limits: Limits,
        day: Option<DayBudget>,
        meter: Arc<Meter>,
        price: impl Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                limits,
                day,
                meter,
                price: Box::new(price),
                began: Instant::now(),
                plan: Mutex::default(),
                ended: Notify::new(),
            }),
        }
    }

    /// Fails if usage and reservations already exceed the limits.
    pub(crate) fn check(&self) -> Result<(), LlmError> {
        let plan = self.inner.plan();
        let spent = self.inner.sound()?;
        let next = plan.like_before(0, &spent);
        let reserved = plan.reserved;
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

    /// Like [`TurnGate::admit`], without waiting for turns of the same run: their reservations
    /// count as used.
    pub(crate) fn admit_now(&self, turn: PlannedTurn) -> Result<Reserved, LlmError> {
        match self.verdict(turn) {
            Verdict::Now(reserved) => Ok(reserved),
            Verdict::Never(error) => Err(error),
            Verdict::Later => Err(refusal("other calls have reserved what is left")),
        }
    }

    /// Returns the end of its time, and the error of a call that it cuts off.
    pub(crate) fn end(&self) -> Option<(Instant, LlmError)> {
        let limit = self.inner.limits.time?;
        let end = self.inner.began.checked_add(limit)?;
        let message = format!("the model call was ended: {}", time_used(limit));
        Some((end, of_run(message)))
    }

    fn verdict(&self, turn: PlannedTurn) -> Verdict {
        // Lock the plan before the meter: a turn that ends in between is counted twice rather than
        // never.
        let mut plan = self.inner.plan();
        match self.inner.weigh(&plan, turn) {
            Err(error) => Verdict::Never(error),
            Ok(None) => Verdict::Later,
            Ok(Some(size)) => {
                let open_ended = u32::from(turn.max_output.is_none());
                plan.reserved += size.expected;
                plan.open_ended += open_ended;
                Verdict::Now(Reserved {
                    budget: self.clone(),
                    size,
                    open_ended,
                    visible_input: estimated_tokens(turn.bytes),
                    of_day: None,
                })
            }
        }
    }
}

impl Inner {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the usage, if time is left and the sums are reliable.
    fn sound(&self) -> Result<Spent, LlmError> {
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

    /// Computes a turn's reservation, or defers it until running turns end.
    fn weigh(&self, plan: &Plan, turn: PlannedTurn) -> Result<Option<Size>, LlmError> {
        let spent = self.sound()?;
        let size = self.size(plan, turn, &spent)?;
        let ceiling = self.limits.ceiling();
        let load = Load {
            spent: spent.amount,
            ours: plan.reserved,
            theirs: Amount::default(),
        };
        // While the length of answers is unknown, one turn at a time measures it.
        let measures = ceiling.is_set()
            && turn.max_output.is_none()
            && plan.output.is_none()
            && plan.open_ended > 0;
        match ceiling.fit(&load, size.expected) {
            Fit::Never(unit) | Fit::AfterTheirs(unit) => Err(used_up(unit, &ceiling, spent.amount)),
            Fit::AfterOurs => Ok(None),
            Fit::Now => Ok((!measures).then_some(size)),
        }
    }

    /// Computes what a turn will probably use, and the most that it may use.
    fn size(&self, plan: &Plan, turn: PlannedTurn, spent: &Spent) -> Result<Size, LlmError> {
        let expected = plan.expected(turn.bytes, turn.max_output);
        let bound = plan.bound(&turn);
        let mut size = Size {
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
    /// Returns a high estimate of a turn's usage. Input counts at the most expensive rate.
    fn expected(&self, bytes: usize, max_output: Option<u64>) -> TokenUsage {
        let open = self.output.unwrap_or(FIRST_OUTPUT);
        TokenUsage {
            cache_write_1h: estimated_tokens(bytes).saturating_add(self.hidden_input),
            // The request's own limit is a bound, however short the answers were so far.
            output: max_output.unwrap_or(open),
            ..TokenUsage::default()
        }
    }

    /// Computes what another turn that sends this many bytes will probably use, by the turns so
    /// far.
    fn like_before(&self, bytes: usize, spent: &Spent) -> Amount {
        let tokens = self.expected(bytes, None).total();
        Amount {
            tokens,
            cost: spent.mean(tokens),
        }
    }

    /// Returns the most that a turn may use.
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

impl Spent {
    /// Prices tokens at the average cost of the tokens so far.
    fn mean(&self, tokens: u64) -> Money {
        let per_token = self
            .amount
            .cost
            .picodollars()
            .checked_div(i128::from(self.priced_tokens));
        Money::from_picodollars(per_token.unwrap_or_default() * i128::from(tokens))
    }
}

/// The reservation of a turn.
pub(crate) struct Reserved {
    of_day: Option<day_budget::Reserved>,
    budget: Budget,
    size: Size,
    open_ended: u32,
    visible_input: u64,
}

impl Reserved {
    /// Reserves the same turn under the limits that other processes share.
    pub(crate) async fn of_day(mut self) -> Result<Box<dyn TurnPermit>, LlmError> {
        if let Some(day) = &self.budget.inner.day {
            self.of_day = Some(day.admit(self.size).await?);
        }
        Ok(Box::new(self))
    }
}

impl TurnPermit for Reserved {
    fn settle(self: Box<Self>, usage: TokenUsage) {
        let mut plan = self.budget.inner.plan();
        let hidden = usage.input_total().saturating_sub(self.visible_input);
        plan.hidden_input = plan.hidden_input.max(hidden);
        if self.open_ended > 0 {
            plan.output = Some(plan.output.unwrap_or_default().max(usage.output));
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // Before the notification: the next turn finds its room in the ledger, too.
        drop(self.of_day.take());
        let mut plan = self.budget.inner.plan();
        plan.reserved = plan.reserved.beyond(self.size.expected);
        plan.open_ended = plan.open_ended.saturating_sub(self.open_ended);
        drop(plan);
        self.budget.inner.ended.notify_waiters();
    }
}

#[async_trait]
impl TurnGate for Budget {
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        loop {
            let mut ended = std::pin::pin!(self.inner.ended.notified());
            // Register before checking the plan, so that no end is missed.
            ended.as_mut().enable();
            match self.verdict(turn) {
                Verdict::Now(reserved) => return reserved.of_day().await,
                Verdict::Never(error) => return Err(error),
                Verdict::Later => ended.await,
            }
        }
    }

    /// Reservations of others do not count: they may use less, and this turn is among them.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let spent = self.inner.sound()?;
        let next = self.inner.plan().like_before(bytes, &spent);
        let ceiling = self.inner.limits.ceiling();
        let load = Load {
            spent: spent.amount,
            ..Load::default()
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
