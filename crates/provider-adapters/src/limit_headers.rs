//! Parses response headers about limits and retries.

use std::time::Duration;

use ktx_llm_runtime::{LONGEST_WAIT, LimitSignal};
use reqwest::header::HeaderMap;

/// `x-should-retry`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    Try,
    Stop,
    Silent,
}

pub(crate) fn advice(headers: &HeaderMap) -> RetryAdvice {
    match value(headers, "x-should-retry") {
        Some("true") => RetryAdvice::Try,
        Some("false") => RetryAdvice::Stop,
        _ => RetryAdvice::Silent,
    }
}

/// `retry-after-ms`, or `retry-after` in seconds or as a date by the server's clock; at most
/// [`LONGEST_WAIT`].
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    retry_delay(headers).map(|hint| hint.min(LONGEST_WAIT))
}

fn retry_delay(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| value(headers, name).and_then(|text| text.parse::<f64>().ok()); // a date is read below
    let positive = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .ok() // negative: no hint
            .filter(|hint| !hint.is_zero())
    };
    if let Some(millis) = number("retry-after-ms") {
        return positive(millis / 1000.0);
    }
    if let Some(seconds) = number("retry-after") {
        return positive(seconds);
    }
    let until = date(headers, "retry-after")?;
    let now = date(headers, "date")?;
    u64::try_from(until - now)
        .ok() // already over
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs)
}

/// The most used window.
pub(crate) fn observed(headers: &HeaderMap) -> LimitSignal {
    if let Some(status) = value(headers, "anthropic-ratelimit-unified-status") {
        let utilization = share(headers, "anthropic-ratelimit-unified-5h-utilization");
        let window = "five_hour".to_owned();
        let resets_at = reset(headers, "anthropic-ratelimit-unified-5h-reset");
        return if status == "allowed_warning" {
            LimitSignal::Warning {
                window,
                utilization,
                resets_at,
            }
        } else {
            LimitSignal::Allowed {
                window,
                utilization,
                resets_at,
            }
        };
    }
    let mut fullest: Option<(&str, f64, Option<i64>)> = None;
    for window in ["requests", "tokens", "input-tokens", "output-tokens"] {
        for name in [
            |window: &str, what: &str| format!("anthropic-ratelimit-{window}-{what}"),
            |window: &str, what: &str| format!("x-ratelimit-{what}-{window}"),
        ] {
            let (Some(limit), Some(remaining)) = (
                share(headers, &name(window, "limit")),
                share(headers, &name(window, "remaining")),
            ) else {
                continue;
            };
            if limit <= 0.0 {
                continue;
            }
            let used = (1.0 - remaining / limit).clamp(0.0, 1.0);
            if fullest.is_none_or(|(_, most, _)| used > most) {
                fullest = Some((window, used, reset(headers, &name(window, "reset"))));
            }
        }
    }
    let (window, utilization, resets_at) = match fullest {
        Some((window, used, resets_at)) => (window, Some(used), resets_at),
        None => ("requests", None, None),
    };
    LimitSignal::Allowed {
        window: window.to_owned(),
        utilization,
        resets_at,
    }
}

/// Unix seconds, from RFC 3339, Unix seconds, or a span such as `6m0s` by the server's clock.
fn reset(headers: &HeaderMap, name: &str) -> Option<i64> {
    let text = value(headers, name)?;
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(at.as_second());
    }
    if let Ok(seconds) = text.parse::<i64>() {
        return Some(seconds);
    }
    let span = text.parse::<jiff::SignedDuration>().ok()?; // not a span
    let now = date(headers, "date")?;
    now.checked_add(span.as_secs())
}

fn date(headers: &HeaderMap, name: &str) -> Option<i64> {
    let text = value(headers, name)?;
    jiff::fmt::rfc2822::parse(text)
        .ok() // not a date
        .map(|at| at.timestamp().as_second())
}

fn share(headers: &HeaderMap, name: &str) -> Option<f64> {
    value(headers, name).and_then(|text| text.parse().ok()) // not a number
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()) // not text: not one of ours
}
