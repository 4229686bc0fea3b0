//! Idempotent requests with retries, and bounded answers.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{RequestBuilder, Response};

#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Includes the first.
    pub attempts: u32,
    /// Last attempt that is retried after a broken connection: the server may have closed a reused
    /// one.
    pub last_broken_attempt: u32,
    pub busy: &'static [u16],
    /// Doubles with each retry.
    pub first_delay: Duration,
    /// Even if the server asks for more.
    pub longest_delay: Duration,
}

/// Repeats an idempotent request while the server is busy, after `retry-after` seconds or the
/// policy's delay. A busy last answer is not an error.
pub async fn send(
    request: RequestBuilder,
    policy: &RetryPolicy,
) -> Result<Response, reqwest::Error> {
    let mut delay = policy.first_delay;
    let mut attempt = 1;
    loop {
        let Some(copy) = request.try_clone() else {
            return request.send().await;
        };
        let response = match copy.send().await {
            Ok(response) => response,
            Err(error)
                if attempt <= policy.last_broken_attempt
                    && !error.is_connect()
                    && !error.is_timeout() =>
            {
                attempt += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        if attempt >= policy.attempts || !policy.busy.contains(&response.status().as_u16()) {
            return Ok(response);
        }
        let requested = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        tokio::time::sleep(requested.unwrap_or(delay).min(policy.longest_delay)).await;
        delay *= 2;
        attempt += 1;
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the answer is longer than its limit")]
    TooLong,
    #[error(transparent)]
    Broken(reqwest::Error),
}

/// `max_bytes` after decompression.
pub async fn read_body(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, BodyError> {
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if bytes.len().saturating_add(chunk.len()) > max_bytes {
            return Err(BodyError::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Names neither the URL nor the library.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}
