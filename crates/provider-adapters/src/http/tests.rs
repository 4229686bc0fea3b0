//! Tests of addresses and response headers.

use std::time::Duration;

use ktx_llm_runtime::LimitSignal;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::address::{ApiKeyUse, normalized, vertex};
use crate::limit_headers::{observed, retry_after};
use crate::preset::Protocol;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

/// KODE-23: Anthropic's paths include their version.
#[test]
fn base_addresses_are_normalised_for_their_protocol() {
    for (protocol, base, expected) in [
        (
            Protocol::Anthropic,
            "https://api.anthropic.com/v1/",
            "https://api.anthropic.com",
        ),
        (
            Protocol::Anthropic,
            "https://proxy.test//anthropic",
            "https://proxy.test/anthropic",
        ),
        (
            Protocol::OpenAiChat,
            "http://localhost:11434",
            "http://localhost:11434/v1",
        ),
        (
            Protocol::OpenAiChat,
            "https://open.test/api//paas/v4/",
            "https://open.test/api/paas/v4",
        ),
        (
            Protocol::OpenAiResponses,
            " https://api.openai.com ",
            "https://api.openai.com/v1",
        ),
        (Protocol::Gemini, "https://g.test", "https://g.test/v1beta"),
        (
            Protocol::Gemini,
            "https://g.test/v1beta",
            "https://g.test/v1beta",
        ),
    ] {
        let found = normalized(base, protocol, ApiKeyUse::Sent).unwrap();
        assert_eq!(found.with("/x"), format!("{expected}/x"));
    }
    // A user's own server without a key.
    let own = normalized(
        "http://10.0.0.7:8000",
        Protocol::OpenAiChat,
        ApiKeyUse::None,
    );
    assert_eq!(own.unwrap().url, "http://10.0.0.7:8000/v1");
    for wrong in ["api.openai.com", "ftp://x", "", "file:///etc"] {
        assert_eq!(
            normalized(wrong, Protocol::OpenAiChat, ApiKeyUse::None)
                .unwrap_err()
                .to_string(),
            format!("`{wrong}` is not an API URL")
        );
    }
}

#[test]
fn the_query_of_an_address_is_carried_and_a_login_in_it_refused() {
    let base = "https://gateway.test/openai/deployments/d?api-version=2026-10-21&x=1";
    let base = normalized(base, Protocol::OpenAiChat, ApiKeyUse::Sent).unwrap();
    assert_eq!(
        [base.with("/chat/completions"), base.with("/m?alt=sse")],
        [
            "https://gateway.test/openai/deployments/d/v1/chat/completions?api-version=2026-10-21&x=1",
            "https://gateway.test/openai/deployments/d/v1/m?alt=sse&api-version=2026-10-21&x=1",
        ]
    );
    let refused = |base: &str| {
        let error = normalized(base, Protocol::OpenAiChat, ApiKeyUse::None).unwrap_err();
        assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
        error.to_string().split("` ").nth(1).map(str::to_owned)
    };
    let login = Some("has a user name or a password, which no request would send".to_owned());
    assert_eq!(
        refused("https://ada:hidden@gateway.test/v1?k=hidden"),
        login
    );
    assert_eq!(refused("https://hidden@gateway.test/v1"), login);
    assert_eq!(refused("http://:hidden@localhost/v1"), login);
    assert_eq!(
        refused("https://gateway.test/v1#hidden"),
        Some("has a part after `#`, which no request would send".to_owned())
    );
}

#[test]
fn waits_end_at_a_point_in_time() {
    let now = 1_795_348_800;
    let words = |wait: Duration| super::until(now, wait);
    assert_eq!(
        [
            words(Duration::from_millis(7_499_200)),
            words(Duration::from_millis(20_500)),
            words(Duration::MAX),
        ],
        [
            "2026-11-22 14:05 UTC",
            "2026-11-22 12:00:21 UTC",
            "9999-12-30 22:00 UTC",
        ]
    );
}

#[test]
fn vertex_hosts_follow_the_location() {
    let hosts: Vec<String> = ["global", "eu", "us-east5"]
        .map(|location| vertex(location).url)
        .to_vec();
    assert_eq!(
        hosts,
        [
            "https://aiplatform.googleapis.com",
            "https://aiplatform.eu.rep.googleapis.com",
            "https://us-east5-aiplatform.googleapis.com",
        ]
    );
}

#[test]
fn retry_hints_are_milliseconds_seconds_or_a_date_by_the_servers_clock() {
    let check = |pairs: &[(&str, &str)], expected: Option<u64>| {
        let hint = retry_after(&headers(pairs));
        assert_eq!(hint, expected.map(Duration::from_millis), "{pairs:?}");
    };
    check(
        &[("retry-after-ms", "1500"), ("retry-after", "9")],
        Some(1500),
    );
    check(&[("retry-after", "1")], Some(1000));
    check(&[("retry-after", "0")], None);
    check(&[("retry-after", "-4")], None);
    let date = ("date", "Sat, 21 Nov 2026 10:00:00 GMT");
    check(
        &[date, ("retry-after", "Sat, 21 Nov 2026 10:00:07 GMT")],
        Some(7000),
    );
    check(
        &[date, ("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")],
        None,
    );
    check(&[("retry-after", "Sat, 21 Nov 2026 10:00:07 GMT")], None);
    check(&[("retry-after", "soon")], None);
    let week = Some(7 * 24 * 3_600_000);
    check(&[("retry-after", "10000000000000000000")], week);
    check(&[("retry-after-ms", "1e22")], week);
    check(
        &[date, ("retry-after", "Fri, 21 Nov 2036 10:00:00 GMT")],
        week,
    );
}

#[test]
fn the_fullest_window_of_a_response_is_observed() {
    let check = |pairs: &[(&str, &str)], expected: (&str, Option<f64>, Option<i64>)| {
        let (window, utilization, resets_at) = expected;
        let expected = LimitSignal::Allowed {
            window: window.to_owned(),
            utilization,
            resets_at,
        };
        assert_eq!(observed(&headers(pairs)), expected, "{pairs:?}");
    };
    check(&[], ("requests", None, None));
    check(
        &[
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "40"),
            ("anthropic-ratelimit-tokens-limit", "1000"),
            ("anthropic-ratelimit-tokens-remaining", "250"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-22T14:05:00Z"),
        ],
        ("tokens", Some(0.75), Some(1_795_356_300)),
    );
    let openai = [
        ("x-ratelimit-limit-requests", "100"),
        ("x-ratelimit-remaining-requests", "10"),
        ("x-ratelimit-reset-requests", "6m0s"),
    ];
    check(&openai, ("requests", Some(0.9), None));
    let clock = ("date", "Sun, 22 Nov 2026 14:05:00 GMT");
    let dated = [openai.as_slice(), &[clock]].concat();
    check(&dated, ("requests", Some(0.9), Some(1_795_356_660)));
    let endless = ("x-ratelimit-reset-requests", "9223372036854775807s");
    let endless = [&openai[..2], &[endless, clock]].concat();
    check(&endless, ("requests", Some(0.9), None));
}

#[test]
fn a_warning_about_a_subscriptions_window_is_observed() {
    let pairs = [
        ("anthropic-ratelimit-unified-status", "allowed_warning"),
        ("anthropic-ratelimit-unified-5h-utilization", "0.91"),
        ("anthropic-ratelimit-unified-5h-reset", "1795356300"),
    ];
    assert_eq!(
        observed(&headers(&pairs)),
        LimitSignal::Warning {
            window: "five_hour".to_owned(),
            utilization: Some(0.91),
            resets_at: Some(1_795_356_300),
        }
    );
}
