//! One try: send, read the head, read the body or the stream.

use std::time::Duration;

use ktx_llm_runtime::{LlmError, LlmErrorKind, RunEvent, RunWriter};
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::{self, Advice};
use super::{Access, Again, Call, Endpoint, Failure};
use crate::credentials::Freshness;
use crate::settings::Timeouts;
use crate::wire::Decoder;
use crate::wire::failure::{self, Complaint};
use crate::wire::request::Encoded;
use crate::wire::response::{Response, StreamEvent};

/// No whole response or error body is longer.
const LONGEST_BODY: usize = 64 * 1024 * 1024;

impl Endpoint {
    pub(super) async fn attempt(
        &self,
        call: &Call<'_>,
        encoded: &Encoded,
        freshness: Freshness,
    ) -> Result<Response, Failure> {
        let request = self.request(call, encoded, freshness).await?;
        let mut patience = Patience::new(&self.timeouts);
        let mut response = self.head(request, call.cancel).await?;
        patience.renew();
        let status = response.status();
        let headers = response.headers().clone();
        if !status.is_success() {
            let body = self.body(&mut response, &mut patience, call.cancel).await?;
            return Err(self.refused(status.as_u16(), &headers, &body));
        }
        self.governor.report(limits::observed(&headers));
        let content_type = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok()) // no text: an unknown type
            .unwrap_or_default()
            .to_ascii_lowercase();
        let mut decoder = Decoder::new(call.target.protocol, call.target.provider);
        if content_type.starts_with("text/event-stream") {
            self.stream(call, response, decoder, patience).await
        } else if content_type.starts_with("application/json") {
            let body = self.body(&mut response, &mut patience, call.cancel).await?;
            decoder.whole(&body);
            let draft = Box::new(decoder.draft().clone());
            decoder.finish().map_err(|error| {
                let again = worth(&error);
                let mut failure = Failure::new(self.redacted(error), again);
                failure.draft = Some(draft);
                failure
            })
        } else {
            Err(self.wrong_type(&content_type))
        }
    }

    async fn request(
        &self,
        call: &Call<'_>,
        encoded: &Encoded,
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
            Access::Open => request,
            Access::Header(name, key) => request.header(*name, sensitive(key.expose())?),
            Access::Bearer(key) => request.bearer_auth(key.expose()),
            Access::Google(tokens) => {
                let token = tokens.token(&self.clients, freshness);
                let token = with_cancel(call.cancel, self.timeouts.response, token)
                    .await?
                    .map_err(|error| {
                        let again = worth(&error);
                        Failure::new(self.redacted(error), again)
                    })?;
                request.bearer_auth(token.expose())
            }
        })
    }

    async fn head(
        &self,
        request: reqwest::RequestBuilder,
        cancel: &CancellationToken,
    ) -> Result<reqwest::Response, Failure> {
        with_cancel(cancel, self.timeouts.response, request.send())
            .await?
            .map_err(|error| self.broken(error))
    }

    async fn body(
        &self,
        response: &mut reqwest::Response,
        patience: &mut Patience,
        cancel: &CancellationToken,
    ) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            let piece = patience
                .wait(cancel, response.chunk())
                .await?
                .map_err(|error| self.broken(error))?;
            let Some(piece) = piece else {
                return Ok(body);
            };
            if !piece.is_empty() {
                patience.renew();
            }
            body.extend_from_slice(&piece);
            if body.len() > LONGEST_BODY {
                let message = "the provider sent more than 64 MiB";
                let error =
                    LlmError::new(LlmErrorKind::Protocol, message).hint(failure::NO_PROTOCOL);
                return Err(Failure::new(error, Again::Pointless));
            }
        }
    }

    async fn stream(
        &self,
        call: &Call<'_>,
        mut response: reqwest::Response,
        mut decoder: Decoder,
        mut patience: Patience,
    ) -> Result<Response, Failure> {
        let mut shown = false;
        let broken = loop {
            if decoder.is_over() {
                break None;
            }
            let piece = patience.wait(call.cancel, response.chunk()).await;
            match piece {
                Err(failure) => break Some(failure),
                Ok(Err(error)) => break Some(self.broken(error)),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(piece))) => {
                    let before = decoder.progress();
                    let events = decoder.push(&piece);
                    if decoder.progress() > before {
                        patience.renew();
                    }
                    let Some(listener) = call.listener else {
                        continue;
                    };
                    let texts = events.into_iter().filter_map(|event| match event {
                        StreamEvent::Text(text) => Some(text),
                        StreamEvent::Reasoning(_) => None,
                    });
                    let told = Instant::now();
                    if let Err(failure) = tell(listener, texts, call.cancel, &mut shown).await {
                        break Some(failure);
                    }
                    // Who listens slowly is no fault of the provider's.
                    patience.excuse(told.elapsed());
                }
            }
        };
        let draft = Box::new(decoder.draft().clone());
        let outcome = match broken {
            Some(failure) => Err(failure),
            None => decoder.finish().map_err(|error| {
                // A stream that broke its protocol once may well not do it again.
                let again = match error.kind {
                    LlmErrorKind::Protocol => Again::Worth,
                    _ => worth(&error),
                };
                Failure::new(self.redacted(error), again)
            }),
        };
        outcome.map_err(|mut failure| {
            failure.draft = Some(draft);
            if shown {
                failure.again = Again::Pointless;
            }
            failure
        })
    }

    fn refused(&self, status: u16, headers: &reqwest::header::HeaderMap, body: &[u8]) -> Failure {
        if (300..400).contains(&status) {
            let error = LlmError::new(
                LlmErrorKind::InvalidRequest,
                format!("the provider's address leads to another one (HTTP {status})"),
            )
            .hint("set `base_url` in `ktx.yaml` to the address that the provider means");
            return Failure::new(error, Again::Pointless);
        }
        // A body that is no JSON comes from something in between, and says little.
        let parsed: Option<Value> = serde_json::from_slice(body).ok();
        let complaint = parsed
            .as_ref()
            .and_then(failure::complaint)
            .unwrap_or_else(|| Complaint {
                message: failure::excerpt(&String::from_utf8_lossy(body)),
                ..Complaint::default()
            });
        let mut error = failure::classified(status, &complaint);
        if parsed.is_none() && error.kind == LlmErrorKind::Auth {
            error = error.hint("check the key; the answer is no JSON, so a proxy or a sign-in page may stand in the way of `base_url`");
        }
        error.retry_after = limits::retry_after(headers).or(error.retry_after);
        let again = match (limits::advice(headers), error.kind) {
            (_, LlmErrorKind::Billing) | (Advice::Stop, _) => Again::Pointless,
            (Advice::Try, _) => Again::Worth,
            (Advice::Silent, _) => worth(&error),
        };
        Failure::new(self.redacted(error), again)
    }

    fn wrong_type(&self, content_type: &str) -> Failure {
        // Only the type itself: what follows it may be anything.
        let plain = content_type.split(';').next().unwrap_or_default().trim();
        let shown = if plain.is_empty() {
            "no content type".to_owned()
        } else {
            format!("`{}`", self.hidden(&failure::excerpt(plain)))
        };
        let error = LlmError::new(
            LlmErrorKind::Protocol,
            format!("the address answers with {shown} instead of a model's answer"),
        )
        .hint("check `base_url` in `ktx.yaml`; a sign-in page or a proxy may stand in the way");
        Failure::new(error, Again::Pointless)
    }

    fn broken(&self, error: reqwest::Error) -> Failure {
        let (kind, message) = if error.is_timeout() {
            (LlmErrorKind::Timeout, "the provider did not answer in time")
        } else if error.is_connect() {
            (LlmErrorKind::Transport, "the provider could not be reached")
        } else {
            (
                LlmErrorKind::Transport,
                "the connection to the provider broke",
            )
        };
        let mut words = Vec::new();
        let plain = error.without_url();
        let mut cause: Option<&dyn std::error::Error> = Some(&plain);
        while let Some(error) = cause {
            words.push(error.to_string());
            cause = error.source();
        }
        let words = words.join(": ");
        let error = LlmError::new(kind, message)
            .hint(next_step(&words))
            .detail(words);
        Failure::new(self.redacted(error), Again::Worth)
    }
}

