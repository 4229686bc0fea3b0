//! Tests of the stop mapping over its whole truth table, and of the error taxonomy.

use ktx_llm_runtime::{LlmErrorKind, StopReason};

use super::{FailureSigns, ResultSignals, described, failure, failure_kind, stop_reason};
use crate::protocol::{RateLimit, ResultFrame};

const SUBTYPES: &[&str] = &[
    "success",
    "error_max_turns",
    "error_during_execution",
    "error_max_budget_usd",
    "error_max_structured_output_retries",
    "error_of_tomorrow",
];

const TERMINAL: &[Option<&str>] = &[
    None,
    Some("completed"),
    Some("max_turns"),
    Some("blocking_limit"),
    Some("rapid_refill_breaker"),
    Some("prompt_too_long"),
    Some("image_error"),
    Some("model_error"),
    Some("aborted_streaming"),
    Some("aborted_tools"),
    Some("stop_hook_prevented"),
    Some("hook_stopped"),
    Some("tool_deferred"),
    Some("api_error"),
    Some("malformed_tool_use_exhausted"),
    Some("background_requested"),
    Some("budget_exhausted"),
    Some("structured_output_retry_exhausted"),
    Some("tool_deferred_unavailable"),
    Some("turn_setup_failed"),
    Some("reason_of_tomorrow"),
];

const STOPS: &[Option<&str>] = &[
    None,
    Some("end_turn"),
    Some("tool_use"),
    Some("max_tokens"),
    Some("stop_sequence"),
    Some("refusal"),
    Some("max_turns"),
];

/// KTX-60, KTX-61, KTX-62, KTX-63, KTX-64.
#[test]
fn the_stop_mapping_has_no_gaps() {
    let mut natural = Vec::new();
    let (mut budget, mut errors) = (0, 0);
    for subtype in SUBTYPES {
        for is_error in [false, true] {
            for terminal in TERMINAL {
                for stop in STOPS {
                    let any_max_turns = *subtype == "error_max_turns"
                        || *terminal == Some("max_turns")
                        || *stop == Some("max_turns");
                    let found = stop_reason(ResultSignals {
                        subtype,
                        is_error,
                        terminal_reason: *terminal,
                        stop_reason: *stop,
                    });
                    assert_eq!(found == StopReason::Budget, any_max_turns);
                    match found {
                        StopReason::Budget => budget += 1,
                        StopReason::Error => errors += 1,
                        StopReason::Natural => natural.push((*subtype, is_error, *terminal)),
                    }
                }
            }
        }
    }
    natural.dedup();
    assert_eq!(
        natural,
        [
            ("success", false, None),
            ("success", false, Some("completed"))
        ]
    );
    let all = SUBTYPES.len() * 2 * TERMINAL.len() * STOPS.len();
    assert_eq!((all, budget + errors + 12), (1764, 1764));
}

/// C-11.
#[test]
fn the_last_allowed_turn_may_succeed() {
    assert_eq!(
        stop_reason(ResultSignals {
            subtype: "success",
            is_error: false,
            terminal_reason: Some("completed"),
            stop_reason: Some("end_turn"),
        }),
        StopReason::Natural
    );
}

fn result(subtype: &str, terminal: Option<&str>, status: Option<u16>) -> ResultFrame {
    ResultFrame {
        subtype: subtype.to_owned(),
        is_error: true,
        terminal_reason: terminal.map(str::to_owned),
        api_status: status,
        text: Some("BACKEND WORDS".to_owned()),
        ..ResultFrame::default()
    }
}

fn signs(class: Option<&str>) -> FailureSigns {
    FailureSigns {
        class: class.map(str::to_owned),
        rejected: None,
    }
}

/// KTX-67.
#[test]
fn failures_have_one_taxonomy() {
    use LlmErrorKind as Kind;
    let api = Some("api_error");
    let old = Some("completed");
    let table = [
        (old, None, Some("authentication_failed"), Kind::Auth),
        (api, Some(401), Some("authentication_failed"), Kind::Auth),
        (api, Some(403), Some("authentication_failed"), Kind::Auth),
        (api, None, Some("oauth_org_not_allowed"), Kind::Auth),
        (api, None, Some("account_on_hold"), Kind::Auth),
        (api, None, Some("verification_required"), Kind::Auth),
        (old, Some(429), Some("rate_limit"), Kind::RateLimit),
        (old, Some(529), Some("server_error"), Kind::Overloaded),
        (api, Some(529), Some("overloaded"), Kind::Overloaded),
        (old, Some(500), Some("server_error"), Kind::Server),
        (api, None, Some("server_error"), Kind::Transport),
        (old, None, Some("unknown"), Kind::Transport),
        (api, Some(400), Some("billing_error"), Kind::Billing),
        (
            Some("prompt_too_long"),
            Some(400),
            Some("invalid_request"),
            Kind::ContextTooLong,
        ),
        (
            Some("blocking_limit"),
            None,
            Some("invalid_request"),
            Kind::ContextTooLong,
        ),
        (old, Some(404), Some("invalid_request"), Kind::ModelNotFound),
        (api, Some(404), Some("model_not_found"), Kind::ModelNotFound),
        (old, Some(400), Some("unknown"), Kind::InvalidRequest),
        (api, None, Some("max_output_tokens"), Kind::MaxOutput),
        (Some("image_error"), None, None, Kind::InvalidRequest),
        (Some("model_error"), None, None, Kind::Server),
        (Some("hook_stopped"), None, None, Kind::Permission),
        (
            Some("malformed_tool_use_exhausted"),
            None,
            None,
            Kind::Protocol,
        ),
        (Some("turn_setup_failed"), None, None, Kind::Crashed),
        (api, Some(503), Some("class_of_tomorrow"), Kind::Server),
        (Some("reason_of_tomorrow"), None, None, Kind::Protocol),
    ];
    for (terminal, status, class, kind) in table {
        let found = failure_kind(&result("success", terminal, status), &signs(class));
        assert_eq!(found, kind, "{terminal:?} {status:?} {class:?}");
    }
    let by_subtype =
        |subtype, terminal| failure_kind(&result(subtype, terminal, None), &signs(None));
    assert_eq!(by_subtype("error_max_turns", None), Kind::MaxTurns);
    assert_eq!(by_subtype("error_max_budget_usd", None), Kind::Budget);
    assert_eq!(
        by_subtype("error_max_structured_output_retries", None),
        Kind::StructuredOutput
    );
    assert_eq!(
        by_subtype("error_during_execution", Some("aborted_tools")),
        Kind::Cancelled
    );
    assert_eq!(by_subtype("error_during_execution", None), Kind::Crashed);
    let mut refusal = result("success", old, None);
    refusal.stop_reason = Some("refusal".to_owned());
    assert_eq!(
        failure_kind(&refusal, &signs(Some("invalid_request"))),
        Kind::Refusal
    );
}

