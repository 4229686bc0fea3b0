//! Maps providers' errors to the error taxonomy (KTX-67, KODE-72).

use std::time::Duration;

use ktx_llm_runtime::{LONGEST_WAIT, LlmError, LlmErrorKind};
use serde_json::Value;

use super::json::{list, text};
use super::request::OutputLimit;

const DETAIL_LENGTH: usize = 600;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// Such as `rate_limit_error` or `RESOURCE_EXHAUSTED`.
    pub(crate) class: String,
    /// Such as `insufficient_quota`.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
}

pub(crate) fn complaint(body: &Value) -> Option<ProviderError> {
    // Google answers a refused stream with a list of one.
    let body = body
        .as_array()
        .and_then(|list| list.first())
        .unwrap_or(body);
    let error = body
        .pointer("/response/error")
        .or_else(|| body.get("error"))
        .filter(|error| !error.is_null())
        .unwrap_or(body);
    if let Value::String(message) = error {
        return Some(ProviderError {
            message: message.clone(),
            ..ProviderError::default()
        });
    }
    let message = text(error, "/message").unwrap_or_default();
    let class = text(error, "/type")
        .filter(|class| *class != "error")
        .or_else(|| text(error, "/status"))
        .unwrap_or_default();
    let code = text(error, "/details/error_code")
        .or_else(|| text(error, "/code"))
        .unwrap_or_default();
    let status = ["code", "status"]
        .iter()
        .find_map(|key| error_status(error.get(*key)?));
    if message.is_empty() && class.is_empty() && code.is_empty() && status.is_none() {
        return None;
    }
    Some(ProviderError {
        class: class.to_owned(),
        code: code.to_owned(),
        message: message.to_owned(),
        status,
        retry_after: list(error, "/details")
            .iter()
            .find_map(|detail| text(detail, "/retryDelay"))
            .and_then(seconds),
    })
}

fn error_status(value: &Value) -> Option<u16> {
    let number = match value {
        Value::String(digits) => digits.parse().ok()?, // not a number: no status
        other => other.as_u64()?,
    };
    u16::try_from(number)
        .ok() // not a status either
        .filter(|status| (400..600).contains(status))
}

/// `37s` or `1.5s`
fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?; // an unreadable delay is ignored
    let hint = Duration::try_from_secs_f64(seconds).ok()?; // so is a negative one
    Some(hint.min(LONGEST_WAIT))
}

