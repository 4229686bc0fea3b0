//! Budgets: a runtime that refuses the call that would exceed one.
//!
//! A refused call is an error of kind `Budget`. What was finished before stays finished, so the same
//! command goes on where it stopped.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, LlmError, LlmErrorKind, LlmRuntime, LoopOutcome, LoopRequest, Message,
    ObjectOutcome, ObjectRequest, ProbeReport, RunFinal, RunHandle, RunRequest, TextOutcome,
    TextRequest, TokenUsage, run_channel,
};

use crate::{Cost, Money};

/// What a run may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Money at list prices.
    pub cost: Option<Money>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Time from the making of the budget.
    pub time: Option<Duration>,
}

impl Limits {
    /// Whether anything is limited.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// What a run has used so far.
#[derive(Debug, Default)]
pub struct Meter {
    spent: Mutex<Spent>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    messages: u64,
    tokens: u64,
    output: u64,
    cost: Money,
    priced_tokens: u64,
}

impl Meter {
    /// Adds one message. A message without a known price counts with its tokens only.
    pub fn add(&self, usage: &TokenUsage, cost: Option<Cost>) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.messages += 1;
        spent.tokens += usage.total();
        spent.output += usage.output;
        if let Some(cost) = cost {
            spent.cost += cost.amount;
            spent.priced_tokens += usage.total();
        }
    }

    fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A runtime under a budget. Every operation asks the budget first.
pub struct Budgeted {
    inner: Arc<dyn LlmRuntime>,
    limits: Limits,
    meter: Arc<Meter>,
    began: Instant,
}

impl std::fmt::Debug for Budgeted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budgeted")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Bytes of text per token, for the estimate of a call before it is made.
const BYTES_PER_TOKEN: u64 = 3;
/// Output tokens that a first call is expected to use.
const FIRST_OUTPUT: u64 = 500;

impl Budgeted {
    /// Puts a runtime under a budget. The meter is fed by whoever receives the usage facts.
    pub fn new(inner: Arc<dyn LlmRuntime>, limits: Limits, meter: Arc<Meter>) -> Self {
        Self {
            inner,
            limits,
            meter,
            began: Instant::now(),
        }
    }

    /// Refuses a call that would exceed a limit. The call is estimated from its text, and from what
    /// the calls before it used.
    fn allow(&self, bytes: usize) -> Result<(), LlmError> {
        let spent = self.meter.spent();
        let input = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_TOKEN;
        let output = spent
            .output
            .checked_div(spent.messages)
            .unwrap_or(FIRST_OUTPUT);
        let next = input.saturating_add(output);
        if let Some(limit) = self.limits.tokens
            && spent.tokens.saturating_add(next) > limit
        {
            return Err(refusal(&format!(
                "{} of {limit} tokens are used",
                spent.tokens
            )));
        }
        if let Some(limit) = self.limits.cost {
            let per_token = spent
                .cost
                .picodollars()
                .checked_div(i128::from(spent.priced_tokens));
            let next = per_token.unwrap_or_default() * i128::from(next);
            let after = Money::from_picodollars(spent.cost.picodollars() + next);
            if after > limit || spent.cost >= limit {
                return Err(refusal(&format!("{} of {limit} are used", spent.cost)));
            }
        }
        if let Some(limit) = self.limits.time
            && self.began.elapsed() >= limit
        {
            return Err(refusal(&format!(
                "{} minutes are over",
                limit.as_secs() / 60
            )));
        }
        Ok(())
    }
}

fn refusal(what: &str) -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        format!("the next model call would exceed the budget: {what}"),
    )
    .hint("run the same command again with a larger budget: what is finished is kept")
}

#[async_trait]
impl LlmRuntime for Budgeted {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        self.allow(request.system.len() + request.prompt.len())?;
        self.inner.generate_text(request).await
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        self.allow(request.system.len() + request.prompt.len())?;
        self.inner.generate_object(request).await
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        match self.allow(request.system.len() + request.prompt.len()) {
            Ok(()) => self.inner.run_agent_loop(request).await,
            Err(error) => LoopOutcome::failed(error),
        }
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let bytes: usize = request.messages.iter().map(size).sum();
        match self.allow(request.system.len() + bytes) {
            Ok(()) => self.inner.start_run(request),
            Err(error) => {
                let run_id = request.label.run_id;
                let (writer, handle) =
                    run_channel(run_id.clone(), request.ingress_request_id.clone());
                let last = RunFinal {
                    run_id,
                    request_id: request.ingress_request_id,
                    result: Err(error),
                    usage: TokenUsage::default(),
                };
                tokio::spawn(writer.finish(last));
                handle
            }
        }
    }

    async fn probe(&self) -> Result<ProbeReport, LlmError> {
        self.inner.probe().await
    }

    fn describe(&self) -> BackendInfo {
        self.inner.describe()
    }
}

/// The bytes of a message as JSON: an upper bound of what any protocol sends of it.
fn size(message: &Message) -> usize {
    serde_json::to_string(message).map_or(0, |text| text.len())
}
