//! One call to a provider, with retries and deadlines.

pub(crate) mod address;
mod attempt;
pub(crate) mod bill;
mod deadlines;
mod obstacle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ktx_llm_runtime::{
    ContentBlock, EventSink, Governor, LimitSignal, LlmError, LlmErrorKind, Message, Patience,
    PlannedTurn, RequestSent, RunWriter, RuntimeEvent, TurnGate, TurnPermit, UsageFact,
    window_words,
};
use ktx_secrets::{Redactor, Secret};
use ktx_vocabulary::ModelRole;
use tokio_util::sync::CancellationToken;

use crate::clients::HttpClients;
use crate::clock::UnixClock;
use crate::google_tokens::{Freshness, GoogleTokens};
use crate::preset::Protocol;
use crate::settings::Timeouts;
use crate::wire::media;
use crate::wire::request::{
    CanonicalRequest, EncodedRequest, HistoryForm, OutputLimit, RequestTarget,
};
use crate::wire::response::Response;
use crate::wire::{self, failure};
use address::BaseAddress;
use bill::{Charge, MessageBill, UsageReporter};

#[derive(Debug)]
pub(crate) enum Authorization {
    Open,
    Header(&'static str, Secret),
    Bearer(Secret),
    Google(Box<GoogleTokens>),
}

pub(crate) struct Endpoint {
    pub(crate) clients: HttpClients,
    pub(crate) access: Authorization,
    pub(crate) governor: Governor,
    /// Before every attempt, because each may be billed.
    pub(crate) gate: Arc<dyn TurnGate>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) redactor: Redactor,
    pub(crate) timeouts: Timeouts,
    pub(crate) clock: UnixClock,
    /// By model, if the usual field was refused.
    pub(crate) limits: Mutex<BTreeMap<String, OutputLimit>>,
    pub(crate) answered: Mutex<BTreeSet<String>>,
    pub(crate) left_out: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RetryRule {
    Worth,
    Once,
    /// Only if the provider has answered before; otherwise the user must act.
    IfEverAnswered,
    Pointless,
}

#[derive(Debug)]
struct Failure {
    error: LlmError,
    again: RetryRule,
    charge: Charge,
}

impl Failure {
    fn new(error: LlmError, again: RetryRule) -> Self {
        Self {
            error,
            again,
            charge: Charge::None,
        }
    }

    fn charged(self) -> Self {
        self.with(Charge::Possible)
    }

    fn with(mut self, charge: Charge) -> Self {
        self.charge = charge;
        self
    }
}

const IMPATIENT_TRIES: u32 = 2;
/// For unreadable answers and silent providers.
const UNPROMISING_TRIES: u32 = 2;

#[derive(Clone, Copy)]
pub(crate) struct HttpCall<'a> {
    pub(crate) role: ModelRole,
    pub(crate) request: &'a CanonicalRequest,
    pub(crate) target: RequestTarget<'a>,
    pub(crate) base: &'a BaseAddress,
    pub(crate) cancel: &'a CancellationToken,
    /// ktx never repeats an answer after its text was delivered.
    pub(crate) listener: Option<&'a RunWriter>,
    pub(crate) patience: Patience,
    pub(crate) payer: &'a dyn UsageReporter,
    /// Includes failed attempts.
    pub(crate) paid: &'a Mutex<Vec<UsageFact>>,
}

impl std::fmt::Debug for HttpCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("base", &self.base.url)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct AttemptHistory {
    failures: u32,
    unpromising: u32,
    without_old_reasoning: bool,
    renewed: bool,
}

