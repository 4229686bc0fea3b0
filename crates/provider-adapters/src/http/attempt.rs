//! One attempt: request, head, body or stream.

use ktx_llm_runtime::{LlmError, LlmErrorKind, RunEvent, RunWriter};
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::bill::{Charge, MessageBill};
use super::deadlines::Deadlines;
use super::obstacle::ConnectionObstacle;
use super::{Authorization, Endpoint, Failure, HttpCall, RetryRule};
use crate::google_tokens::Freshness;
use crate::limit_headers::{self, RetryAdvice};
use crate::wire::Decoder;
use crate::wire::failure::{self, ProviderError};
use crate::wire::request::EncodedRequest;
use crate::wire::response::{Response, StreamEvent};

/// In bytes, whole or streamed.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;

impl Endpoint {
    pub(super) async fn attempt(
        &self,
        call: &HttpCall<'_>,
        encoded: &EncodedRequest,
        freshness: Freshness,
        bill: &mut MessageBill<'_>,
    ) -> Result<Response, Failure> {
        let request = self.request(call, encoded, freshness).await?;
        let mut deadlines = self.deadlines();
        let mut response = self.head(request, &deadlines, call.cancel).await?;
        self.note_answer(call);
        deadlines.renew();
        let status = response.status();
        let headers = response.headers().clone();
        if !status.is_success() {
            let body = self
                .body(&mut response, &mut deadlines, call.cancel)
                .await?;
            return Err(self.refused(status.as_u16(), &headers, &body));
        }
        self.governor.report(limit_headers::observed(&headers));
        let content_type = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok()) // not text: an unknown type
            .unwrap_or_default()
            .to_ascii_lowercase();
        let decoder = Decoder::new(call.target.protocol, call.target.provider);
        if content_type.starts_with("text/event-stream") {
            self.stream(call, response, decoder, deadlines, bill).await
        } else if content_type.starts_with("application/json") {
            let body = self.body(&mut response, &mut deadlines, call.cancel).await;
            self.whole(decoder, &body.map_err(Failure::charged)?, bill)
        } else {
            Err(self.wrong_type(&content_type))
        }
    }

    fn deadlines(&self) -> Deadlines<'_> {
        Deadlines::new(&self.timeouts, self.governor.settings().ends_at)
    }

    fn whole(
        &self,
        mut decoder: Decoder,
        body: &[u8],
        bill: &mut MessageBill<'_>,
    ) -> Result<Response, Failure> {
        decoder.whole(body);
        bill.grow(decoder.draft(), decoder.seen());
        let is_counted = decoder.draft().usage.total() > 0;
        decoder.finish().map_err(|error| {
            let again = retry_rule(&error);
            let failure = Failure::new(self.redacted(error), again);
            if is_counted {
                return failure.with(Charge::Whole);
            }
            // If the text is not JSON, a middlebox may have replaced the answer.
            match serde_json::from_slice::<serde::de::IgnoredAny>(body) {
                Ok(_) => failure,
                Err(_) => failure.charged(),
            }
        })
    }

    async fn request(
        &self,
        call: &HttpCall<'_>,
        encoded: &EncodedRequest,
        freshness: Freshness,
    ) -> Result<reqwest::RequestBuilder, Failure> {
        let mut request = self
            .clients
            .post(&call.base.with(&encoded.path))
            .json(&encoded.body);
        for (name, value) in &encoded.headers {
            request = request.header(*name, value);
        }
        Ok(match &self.access {
            Authorization::Open => request,
            Authorization::Header(name, key) => request.header(*name, sensitive(key.expose())?),
            Authorization::Bearer(key) => request.bearer_auth(key.expose()),
            Authorization::Google(tokens) => {
                let token = tokens.token(&self.clients, freshness);
                let token = self
                    .deadlines()
                    .wait(call.cancel, token)
                    .await?
                    .map_err(|error| {
                        let again = retry_rule(&error);
                        Failure::new(self.redacted(error), again)
                    })?;
                request.bearer_auth(token.expose())
            }
        })
    }

    async fn head(
        &self,
        request: reqwest::RequestBuilder,
        deadlines: &Deadlines<'_>,
        cancel: &CancellationToken,
    ) -> Result<reqwest::Response, Failure> {
        deadlines
            .wait(cancel, request.send())
            .await
            .map_err(Failure::charged)?
            .map_err(|error| self.broken(error))
    }

    async fn body(
        &self,
        response: &mut reqwest::Response,
        deadlines: &mut Deadlines<'_>,
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            let piece = deadlines
                .wait(cancel, response.chunk())
                .await?
                .map_err(|error| self.broken(error))?;
            let Some(piece) = piece else {
                return Ok(body);
            };
            if !piece.is_empty() {
                deadlines.note_bytes();
                deadlines.renew();
            }
            body.extend_from_slice(&piece);
            if body.len() > LONGEST_ANSWER {
                return Err(too_long());
            }
        }
    }

    async fn stream(
        &self,
        call: &HttpCall<'_>,
        mut response: reqwest::Response,
        mut decoder: Decoder,
        mut deadlines: Deadlines<'_>,
        bill: &mut MessageBill<'_>,
    ) -> Result<Response, Failure> {
        let mut shown = false;
        let mut length = 0_usize;
        let broken = loop {
            if decoder.is_over() {
                break None;
            }
            let piece = deadlines.wait(call.cancel, response.chunk()).await;
            match piece {
                Err(failure) => break Some(failure),
                Ok(Err(error)) => break Some(self.broken(error)),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(piece))) => {
                    deadlines.note_bytes();
                    length = length.saturating_add(piece.len());
                    if length > LONGEST_ANSWER {
                        break Some(too_long());
                    }
                    let before = decoder.progress();
                    let events = decoder.push(&piece);
                    if decoder.progress() > before {
                        deadlines.renew();
                    }
                    bill.grow(decoder.draft(), decoder.seen());
                    let Some(listener) = call.listener else {
                        continue;
                    };
                    let pieces = events.into_iter().map(|event| match event {
                        StreamEvent::Text(text) => RunEvent::TextDelta(text),
                        StreamEvent::Reasoning(text) => RunEvent::ReasoningDelta(text),
                    });
                    let delivery_start = Instant::now();
                    if let Err(failure) = deliver(listener, pieces, call.cancel, &mut shown).await {
                        break Some(failure);
                    }
                    // A slow listener is not the provider's fault.
                    deadlines.extend(delivery_start.elapsed());
                }
            }
        };
        let outcome = match broken {
            Some(failure) => Err(failure.charged()),
            None => self.finish_stream(decoder),
        };
        outcome.map_err(|mut failure| {
            if shown {
                failure.again = RetryRule::Pointless;
            }
            failure
        })
    }

    fn finish_stream(&self, decoder: Decoder) -> Result<Response, Failure> {
        let is_whole = decoder.is_whole();
        decoder.finish().map_err(|error| {
            // Not billed if no output came before.
            let (again, is_complaint) = match error.kind {
                // The stream may be correct next time.
                LlmErrorKind::Protocol => (RetryRule::Worth, false),
                LlmErrorKind::Transport => (retry_rule(&error), false),
                _ => (retry_rule(&error), true),
            };
            let failure = Failure::new(self.redacted(error), again);
            match (is_whole, is_complaint) {
                (true, _) => failure.with(Charge::Whole),
                (false, true) => failure,
                (false, false) => failure.charged(),
            }
        })
    }

    fn refused(&self, status: u16, headers: &reqwest::header::HeaderMap, body: &[u8]) -> Failure {
        if (300..400).contains(&status) {
            let error = LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("the provider's address redirects to another one (HTTP {status})"),
            )
            .hint("set `base_url` in `ktx.yaml` to the provider's actual address");
            return Failure::new(error, RetryRule::Pointless);
        }
        // A body that is not JSON comes from a middlebox and says little.
        let parsed: Option<Value> = serde_json::from_slice(body).ok();
        let complaint = parsed
            .as_ref()
            .and_then(failure::complaint)
            .unwrap_or_else(|| ProviderError {
                message: failure::excerpt(&String::from_utf8_lossy(body)),
                ..ProviderError::default()
            });
        let mut error = failure::classified(status, &complaint);
        if parsed.is_none() && error.kind == LlmErrorKind::Auth {
            error = error.hint("check the key; the answer is not JSON, so a proxy or a sign-in page may intercept `base_url`");
        }
        error.retry_after = limit_headers::retry_after(headers).or(error.retry_after);
        let again = match (limit_headers::advice(headers), error.kind) {
            (_, LlmErrorKind::Billing) | (RetryAdvice::Stop, _) => RetryRule::Pointless,
            (RetryAdvice::Try, _) => RetryRule::Worth,
            (RetryAdvice::Silent, _) => retry_rule(&error),
        };
        Failure::new(self.redacted(error), again)
    }

    fn wrong_type(&self, content_type: &str) -> Failure {
        // Parameters of the media type can be anything.
        let plain = content_type.split(';').next().unwrap_or_default().trim();
        let shown = if plain.is_empty() {
            "no content type".to_owned()
        } else {
            format!("`{}`", self.redact_secrets(&failure::excerpt(plain)))
        };
        let error = LlmError::new(
            LlmErrorKind::Protocol,
            format!("the address answers with {shown} instead of a model's answer"),
        )
        .hint("check `base_url` in `ktx.yaml`; a sign-in page or a proxy may have answered");
        Failure::new(error, RetryRule::Pointless)
    }

    fn broken(&self, error: reqwest::Error) -> Failure {
        let was_sent = !error.is_connect();
        let is_late = error.is_timeout();
        let mut words = Vec::new();
        let plain = error.without_url();
        let mut cause: Option<&dyn std::error::Error> = Some(&plain);
        while let Some(error) = cause {
            words.push(error.to_string());
            cause = error.source();
        }
        let words = words.join(": ");
        let found = if was_sent {
            ConnectionObstacle::Broken
        } else {
            ConnectionObstacle::of(&words)
        };
        let is_silence = is_late
            && matches!(
                found,
                ConnectionObstacle::Broken | ConnectionObstacle::NoNetwork
            );
        let (kind, message, again) = if is_silence {
            let message = "the provider did not answer in time";
            (LlmErrorKind::Timeout, message, RetryRule::Once)
        } else {
            (LlmErrorKind::Transport, found.message(), found.again())
        };
        let error = LlmError::new(kind, message)
            .hint(found.next_step())
            .detail(words);
        let failure = Failure::new(self.redacted(error), again);
        if was_sent { failure.charged() } else { failure }
    }
}

