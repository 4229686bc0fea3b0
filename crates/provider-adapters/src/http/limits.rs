//! What response headers say about limits and about trying again.

use std::time::Duration;

use ktx_llm_runtime::LimitSignal;
use reqwest::header::HeaderMap;

/// What `x-should-retry` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    Try,
    Stop,
    Silent,
}

pub(super) fn advice(headers: &HeaderMap) -> Advice {
    match value(headers, "x-should-retry") {
        Some("true") => Advice::Try,
        Some("false") => Advice::Stop,
        _ => Advice::Silent,
    }
}

/// How long to wait: `retry-after-ms`, else `retry-after` in seconds or as a date, which counts
/// from the server's own clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| value(headers, name).and_then(|text| text.parse::<f64>().ok()); // a date is read below
    let positive = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .ok() // a negative hint is none
            .filter(|hint| !hint.is_zero())
    };
    if let Some(millis) = number("retry-after-ms") {
        return positive(millis / 1000.0);
    }
    if let Some(seconds) = number("retry-after") {
        return positive(seconds);
    }
    let date = |name| {
        value(headers, name).and_then(|text| jiff::fmt::rfc2822::parse(text).ok()) // unreadable: no hint
    };
    let until = date("retry-after")?.timestamp().as_second();
    let now = date("date")?.timestamp().as_second();
    u64::try_from(until - now)
        .ok() // it is over already
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs)
}

/// The window that is used most, of those that a successful response tells.
pub(super) fn observed(headers: &HeaderMap) -> LimitSignal {
    if let Some(status) = value(headers, "anthropic-ratelimit-unified-status") {
        let utilization = share(headers, "anthropic-ratelimit-unified-5h-utilization");
        let window = "five_hour".to_owned();
        return if status == "allowed_warning" {
            LimitSignal::Warning {
                window,
                utilization,
            }
        } else {
            LimitSignal::Allowed {
                window,
                utilization,
            }
        };
    }
    let mut fullest: Option<(String, f64)> = None;
    for window in ["requests", "tokens", "input-tokens", "output-tokens"] {
        for (limit, remaining) in [
            (
                format!("anthropic-ratelimit-{window}-limit"),
                format!("anthropic-ratelimit-{window}-remaining"),
            ),
            (
                format!("x-ratelimit-limit-{window}"),
                format!("x-ratelimit-remaining-{window}"),
            ),
        ] {
            let (Some(limit), Some(remaining)) =
                (share(headers, &limit), share(headers, &remaining))
            else {
                continue;
            };
            if limit <= 0.0 {
                continue;
            }
            let used = (1.0 - remaining / limit).clamp(0.0, 1.0);
            if fullest.as_ref().is_none_or(|(_, most)| used > *most) {
                fullest = Some((window.to_owned(), used));
            }
        }
    }
    let (window, utilization) = match fullest {
        Some((window, used)) => (window, Some(used)),
        None => ("requests".to_owned(), None),
    };
    LimitSignal::Allowed {
        window,
        utilization,
    }
}

fn share(headers: &HeaderMap, name: &str) -> Option<f64> {
    value(headers, name).and_then(|text| text.parse().ok()) // an unreadable number tells nothing
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()) // no text: not one of ours
}