/// An answer, and what was removed from the request.
#[derive(Debug)]
pub(crate) struct HttpCallAnswer {
    pub(crate) response: Response,
    pub(crate) reasoning: OldReasoning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldReasoning {
    Taken,
    Refused,
}

impl Endpoint {
    /// Never retries after text was delivered.
    pub(crate) async fn call(&self, call: HttpCall<'_>) -> Result<HttpCallAnswer, LlmError> {
        let mut request = call.request.clone();
        request.limit = self.limit_of(&call);
        let mut history = AttemptHistory::default();
        let mut freshness = Freshness::Cached;
        loop {
            let encoded = wire::encode(&request, &call.target);
            self.report_omitted_media(&request, &encoded);
            if let Some((reason, remaining)) = self.governor.paused()
                && self.is_too_long(remaining, call.patience)
            {
                let mut error = self.refused_until(&reason, remaining);
                error.sent = RequestSent::No;
                return Err(error);
            }
            let permit = self.governor.acquire(call.cancel).await?;
            let turn = self.admitted(&call, &request, &encoded).await?;
            let mut bill =
                MessageBill::open(call.payer, call.paid, &request, &call.target, &encoded);
            let outcome = self.attempt(&call, &encoded, freshness, &mut bill).await;
            drop(permit);
            let failure = match outcome {
                Ok(response) => {
                    turn.settle(bill.settle(&response.draft));
                    return Ok(HttpCallAnswer {
                        response,
                        reasoning: history.reasoning(),
                    });
                }
                Err(failure) => failure,
            };
            match bill.cut(failure.charge) {
                Some(usage) => turn.settle(usage),
                None => drop(turn),
            }
            freshness = Freshness::Cached;
            if self.can_renew(&failure, &history) {
                history.renewed = true;
                freshness = Freshness::Renewed;
                continue;
            }
            if failure::rejects_old_reasoning(&failure.error) && !history.without_old_reasoning {
                history.without_old_reasoning = true;
                drop_reasoning(&mut request.messages);
                continue;
            }
            if request.history == HistoryForm::ById && failure::wants_whole_history(&failure.error)
            {
                request.history = HistoryForm::Whole;
                continue;
            }
            // Other protocols have a field that every server accepts.
            if call.target.protocol == Protocol::OpenAiChat
                && let Some(limit) = failure::wants_limit(&failure.error, request.limit)
            {
                request.limit = limit;
                self.keep_limit(&call, limit);
                continue;
            }
            self.pause(&failure, &mut history, &call).await?;
        }
    }

    fn limit_of(&self, call: &HttpCall<'_>) -> OutputLimit {
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits
            .get(&call.target.facts.id)
            .copied()
            .unwrap_or_default()
    }

    fn keep_limit(&self, call: &HttpCall<'_>, limit: OutputLimit) {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.insert(call.target.facts.id.clone(), limit);
    }

    fn is_too_long(&self, wait: Duration, patience: Patience) -> bool {
        let longest = self.governor.settings().max_wait;
        match patience {
            Patience::None => true,
            Patience::AsConfigured => {
                self.governor.has_time_for(wait) && longest.is_some_and(|longest| wait > longest)
            }
        }
    }

    fn refused_until(&self, reason: &str, remaining: Duration) -> LlmError {
        let until = until(self.clock.now(), remaining);
        let mut error = LlmError::new(
            LlmErrorKind::RateLimit,
            format!("the provider refuses calls until {until} ({reason})"),
        )
        .hint("run the command again after that");
        error.retry_after = Some(remaining);
        error
    }

    /// Records the limit for other calls.
    fn record_limit(&self, error: &LlmError) -> LlmError {
        let window = window_of(error.kind);
        let end = |wait: Duration| self.clock.now().saturating_add(rounded_up(wait));
        self.events.event(RuntimeEvent::RateLimitRefused {
            window: window.to_owned(),
            resets_at: error
                .retry_after
                .and_then(|wait| i64::try_from(end(wait)).ok()), // beyond all clocks
        });
        match error.retry_after {
            Some(wait) => {
                let mut held = self.refused_until(&window_words(window), wait);
                held.kind = error.kind;
                held.detail.clone_from(&error.detail);
                held
            }
            None => error.clone(),
        }
    }

    async fn admitted(
        &self,
        call: &HttpCall<'_>,
        request: &CanonicalRequest,
        encoded: &EncodedRequest,
    ) -> Result<Box<dyn TurnPermit>, LlmError> {
        let turn = PlannedTurn {
            role: call.role,
            bytes: encoded.bytes(),
            max_output: call.request.max_output,
            output_bound: call.target.output_limit(request),
        };
        tokio::select! {
            () = call.cancel.cancelled() => Err(LlmError::cancelled()),
            admitted = self.gate.admit(turn) => admitted,
        }
    }

    /// Once per conversation (KODE-05).
    fn report_omitted_media(&self, request: &CanonicalRequest, encoded: &EncodedRequest) {
        for stand_in in media::placeholders(&request.messages, &encoded.body) {
            let is_new = self
                .left_out
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(stand_in.clone());
            if is_new {
                let words = stand_in.trim_matches(['[', ']']);
                self.events.event(RuntimeEvent::Warning(words.to_owned()));
            }
        }
    }

    fn can_renew(&self, failure: &Failure, history: &AttemptHistory) -> bool {
        matches!(self.access, Authorization::Google(_))
            && failure.error.kind == LlmErrorKind::Auth
            && !history.renewed
    }

