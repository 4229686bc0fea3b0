//! Budgets: no turn begins that would exceed one.
//!
//! Every turn reserves its expected usage until the real usage is in the meter, so that concurrent
//! turns cannot exceed a limit together. A refused turn is an error of kind `Budget`. Finished work
//! is kept, so the same command resumes where it stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_llm_runtime::{
    LlmError, LlmErrorKind, PlannedTurn, TokenUsage, TurnGate, TurnPermit, estimated_tokens,
};
use ktx_vocabulary::ModelRole;
use tokio::sync::Notify;

use crate::meter::Spent;
use crate::{Meter, Money};

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

    /// Returns whether a limit depends on the size of turns.
    const fn of_size(&self) -> bool {
        self.cost.is_some() || self.tokens.is_some()
    }
}

/// Returns the list price of usage by the model of a role; `None` if unknown.
type ListPrice = Box<dyn Fn(ModelRole, &TokenUsage) -> Option<Money> + Send + Sync>;

/// Expected output tokens of a first turn.
const FIRST_OUTPUT: u64 = 500;

/// The budget of one run. Cheap to clone; clones share the reservations.
#[derive(Clone)]
pub struct Budget {
    inner: Arc<Inner>,
}

struct Inner {
    limits: Limits,
    meter: Arc<Meter>,
    price: ListPrice,
    began: Instant,
    plan: Mutex<Plan>,
    ended: Notify,
}

