//! The failures of a provider and how a call ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ktx_llm_runtime::{GovernorSettings, LlmErrorKind as Kind, LlmRuntime as _};
use ktx_provider_adapters::{HttpRuntime, RateLimit};
use ktx_test_support::loopback::{Answer, End, Loopback};
use ktx_vocabulary::Provider;
use serde_json::json;

use crate::cuts::LedgerSink;
use crate::fake::{ask, settings, stream_text};

fn refusal(status: u16, class: &str, header: Option<(&str, &str)>) -> Answer {
    let body = json!({"type": "error", "error": {"type": class, "message": "words"}});
    let answer = Answer::json(status, &body);
    match header {
        Some((name, value)) => answer.header(name, value),
        None => answer,
    }
}

fn reset() -> Answer {
    Answer {
        end: End::CutAfter(0),
        ..Answer::stream(stream_text("m1", "end_turn", &[]))
    }
}

fn table() -> Vec<(Answer, usize, Kind)> {
    let hint = Some(("retry-after-ms", "1"));
    let stop = Some(("x-should-retry", "false"));
    vec![
        (refusal(429, "rate_limit_error", None), 6, Kind::RateLimit),
        (refusal(429, "rate_limit_error", hint), 6, Kind::RateLimit),
        (refusal(429, "rate_limit_error", stop), 1, Kind::RateLimit),
        (refusal(429, "insufficient_quota", None), 1, Kind::Billing),
        (refusal(500, "api_error", None), 6, Kind::Server),
        (refusal(502, "api_error", None), 6, Kind::Server),
        (refusal(503, "overloaded_error", None), 6, Kind::Overloaded),
        (refusal(529, "overloaded_error", None), 6, Kind::Overloaded),
        (refusal(408, "timeout_error", None), 6, Kind::Timeout),
        (reset(), 6, Kind::Transport),
        (
            refusal(400, "invalid_request_error", None),
            1,
            Kind::InvalidRequest,
        ),
        (refusal(401, "authentication_error", None), 1, Kind::Auth),
        (refusal(402, "billing_error", None), 1, Kind::Billing),
        (
            refusal(404, "not_found_error", None),
            1,
            Kind::ModelNotFound,
        ),
        (
            refusal(413, "request_too_large", None),
            1,
            Kind::ContextTooLong,
        ),
    ]
}

/// KTX-67, KODE-72.
#[tokio::test]
async fn the_matrix_of_failures_ends_as_documented() {
    for (answer, tries, kind) in table() {
        let shown = format!("{answer:?}");
        let server = Loopback::start(move |_, _| answer.clone()).expect("a provider");
        let books = Arc::new(LedgerSink::new());
        let mut settings = settings(Provider::Anthropic, "haiku", &server.address());
        settings.rate_limit = RateLimit::Own(GovernorSettings {
            base_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(4),
            ..GovernorSettings::default()
        });
        let runtime = HttpRuntime::new(settings, books.clone()).expect("usable settings");
        let error = runtime
            .generate_text(ask("x"))
            .await
            .expect_err("a failure");
        assert_eq!(
            (server.requests().len(), error.kind),
            (tries, kind),
            "{shown}"
        );
        let sums = books.sums();
        if kind == Kind::Transport {
            let row = &sums["r1"];
            let tries = u64::try_from(tries).expect("a count");
            assert_eq!((row.messages, row.incomplete), (tries, tries), "{shown}");
        } else {
            assert_eq!(sums, BTreeMap::new(), "{shown}");
        }
    }
}

/// KODE-72.
#[tokio::test]
async fn silence_ends_as_a_timeout() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let mut settings = settings(Provider::Anthropic, "haiku", &address);
    settings.timeouts.first_byte = Duration::from_millis(50);
    let (runtime, events) = crate::fake::runtime(settings);
    let error = runtime
        .generate_text(ask("x"))
        .await
        .expect_err("a failure");
    assert_eq!(error.kind, Kind::Timeout);
    assert_eq!(events.retries().len(), 1);
    silent.abort();
}