#[test]
fn a_rate_limit_says_how_long_to_wait() {
    let mut signs = signs(Some("rate_limit"));
    signs.rejected = Some(RateLimit {
        status: "rejected".to_owned(),
        window: "five_hour".to_owned(),
        resets_at: Some(1_795_300_000),
        utilization: Some(1.0),
        is_extra: false,
    });
    let error = failure(
        &result("success", None, Some(429)),
        &signs,
        "sonnet",
        1_795_296_400,
    );
    assert_eq!(
        (
            error.kind,
            &*error.message,
            error.retry_after.map(|wait| wait.as_secs())
        ),
        (
            LlmErrorKind::RateLimit,
            "the 5-hour usage limit of your Claude plan is reached until 2026-11-21 22:26 UTC",
            Some(3600)
        )
    );
    let late = failure(
        &result("success", None, Some(429)),
        &signs,
        "sonnet",
        1_795_300_001,
    );
    assert_eq!(late.retry_after, None);
}

#[test]
fn the_wait_is_sane_whatever_the_clocks_say() {
    let wait = |resets_at: i64, now: i64| {
        let signs = FailureSigns {
            class: Some("rate_limit".to_owned()),
            rejected: Some(RateLimit {
                status: "rejected".to_owned(),
                window: "five_hour".to_owned(),
                utilization: None,
                is_extra: false,
                resets_at: Some(resets_at),
            }),
        };
        let result = result("success", None, Some(429));
        let error = failure(&result, &signs, "sonnet", now);
        assert_eq!(error.kind, LlmErrorKind::RateLimit);
        error.retry_after.map(|wait| wait.as_secs())
    };
    let (week, now) = (7 * 24 * 60 * 60, 1_795_300_000);
    assert_eq!(wait(now, now), Some(0));
    assert_eq!(wait(now + 1, now), Some(1));
    assert_eq!(wait(now - 1, now), None);
    // Milliseconds in place of seconds.
    assert_eq!(wait(now * 1000, now), Some(week));
    assert_eq!(wait(i64::MAX, now), Some(week));
    assert_eq!(wait(i64::MAX, i64::MIN), Some(week));
    assert_eq!(wait(i64::MIN, now), None);
    assert_eq!(wait(i64::MIN, i64::MAX), None);
}

#[test]
fn a_status_in_the_text_counts_when_there_is_no_other() {
    let result_with = |text: &str, status| ResultFrame {
        text: Some(text.to_owned()),
        ..result("success", None, status)
    };
    for (text, status, kind) in [
        (
            "API Error: 529 {\"type\":\"error\"}",
            None,
            LlmErrorKind::Overloaded,
        ),
        (
            "API Error: 500 oops",
            Some(404),
            LlmErrorKind::ModelNotFound,
        ),
        ("API Error: 70 oops", None, LlmErrorKind::Transport),
        ("Error: 529", None, LlmErrorKind::Transport),
    ] {
        let found = failure_kind(&result_with(text, status), &signs(Some("unknown")));
        assert_eq!(found, kind, "{text}");
    }
}

/// COG-19.
#[test]
fn messages_are_ours() {
    for class in [
        "authentication_failed",
        "rate_limit",
        "server_error",
        "unknown",
        "news",
    ] {
        let error = failure(
            &result("success", None, Some(500)),
            &signs(Some(class)),
            "sonnet",
            0,
        );
        let public = format!("{} {:?}", error.message, error.hint);
        assert!(!public.contains("BACKEND WORDS"), "{public}");
        assert!(error.detail.unwrap().contains("BACKEND WORDS"));
    }
}

#[test]
fn every_failure_has_a_next_step() {
    for kind in LlmErrorKind::ALL {
        let error = described(kind, &FailureSigns::default(), "sonnet");
        let is_cancelled = kind == LlmErrorKind::Cancelled;
        assert_eq!(error.hint.is_none(), is_cancelled, "{kind:?}");
    }
}