/// The reservations of running turns, and estimates learned from earlier ones.
#[derive(Debug, Default)]
struct Plan {
    tokens: u64,
    cost: Money,
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
        Self {
            inner: Arc::new(Inner {
                limits,
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
        let limits = &self.inner.limits;
        if let Some(limit) = limits.tokens
            && spent.tokens.saturating_add(plan.tokens) > limit
        {
            return Err(tokens_used(&spent, limit));
        }
        if let Some(limit) = limits.cost
            && plus(spent.cost, plan.cost) > limit
        {
            return Err(money_used(&spent, limit));
        }
        Ok(())
    }

    /// Like [`TurnGate::admit`], without waiting: reservations count as used.
    pub(crate) fn admit_now(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        match self.verdict(turn) {
            Verdict::Now(reserved) => Ok(Box::new(reserved)),
            Verdict::Never(error) => Err(error),
            Verdict::Later => Err(refusal("other calls have reserved what is left")),
        }
    }

    /// Returns the end of its time, and the error of a call that it cuts off.
    pub(crate) fn end(&self) -> Option<(Instant, LlmError)> {
        let limit = self.inner.limits.time?;
        let end = self.inner.began.checked_add(limit)?;
        let message = format!("the model call was ended: {}", time_used(limit));
        Some((end, budget_error(message)))
    }

    fn verdict(&self, turn: PlannedTurn) -> Verdict {
        // Lock the plan before the meter: a turn that ends in between is counted twice rather than
        // never.
        let mut plan = self.inner.plan();
        match self.inner.weigh(&plan, turn) {
            Err(error) => Verdict::Never(error),
            Ok(None) => Verdict::Later,
            Ok(Some((usage, cost))) => {
                let open_ended = u32::from(turn.max_output.is_none());
                plan.tokens = plan.tokens.saturating_add(usage.total());
                plan.cost += cost;
                plan.open_ended += open_ended;
                Verdict::Now(Reserved {
                    budget: self.clone(),
                    tokens: usage.total(),
                    cost,
                    open_ended,
                    visible_input: estimated_tokens(turn.bytes),
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
            return Err(unpriced(reason, limit));
        }
        if let Some(reason) = &spent.unrecorded {
            return Err(LlmError::new(
                LlmErrorKind::Budget,
                format!("the budget cannot be held, because usage is not recorded: {reason}"),
            )
            .hint("make the usage ledger usable, then run the same command again: what is finished is kept"));
        }
        Ok(spent)
    }

    /// Computes a turn's reservation, or defers it until running turns end.
    fn weigh(
        &self,
        plan: &Plan,
        turn: PlannedTurn,
    ) -> Result<Option<(TokenUsage, Money)>, LlmError> {
        let spent = self.sound()?;
        let usage = plan.expected(turn.bytes, turn.max_output);
        let next = usage.total();
        // While the length of answers is unknown, one turn at a time measures it.
        let mut later = self.limits.of_size()
            && turn.max_output.is_none()
            && plan.output.is_none()
            && plan.open_ended > 0;
        if let Some(limit) = self.limits.tokens {
            let after = spent.tokens.saturating_add(next);
            if after > limit {
                return Err(tokens_used(&spent, limit));
            }
            later |= after.saturating_add(plan.tokens) > limit;
        }
        let mut cost = Money::default();
        if let Some(limit) = self.limits.cost {
            let list = (self.price)(turn.role, &usage).ok_or_else(|| {
                let reason = format!("the model of the role `{}` has no list price", turn.role);
                unpriced(&reason, limit)
            })?;
            cost = list.max(spent.mean(next));
            let after = plus(spent.cost, cost);
            if after > limit || spent.cost >= limit {
                return Err(money_used(&spent, limit));
            }
            later |= plus(after, plan.cost) > limit;
        }
        Ok((!later).then_some((usage, cost)))
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
}

impl Spent {
    /// Prices tokens at the average cost of the tokens so far.
    fn mean(&self, tokens: u64) -> Money {
        let per_token = self
            .cost
            .picodollars()
            .checked_div(i128::from(self.priced_tokens));
        Money::from_picodollars(per_token.unwrap_or_default() * i128::from(tokens))
    }
}

fn plus(mut sum: Money, more: Money) -> Money {
    sum += more;
    sum
}

fn refusal(what: &str) -> LlmError {
    budget_error(format!(
        "the next model call would exceed the budget: {what}"
    ))
}

fn time_used(limit: Duration) -> String {
    match limit.as_secs() / 60 {
        1 => "1 minute is over".to_owned(),
        minutes => format!("{minutes} minutes are over"),
    }
}

fn budget_error(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::Budget, message)
        .hint("run the same command again with a larger budget: what is finished is kept")
}

fn tokens_used(spent: &Spent, limit: u64) -> LlmError {
    refusal(&format!("{} of {limit} tokens are used", spent.tokens))
}

fn money_used(spent: &Spent, limit: Money) -> LlmError {
    refusal(&format!("{} of {limit} are used", spent.cost))
}

fn unpriced(reason: &str, limit: Money) -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        format!("the budget of {limit} cannot be held: {reason}"),
    )
    .hint("run the same command again with `--max-tokens`: what is finished is kept")
}

struct Reserved {
    budget: Budget,
    tokens: u64,
    cost: Money,
    open_ended: u32,
    visible_input: u64,
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
        let mut plan = self.budget.inner.plan();
        plan.tokens = plan.tokens.saturating_sub(self.tokens);
        plan.cost = Money::from_picodollars(plan.cost.picodollars() - self.cost.picodollars());
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
                Verdict::Now(reserved) => return Ok(Box::new(reserved)),
                Verdict::Never(error) => return Err(error),
                Verdict::Later => ended.await,
            }
        }
    }

    /// Reservations of others do not count: they may use less, and this turn is among them.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let next = self.inner.plan().expected(bytes, None).total();
        let spent = self.inner.sound()?;
        let limits = &self.inner.limits;
        if let Some(limit) = limits.tokens
            && spent.tokens.saturating_add(next) > limit
        {
            return Err(tokens_used(&spent, limit));
        }
        if let Some(limit) = limits.cost
            && (spent.cost >= limit || plus(spent.cost, spent.mean(next)) > limit)
        {
            return Err(money_used(&spent, limit));
        }
        Ok(())
    }

    fn look(&self) -> Result<(), LlmError> {
        self.check()
    }
}