/// Hands text out as fast as it is taken.
async fn tell(
    listener: &RunWriter,
    texts: impl Iterator<Item = String>,
    cancel: &CancellationToken,
    shown: &mut bool,
) -> Result<(), Failure> {
    for text in texts {
        *shown = true;
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(Failure::new(LlmError::cancelled(), Again::Pointless));
            }
            () = listener.event(RunEvent::TextDelta(text)) => {}
        }
    }
    Ok(())
}

/// What to do when there is no way to the provider, from what the client says about it.
fn next_step(words: &str) -> &'static str {
    if words.contains("certificate") {
        "check `base_url` in `ktx.yaml`; where a proxy opens TLS, `SSL_CERT_FILE` names its certificate"
    } else if words.contains("dns error") {
        "check the network, and the host name of `base_url` in `ktx.yaml` where one is set"
    } else {
        "check the network, the proxy, and `base_url` in `ktx.yaml` where one is set; then run the command again"
    }
}

fn worth(error: &LlmError) -> Again {
    if error.kind.is_retryable() {
        Again::Worth
    } else {
        Again::Pointless
    }
}

fn sensitive(key: &str) -> Result<reqwest::header::HeaderValue, Failure> {
    let mut value = reqwest::header::HeaderValue::from_str(key).map_err(|_| {
        let message = "the API key holds characters that no key has";
        let error = LlmError::new(LlmErrorKind::Auth, message)
            .hint("look for line breaks and quotes around the key");
        Failure::new(error, Again::Pointless)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// How long an answer is waited for: for its next piece, and in all.
struct Patience {
    idle: Duration,
    total: Duration,
    started: Instant,
    renewed: Instant,
}

impl Patience {
    fn new(timeouts: &Timeouts) -> Self {
        let now = Instant::now();
        Self {
            idle: timeouts.idle,
            total: timeouts.total,
            started: now,
            renewed: now,
        }
    }

    /// The answer has grown.
    fn renew(&mut self) {
        self.renewed = Instant::now();
    }

    /// So much time passed on our side.
    fn excuse(&mut self, time: Duration) {
        self.renewed += time;
        self.started += time;
    }

    async fn wait<T>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let idle = self.idle.saturating_sub(self.renewed.elapsed());
        let total = self.total.saturating_sub(self.started.elapsed());
        match with_cancel(cancel, idle.min(total), work).await {
            Err(failure) if failure.error.kind == LlmErrorKind::Timeout => {
                Err(if total < idle {
                    let words = format!("the answer took more than {} s", self.total.as_secs());
                    // The next try would take as long.
                    Failure::new(
                        LlmError::new(LlmErrorKind::Timeout, words),
                        Again::Pointless,
                    )
                } else {
                    silence(self.idle)
                })
            }
            outcome => outcome,
        }
    }
}

fn silence(deadline: Duration) -> Failure {
    let error = LlmError::new(
        LlmErrorKind::Timeout,
        format!("the provider said nothing for {} s", deadline.as_secs()),
    );
    Failure::new(error, Again::Worth)
}

/// Ends the work with the caller's wish or with the deadline; dropping it closes the socket.
async fn with_cancel<T>(
    cancel: &CancellationToken,
    deadline: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Failure::new(LlmError::cancelled(), Again::Pointless)),
        done = tokio::time::timeout(deadline, work) => done.map_err(|_| silence(deadline)),
    }
}

#[cfg(test)]
mod tests;
