//! One call to a provider over HTTP: who asks, where, how often, and until when.

pub(crate) mod address;
mod attempt;
pub(crate) mod client;
mod limits;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ktx_llm_runtime::{
    EventSink, Governor, LimitSignal, LlmError, LlmErrorKind, RunWriter, RuntimeEvent,
};
use ktx_secrets::{Redactor, Secret};
use tokio_util::sync::CancellationToken;

use crate::credentials::{Freshness, GoogleTokens};
use crate::settings::Timeouts;
use crate::wire::request::{CanonicalRequest, Target};
use crate::wire::response::{Draft, Response};
use crate::wire::{self, failure};

/// As whom a request is made.
#[derive(Debug)]
pub(crate) enum Access {
    /// Nobody in particular.
    Open,
    /// A key in a header of its own.
    Header(&'static str, Secret),
    /// A key as bearer token.
    Bearer(Secret),
    /// An access token that is fetched.
    Google(GoogleTokens),
}

/// The way to one account of one provider.
pub(crate) struct Endpoint {
    pub(crate) client: reqwest::Client,
    pub(crate) access: Access,
    pub(crate) governor: Governor,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) redactor: Redactor,
    pub(crate) timeouts: Timeouts,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}

/// Whether a failed try is worth another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Worth,
    Pointless,
}

/// One failed try.
#[derive(Debug)]
struct Failure {
    error: LlmError,
    again: Again,
    /// What was counted before it failed.
    draft: Option<Box<Draft>>,
}

impl Failure {
    fn new(error: LlmError, again: Again) -> Self {
        Self {
            error,
            again,
            draft: None,
        }
    }
}

/// One call, as the runtime asks for it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) request: &'a CanonicalRequest,
    pub(crate) target: Target<'a>,
    /// The base address of the target.
    pub(crate) base: &'a str,
    pub(crate) cancel: &'a CancellationToken,
    /// Receives text as it comes; what was received is never repeated.
    pub(crate) listener: Option<&'a RunWriter>,
    /// Told of every message that was paid for, failed ones included.
    pub(crate) paid: &'a (dyn Fn(&Draft) + Send + Sync),
}

impl std::fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

/// What has been tried for one call.
#[derive(Debug, Default)]
struct History {
    failures: u32,
    without_old_reasoning: bool,
    renewed: bool,
}

impl Endpoint {
    /// Makes the call; repeats it as long as that may help and nothing of it was handed out.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Response, LlmError> {
        let mut request = std::borrow::Cow::Borrowed(call.request);
        let mut history = History::default();
        let mut freshness = Freshness::Kept;
        loop {
            let encoded = wire::encode(&request, &call.target);
            let permit = self.governor.acquire(call.cancel).await?;
            let outcome = self.attempt(&call, &encoded, freshness).await;
            drop(permit);
            let failure = match outcome {
                Ok(response) => {
                    (call.paid)(&response.draft);
                    return Ok(response);
                }
                Err(failure) => failure,
            };
            if let Some(draft) = failure
                .draft
                .as_deref()
                .filter(|draft| draft.usage.total() > 0)
            {
                (call.paid)(draft);
            }
            freshness = Freshness::Kept;
            if self.may_renew(&failure, &history) {
                history.renewed = true;
                freshness = Freshness::Renewed;
                continue;
            }
            if failure::wants_no_old_reasoning(&failure.error) && !history.without_old_reasoning {
                history.without_old_reasoning = true;
                request = std::borrow::Cow::Owned(without_reasoning(&request));
                continue;
            }
            self.pause(&failure, &mut history, call.cancel).await?;
        }
    }

    /// A token that Google no longer takes is renewed once.
    fn may_renew(&self, failure: &Failure, history: &History) -> bool {
        matches!(self.access, Access::Google(_))
            && failure.error.kind == LlmErrorKind::Auth
            && !history.renewed
    }

    /// Waits before the next try, or gives the error back when there is none.
    async fn pause(
        &self,
        failure: &Failure,
        history: &mut History,
        cancel: &CancellationToken,
    ) -> Result<(), LlmError> {
        let error = &failure.error;
        history.failures += 1;
        let limited = matches!(
            error.kind,
            LlmErrorKind::RateLimit | LlmErrorKind::Overloaded
        );
        let over =
            failure.again == Again::Pointless || history.failures >= self.governor.max_attempts();
        if over {
            return Err(error.clone());
        }
        self.events.event(RuntimeEvent::Retry {
            attempt: history.failures + 1,
            code: error.kind.code(),
        });
        if limited {
            // The whole account waits; the next `acquire` does the waiting.
            self.governor.report(LimitSignal::Rejected {
                window: if error.kind == LlmErrorKind::Overloaded {
                    "provider overloaded".to_owned()
                } else {
                    "requests".to_owned()
                },
                retry_after: error.retry_after,
            });
            return Ok(());
        }
        let longest = self.governor.settings().max_delay;
        let delay = error
            .retry_after
            .filter(|hint| *hint <= longest)
            .unwrap_or_else(|| self.governor.backoff(history.failures));
        tokio::select! {
            () = cancel.cancelled() => Err(LlmError::cancelled()),
            () = tokio::time::sleep(delay) => Ok(()),
        }
    }

    /// Takes what must not be read out of the provider's words.
    fn redacted(&self, mut error: LlmError) -> LlmError {
        error.detail = error.detail.map(|detail| self.redactor.redact(&detail));
        error
    }
}

/// The request with the reasoning of all turns left out.
fn without_reasoning(request: &CanonicalRequest) -> CanonicalRequest {
    let mut request = request.clone();
    for message in &mut request.messages {
        message
            .content
            .retain(|block| !matches!(block, ktx_llm_runtime::ContentBlock::Reasoning { .. }));
    }
    request
}