/// `status` is 200 inside a stream.
pub(crate) fn classified(status: u16, complaint: &ProviderError) -> LlmError {
    let kind = kind(status, complaint);
    let mut error = LlmError::new(kind, message(kind, status));
    if let Some(hint) = hint(kind) {
        error = error.hint(hint);
    }
    let words = [
        complaint.class.as_str(),
        complaint.code.as_str(),
        complaint.message.as_str(),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect::<Vec<_>>()
    .join(": ");
    if !words.is_empty() {
        error = error.detail(excerpt(&words));
    }
    error.retry_after = complaint.retry_after;
    error
}

/// Never retried, not even as 429.
const MONEY: [&str; 12] = [
    "billing_error",
    "insufficient_quota",
    "credit_balance_exhausted",
    "organization_spend_limit_exceeded",
    "project_spend_limit_exceeded",
    "organization_usage_limit_exceeded",
    "enforced_spend_limit_reached",
    "contract_spend_limit_reached",
    "linked_organization_spend_limit_reached",
    "linked_organization_billing_unavailable",
    "insufficient_balance",
    "insufficient_credits",
];

fn kind(status: u16, complaint: &ProviderError) -> LlmErrorKind {
    let status = match status {
        200 => complaint.status.unwrap_or(200),
        status => status,
    };
    let named = |names: &[&str]| {
        names
            .iter()
            .any(|name| complaint.class == *name || complaint.code == *name)
    };
    let says = |words: &[&str]| {
        let message = complaint.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    };
    if status == 402 || named(&MONEY) {
        return LlmErrorKind::Billing;
    }
    if named(&[
        "context_length_exceeded",
        "request_too_large",
        "string_above_max_length",
    ]) || status == 413
        || (matches!(status, 200 | 400 | 422)
            && says(&[
                "prompt is too long",
                "context length",
                "context window",
                "exceeds the maximum number of tokens",
                "input token count",
                "too many tokens",
            ]))
    {
        return LlmErrorKind::ContextTooLong;
    }
    if named(&["invalid_api_key"]) || (status == 400 && says(&["api key not valid"])) {
        return LlmErrorKind::Auth;
    }
    if named(&["model_not_found", "not_found_error", "NOT_FOUND"]) {
        return LlmErrorKind::ModelNotFound;
    }
    match status {
        401 | 403 => LlmErrorKind::Auth,
        404 => LlmErrorKind::ModelNotFound,
        408 => LlmErrorKind::Timeout,
        429 => LlmErrorKind::RateLimit,
        503 | 529 => LlmErrorKind::Overloaded,
        409 | 500.. => LlmErrorKind::Server,
        400.. => LlmErrorKind::InvalidRequest,
        _ => by_class(complaint),
    }
}

/// A stream reports only the class.
fn by_class(complaint: &ProviderError) -> LlmErrorKind {
    for name in [complaint.class.as_str(), complaint.code.as_str()] {
        let kind = match name {
            "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" | "slow_down" => {
                LlmErrorKind::RateLimit
            }
            "overloaded_error" | "server_is_overloaded" | "UNAVAILABLE" => LlmErrorKind::Overloaded,
            "authentication_error"
            | "permission_error"
            | "UNAUTHENTICATED"
            | "PERMISSION_DENIED" => LlmErrorKind::Auth,
            "invalid_request_error" | "invalid_prompt" | "INVALID_ARGUMENT" => {
                LlmErrorKind::InvalidRequest
            }
            "timeout_error" | "DEADLINE_EXCEEDED" => LlmErrorKind::Timeout,
            "content_filter" => LlmErrorKind::Refusal,
            _ => continue,
        };
        return kind;
    }
    LlmErrorKind::Server
}

fn message(kind: LlmErrorKind, status: u16) -> String {
    let what = match kind {
        LlmErrorKind::Auth => "the provider does not accept the key",
        LlmErrorKind::Billing => "the provider's account has no credit",
        LlmErrorKind::RateLimit => "the provider's rate limit is reached",
        LlmErrorKind::Overloaded => "the provider is overloaded",
        LlmErrorKind::Timeout => "the provider timed out",
        LlmErrorKind::ContextTooLong => "the prompt does not fit the model",
        LlmErrorKind::ModelNotFound => "the provider does not know the model",
        LlmErrorKind::InvalidRequest => "the provider refused the request",
        LlmErrorKind::Refusal => "the provider's filter refused the request",
        _ => "the provider failed",
    };
    if status == 200 {
        what.to_owned()
    } else {
        format!("{what} (HTTP {status})")
    }
}

fn hint(kind: LlmErrorKind) -> Option<&'static str> {
    match kind {
        LlmErrorKind::Auth => Some("check the key and its permissions"),
        LlmErrorKind::Billing => {
            Some("add credit to the provider's account, or use another backend")
        }
        LlmErrorKind::ModelNotFound => Some("check `llm.models` and `base_url` in `ktx.yaml`"),
        LlmErrorKind::Server | LlmErrorKind::Overloaded => {
            Some("run the command again later; `--debug` shows what the provider said")
        }
        LlmErrorKind::ContextTooLong => Some(LARGER_WINDOW),
        LlmErrorKind::InvalidRequest | LlmErrorKind::Refusal => Some(LOOK_INSIDE),
        _ => None,
    }
}

pub(crate) const LOOK_INSIDE: &str =
    "run the command again with `--debug`, which shows what the provider said";

pub(crate) const LARGER_WINDOW: &str = "set `llm.models` to a model with a larger context window";

pub(crate) const ASK_ANOTHER: &str =
    "run the command again; if the error stays, set `llm.models` to a more capable model";

