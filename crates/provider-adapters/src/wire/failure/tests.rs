//! Tests of the table of failures: status and body to kind.

use serde_json::{Value, json};

use super::{classified, complaint, in_stream, rejects_old_reasoning, stopped};

fn kind(status: u16, body: &Value) -> &'static str {
    classified(status, &complaint(body).unwrap_or_default())
        .kind
        .code()
        .as_str()
}

type Case = (u16, Value, &'static str);

fn anthropic_cases() -> Vec<Case> {
    let anthropic = |class: &str, message: &str| json!({"type": "error", "error": {"type": class, "message": message}, "request_id": "r"});
    let spend = json!({"type": "error", "error": {
        "type": "rate_limit_error",
        "message": "m",
        "details": {"error_code": "enforced_spend_limit_reached"},
    }});
    vec![
        (
            400,
            anthropic("invalid_request_error", "bad"),
            "llm_invalid_request",
        ),
        (
            400,
            anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8"),
            "llm_context_too_long",
        ),
        (401, anthropic("authentication_error", "no"), "llm_auth"),
        (402, anthropic("billing_error", "no"), "llm_billing"),
        (403, anthropic("permission_error", "no"), "llm_auth"),
        (
            404,
            anthropic("not_found_error", "model"),
            "llm_model_not_found",
        ),
        (409, anthropic("conflict_error", "c"), "llm_server"),
        (
            413,
            anthropic("request_too_large", "b"),
            "llm_context_too_long",
        ),
        (429, anthropic("rate_limit_error", "r"), "llm_rate_limit"),
        (429, spend, "llm_billing"),
        (500, anthropic("api_error", "e"), "llm_server"),
        (504, anthropic("timeout_error", "e"), "llm_server"),
        (529, anthropic("overloaded_error", "o"), "llm_overloaded"),
        (200, anthropic("overloaded_error", "o"), "llm_overloaded"),
    ]
}

fn other_cases() -> Vec<Case> {
    let openai = |class: &str, code: &str, message: &str| json!({"error": {"type": class, "code": code, "message": message}});
    let google = |status: &str, message: &str| json!({"error": {"code": 1, "status": status, "message": message}});
    vec![
        (
            401,
            openai("invalid_request_error", "invalid_api_key", "k"),
            "llm_auth",
        ),
        (
            400,
            openai("invalid_request_error", "context_length_exceeded", "c"),
            "llm_context_too_long",
        ),
        (
            404,
            openai("invalid_request_error", "model_not_found", "m"),
            "llm_model_not_found",
        ),
        (
            429,
            openai("tokens", "rate_limit_exceeded", "r"),
            "llm_rate_limit",
        ),
        (
            429,
            openai("insufficient_quota", "insufficient_quota", "q"),
            "llm_billing",
        ),
        (
            429,
            openai("x", "credit_balance_exhausted", "q"),
            "llm_billing",
        ),
        (
            503,
            openai("server_error", "server_is_overloaded", "s"),
            "llm_overloaded",
        ),
        (408, json!({}), "llm_timeout"),
        (422, json!({"error": "bad"}), "llm_invalid_request"),
        (
            429,
            json!([google("RESOURCE_EXHAUSTED", "r")]),
            "llm_rate_limit",
        ),
        (
            400,
            google("INVALID_ARGUMENT", "API key not valid. Pass one."),
            "llm_auth",
        ),
        (403, google("PERMISSION_DENIED", "p"), "llm_auth"),
        (404, google("NOT_FOUND", "p"), "llm_model_not_found"),
        (503, google("UNAVAILABLE", "p"), "llm_overloaded"),
        (
            200,
            openai("invalid_request_error", "", "maximum context length is 8"),
            "llm_context_too_long",
        ),
        (
            200,
            json!({"response": {"error": {"code": "rate_limit_exceeded", "message": "m"}}}),
            "llm_rate_limit",
        ),
        (
            200,
            json!({"error": {"code": 402, "message": "m"}}),
            "llm_billing",
        ),
        (
            200,
            json!({"error": {"code": 401, "message": "m"}}),
            "llm_auth",
        ),
        (200, json!({"error": {"code": "429"}}), "llm_rate_limit"),
        (
            200,
            json!({"error": {"status": 503, "message": "m"}}),
            "llm_overloaded",
        ),
        (
            200,
            json!({"error": {"code": 400, "message": "m"}}),
            "llm_invalid_request",
        ),
        (
            200,
            json!({"error": {"code": 7, "message": "m"}}),
            "llm_server",
        ),
        (
            500,
            json!({"error": {"code": 402, "message": "m"}}),
            "llm_server",
        ),
    ]
}

/// KTX-67, KODE-72.
#[test]
fn statuses_and_codes_become_one_taxonomy() {
    for (status, body, expected) in anthropic_cases().into_iter().chain(other_cases()) {
        assert_eq!(kind(status, &body), expected, "{status} {body}");
    }
}

#[test]
fn googles_retry_hint_is_read() {
    let body = json!({"error": {"status": "RESOURCE_EXHAUSTED", "message": "m", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"},
    ]}});
    let error = in_stream(&body);
    assert_eq!(error.retry_after.map(|hint| hint.as_secs()), Some(37));
}

#[test]
fn our_words_hold_none_of_the_providers() {
    let body = json!({"error": {"type": "invalid_request_error", "message": "secret words"}});
    let error = classified(400, &complaint(&body).unwrap());
    assert_eq!(
        error.to_string(),
        "the provider refused the request (HTTP 400)"
    );
    assert_eq!(
        error.detail.as_deref(),
        Some("invalid_request_error: secret words")
    );
}

#[test]
fn a_refused_signature_is_recognised() {
    let refused = |message: &str| {
        let body = json!({"error": {"type": "invalid_request_error", "message": message}});
        rejects_old_reasoning(&classified(400, &complaint(&body).unwrap()))
    };
    assert!(refused(
        "messages.1.content.0: Invalid `signature` in `thinking` block"
    ));
    assert!(!refused("max_tokens: too large"));
}

/// KTX-67.
#[test]
fn reasons_that_end_no_answer_are_failures() {
    let said: Vec<String> = [
        "insufficient_system_resource",
        "OTHER",
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "brand_new",
    ]
    .iter()
    .map(|reason| {
        let error = stopped(reason);
        format!(
            "{} {error} ({})",
            error.kind.code().as_str(),
            error.detail.as_deref().unwrap_or_default()
        )
    })
    .collect();
    assert_eq!(
        said,
        [
            "llm_overloaded the provider interrupted the answer: it is overloaded (stop reason: insufficient_system_resource)",
            "llm_server the provider interrupted the answer without a reason (stop reason: OTHER)",
            "llm_protocol the model made a tool call that cannot be read (stop reason: MALFORMED_FUNCTION_CALL)",
            "llm_protocol the model called a tool unexpectedly (stop reason: UNEXPECTED_TOOL_CALL)",
            "llm_protocol the answer ended for a reason that ktx does not know (stop reason: brand_new)",
        ]
    );
}

#[test]
fn failures_without_a_retry_have_a_hint() {
    let hint = |status: u16, body: Value| {
        let complaint = complaint(&body).unwrap_or_default();
        classified(status, &complaint).hint.unwrap_or_default()
    };
    let inside = "run the command again with `--debug`, which shows what the provider said";
    assert_eq!(
        [
            hint(413, json!({})),
            hint(400, json!({"error": "bad"})),
            hint(200, json!({"error": {"type": "content_filter"}})),
        ],
        [
            "set `llm.models` to a model with a larger context window",
            inside,
            inside,
        ]
    );
}