async fn deliver(
    listener: &RunWriter,
    pieces: impl Iterator<Item = RunEvent>,
    cancel: &CancellationToken,
    shown: &mut bool,
) -> Result<(), Failure> {
    for piece in pieces {
        *shown = true;
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(Failure::new(LlmError::cancelled(), RetryRule::Pointless));
            }
            () = listener.event(piece) => {}
        }
    }
    Ok(())
}

fn too_long() -> Failure {
    let message = "the provider sent more than 64 MiB";
    let error = LlmError::new(LlmErrorKind::Protocol, message).hint(failure::NO_PROTOCOL);
    Failure::new(error, RetryRule::Pointless)
}

fn retry_rule(error: &LlmError) -> RetryRule {
    if error.kind.is_retryable() {
        RetryRule::Worth
    } else {
        RetryRule::Pointless
    }
}

fn sensitive(key: &str) -> Result<reqwest::header::HeaderValue, Failure> {
    let mut value = reqwest::header::HeaderValue::from_str(key).map_err(|_| {
        let message = "the API key contains characters that no key has";
        let error = LlmError::new(LlmErrorKind::Auth, message)
            .hint("look for line breaks and quotes around the key");
        Failure::new(error, RetryRule::Pointless)
    })?;
    value.set_sensitive(true);
    Ok(value)
}