pub(crate) const NO_PROTOCOL: &str = "run the command again; if the error stays, check `base_url` in `ktx.yaml` and the proxies before it";

/// The provider no longer accepts its own signature.
pub(crate) fn rejects_old_reasoning(error: &LlmError) -> bool {
    let detail = error.detail.as_deref().unwrap_or_default().to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| detail.contains(word));
    let of_anthropic = says(&["thinking"]) && says(&["signature", "cannot be modified"]);
    let of_gemini = says(&["thought signature", "thought_signature", "thoughtsignature"]);
    let of_openai = says(&["encrypted_content", "encrypted content"]);
    error.kind == LlmErrorKind::InvalidRequest && (of_anthropic || of_gemini || of_openai)
}

/// The provider does not know the stored answer.
pub(crate) fn wants_whole_history(error: &LlmError) -> bool {
    let detail = error.detail.as_deref().unwrap_or_default().to_lowercase();
    let names_it = ["previous_response", "previous response"]
        .iter()
        .any(|word| detail.contains(word));
    let kinds = [LlmErrorKind::InvalidRequest, LlmErrorKind::ModelNotFound];
    names_it && kinds.contains(&error.kind)
}

/// `None` if refused for another reason.
pub(crate) fn wants_limit(error: &LlmError, refused: OutputLimit) -> Option<OutputLimit> {
    let detail = error.detail.as_deref().unwrap_or_default().to_lowercase();
    let is_about = ["max_tokens", "max_completion_tokens", "in the completion"]
        .iter()
        .any(|word| detail.contains(word));
    let kinds = [LlmErrorKind::InvalidRequest, LlmErrorKind::ContextTooLong];
    if !is_about || !kinds.contains(&error.kind) {
        return None;
    }
    match refused {
        OutputLimit::Usual if detail.contains("use 'max_completion_tokens'") => {
            Some(OutputLimit::WithReasoning)
        }
        OutputLimit::Usual | OutputLimit::WithReasoning => Some(OutputLimit::Unnamed),
        OutputLimit::Unnamed => None,
    }
}

pub(crate) fn in_stream(data: &Value) -> LlmError {
    classified(200, &complaint(data).unwrap_or_default())
}

pub(crate) fn stopped(reason: &str) -> LlmError {
    let (kind, what) = match reason {
        "insufficient_system_resource" => (
            LlmErrorKind::Overloaded,
            "the provider interrupted the answer: it is overloaded",
        ),
        "error" | "network_error" | "OTHER" | "IMAGE_OTHER" | "FINISH_REASON_UNSPECIFIED" => (
            LlmErrorKind::Server,
            "the provider interrupted the answer without a reason",
        ),
        "MALFORMED_FUNCTION_CALL" => (
            LlmErrorKind::Protocol,
            "the model made a tool call that cannot be read",
        ),
        "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => (
            LlmErrorKind::Protocol,
            "the model called a tool unexpectedly",
        ),
        _ => (
            LlmErrorKind::Protocol,
            "the answer ended for a reason that ktx does not know",
        ),
    };
    let error = LlmError::new(kind, what).detail(excerpt(&format!("stop reason: {reason}")));
    match hint(kind) {
        Some(hint) => error.hint(hint),
        None => {
            error.hint("run the command again, or choose another model; `--debug` shows the reason")
        }
    }
}

pub(crate) fn event_json(data: &str) -> Result<Value, LlmError> {
    serde_json::from_str(data).map_err(|error| {
        LlmError::new(
            LlmErrorKind::Protocol,
            "the provider's stream contains invalid JSON",
        )
        .hint(NO_PROTOCOL)
        .detail(error.to_string())
    })
}

pub(crate) fn not_a_model_response() -> LlmError {
    LlmError::new(
        LlmErrorKind::Protocol,
        "the provider answered with JSON that does not follow its protocol",
    )
    .hint("check `base_url` in `ktx.yaml`")
}

pub(crate) fn excerpt(text: &str) -> String {
    text.chars().take(DETAIL_LENGTH).collect()
}

#[cfg(test)]
mod tests;