    async fn pause(
        &self,
        failure: &Failure,
        history: &mut AttemptHistory,
        call: &HttpCall<'_>,
    ) -> Result<(), LlmError> {
        let error = &failure.error;
        history.failures += 1;
        let limited = matches!(
            error.kind,
            LlmErrorKind::RateLimit | LlmErrorKind::Overloaded
        );
        if limited && call.patience == Patience::None {
            return Err(self.record_limit(error));
        }
        if let Some(wait) = error.retry_after
            && limited
            && self.is_too_long(wait, call.patience)
        {
            // Other waiting calls must learn of it.
            self.governor
                .remember(window_of(error.kind).to_owned(), wait);
            return Err(self.record_limit(error));
        }
        if self.is_over(failure, history, call) {
            return Err(error.clone());
        }
        let longest = self.governor.settings().max_delay;
        let delay = error
            .retry_after
            .filter(|hint| *hint <= longest)
            .unwrap_or_else(|| self.governor.backoff(history.failures));
        if !limited && !self.governor.has_time_for(delay) {
            return Err(error.clone());
        }
        self.events.event(RuntimeEvent::Retry {
            attempt: history.failures + 1,
            code: error.kind.code(),
        });
        if limited {
            // The whole account waits, in the next `acquire`.
            self.governor.report(LimitSignal::Rejected {
                window: window_of(error.kind).to_owned(),
                retry_after: error.retry_after,
            });
            return Ok(());
        }
        tokio::select! {
            () = call.cancel.cancelled() => Err(LlmError::cancelled()),
            () = tokio::time::sleep(delay) => Ok(()),
        }
    }

    fn is_over(
        &self,
        failure: &Failure,
        history: &mut AttemptHistory,
        call: &HttpCall<'_>,
    ) -> bool {
        let again = match (failure.again, failure.error.kind) {
            (RetryRule::Worth, LlmErrorKind::Protocol) => RetryRule::Once,
            (again, _) => again,
        };
        let is_pointless = match again {
            RetryRule::Worth => false,
            RetryRule::Once => {
                history.unpromising += 1;
                history.unpromising >= UNPROMISING_TRIES
            }
            RetryRule::IfEverAnswered => !self.has_answered(call),
            RetryRule::Pointless => true,
        };
        let tries = match call.patience {
            Patience::None => IMPATIENT_TRIES,
            Patience::AsConfigured => u32::MAX,
        };
        is_pointless || history.failures >= self.governor.max_attempts().min(tries)
    }

    /// An error counts as an answer.
    fn has_answered(&self, call: &HttpCall<'_>) -> bool {
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        answered.contains(&call.base.url)
    }

    fn note_answer(&self, call: &HttpCall<'_>) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if !answered.contains(&call.base.url) {
            answered.insert(call.base.url.clone());
        }
    }

    fn redacted(&self, mut error: LlmError) -> LlmError {
        error.detail = error.detail.map(|detail| self.redact_secrets(&detail));
        error
    }

    fn redact_secrets(&self, text: &str) -> String {
        let text = self.redactor.redact(text);
        match &self.access {
            Authorization::Google(tokens) => tokens.redact_secrets(&text),
            Authorization::Open | Authorization::Header(..) | Authorization::Bearer(_) => text,
        }
    }
}

const fn window_of(kind: LlmErrorKind) -> &'static str {
    match kind {
        LlmErrorKind::Overloaded => "provider is overloaded",
        _ => "requests",
    }
}

/// To the second, or rounded up to the minute.
fn until(now: u64, wait: Duration) -> String {
    let seconds = rounded_up(wait);
    let (step, form) = if seconds < 60 {
        (1, "%Y-%m-%d %H:%M:%S UTC")
    } else {
        (60, "%Y-%m-%d %H:%M UTC")
    };
    let end = now
        .saturating_add(seconds)
        .div_ceil(step)
        .saturating_mul(step);
    let end = i64::try_from(end)
        .ok() // beyond all clocks
        .and_then(|end| jiff::Timestamp::from_second(end).ok()); // beyond the calendar
    end.unwrap_or(jiff::Timestamp::MAX)
        .strftime(form)
        .to_string()
}

fn rounded_up(wait: Duration) -> u64 {
    wait.as_secs()
        .saturating_add(u64::from(wait.subsec_nanos() > 0))
}

impl AttemptHistory {
    const fn reasoning(&self) -> OldReasoning {
        if self.without_old_reasoning {
            OldReasoning::Refused
        } else {
            OldReasoning::Taken
        }
    }
}

pub(crate) fn drop_reasoning(messages: &mut [Message]) {
    for message in messages {
        let whole = message.metadata.content_blocks.as_mut();
        for blocks in std::iter::once(&mut message.content).chain(whole) {
            blocks.retain(|block| !matches!(block, ContentBlock::Reasoning { .. }));
            for block in blocks {
                if let ContentBlock::ToolUse { meta, .. } = block {
                    meta.remove("thought_signature");
                }
            }
        }
    }
}
