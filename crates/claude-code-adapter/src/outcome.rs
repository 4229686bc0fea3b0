//! Stop reasons (KTX-61…64) and error kinds (KTX-67).

use std::time::Duration;

use jiff::Timestamp;
use ktx_llm_runtime::{LONGEST_WAIT, LlmError, LlmErrorKind, StopReason};

use crate::protocol::{RateLimit, ResultFrame, in_seconds};
use crate::versions::use_a_tested_version;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FailureSigns {
    /// The class of the program's last error text.
    pub(crate) class: Option<String>,
    pub(crate) rejected: Option<RateLimit>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultSignals<'a> {
    pub(crate) subtype: &'a str,
    pub(crate) is_error: bool,
    pub(crate) terminal_reason: Option<&'a str>,
    pub(crate) stop_reason: Option<&'a str>,
}

/// Any `max_turns` is a used-up budget (KTX-64); `is_error` is never a success.
pub(crate) fn stop_reason(signals: ResultSignals<'_>) -> StopReason {
    let out_of_turns = signals.subtype == "error_max_turns"
        || signals.terminal_reason == Some("max_turns")
        || signals.stop_reason == Some("max_turns");
    if out_of_turns {
        StopReason::Budget
    } else if signals.subtype == "success"
        && !signals.is_error
        && matches!(signals.terminal_reason, None | Some("completed"))
    {
        StopReason::Natural
    } else {
        StopReason::Error
    }
}

pub(crate) fn stop_reason_of(result: &ResultFrame) -> StopReason {
    stop_reason(ResultSignals {
        subtype: &result.subtype,
        is_error: result.is_error,
        terminal_reason: result.terminal_reason.as_deref(),
        stop_reason: result.stop_reason.as_deref(),
    })
}

/// `now`: Unix seconds. `detail` gets the backend's text, not yet redacted.
pub(crate) fn failure(
    result: &ResultFrame,
    signs: &FailureSigns,
    model: &str,
    now: i64,
) -> LlmError {
    let kind = failure_kind(result, signs);
    let shown = FailureSigns {
        rejected: signs.rejected.clone().map(|limit| RateLimit {
            resets_at: plausible_reset(limit.resets_at, now),
            ..limit
        }),
        ..signs.clone()
    };
    let mut error = described(kind, &shown, model);
    if kind == LlmErrorKind::RateLimit
        && let Some(resets_at) = signs.rejected.as_ref().and_then(|limit| limit.resets_at)
    {
        // Clocks can be wrong: no wait for the past, none beyond the longest window.
        let left = u64::try_from(resets_at.saturating_sub(now)).ok();
        error.retry_after = left.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT));
    }
    error.detail(words(result, signs))
}

pub(crate) fn failure_kind(result: &ResultFrame, signs: &FailureSigns) -> LlmErrorKind {
    use LlmErrorKind as Kind;
    if stop_reason_of(result) == StopReason::Budget {
        return Kind::MaxTurns;
    }
    match result.subtype.as_str() {
        "error_max_structured_output_retries" => return Kind::StructuredOutput,
        "error_max_budget_usd" => return Kind::Budget,
        _ => {}
    }
    match result.terminal_reason.as_deref() {
        Some("prompt_too_long" | "blocking_limit" | "rapid_refill_breaker") => {
            return Kind::ContextTooLong;
        }
        Some("aborted_streaming" | "aborted_tools") => return Kind::Cancelled,
        Some("structured_output_retry_exhausted") => return Kind::StructuredOutput,
        Some("budget_exhausted") => return Kind::Budget,
        Some("image_error") => return Kind::InvalidRequest,
        Some(
            "hook_stopped"
            | "stop_hook_prevented"
            | "tool_deferred"
            | "tool_deferred_unavailable"
            | "background_requested",
        ) => return Kind::Permission,
        Some("malformed_tool_use_exhausted") => return Kind::Protocol,
        _ => {}
    }
    if result.stop_reason.as_deref() == Some("refusal") {
        return Kind::Refusal;
    }
    if reports_long_prompt(result) {
        return Kind::ContextTooLong;
    }
    if result.text.as_deref().and_then(limit_in_text).is_some() {
        return Kind::RateLimit;
    }
    if let Some(kind) = signs
        .class
        .as_deref()
        .and_then(|class| class_kind(class, result))
    {
        return kind;
    }
    if signs.rejected.is_some() {
        return Kind::RateLimit;
    }
    match (status_of(result), result.terminal_reason.as_deref()) {
        (Some(status), _) => status_kind(status),
        (None, Some("model_error" | "api_error")) => Kind::Server,
        (None, Some("turn_setup_failed")) => Kind::Crashed,
        (None, _) if result.subtype == "error_during_execution" => Kind::Crashed,
        (None, _) => Kind::Protocol,
    }
}

/// Older versions say so only in their text.
fn reports_long_prompt(result: &ResultFrame) -> bool {
    let text = result.text.as_deref().unwrap_or_default();
    text.starts_with("Prompt is too long")
        || (text.starts_with("API Error: 400 ") && text.contains("prompt is too long"))
}

/// Older versions have the status only in their text: `API Error: 529 {…}`.
fn status_of(result: &ResultFrame) -> Option<u16> {
    let in_text = || {
        let text = result.text.as_deref()?;
        if text.starts_with("There's an issue with the selected model") {
            return Some(404);
        }
        let text = text.strip_prefix("API Error: ")?;
        let status: u16 = text.split(' ').next()?.parse().ok()?;
        (400..600).contains(&status).then_some(status)
    };
    result.api_status.or_else(in_text)
}

/// `None` if it takes the status.
fn class_kind(class: &str, result: &ResultFrame) -> Option<LlmErrorKind> {
    use LlmErrorKind as Kind;
    let status = status_of(result);
    let kind = match class {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "verification_required"
        | "account_on_hold"
        | "cloud_credential_error" => Kind::Auth,
        "billing_error" => Kind::Billing,
        "rate_limit" => Kind::RateLimit,
        "overloaded" => Kind::Overloaded,
        "model_not_found" => Kind::ModelNotFound,
        "max_output_tokens" => Kind::MaxOutput,
        "server_error" => status.map_or(Kind::Transport, status_kind),
        "invalid_request" => match status {
            Some(404) => Kind::ModelNotFound,
            _ => Kind::InvalidRequest,
        },
        "unknown" => status.map_or(Kind::Transport, status_kind),
        _ => return None,
    };
    Some(kind)
}

pub(crate) fn status_kind(status: u16) -> LlmErrorKind {
    match status {
        401 | 403 => LlmErrorKind::Auth,
        402 => LlmErrorKind::Billing,
        404 => LlmErrorKind::ModelNotFound,
        408 | 504 => LlmErrorKind::Timeout,
        413 => LlmErrorKind::ContextTooLong,
        429 => LlmErrorKind::RateLimit,
        529 => LlmErrorKind::Overloaded,
        500.. => LlmErrorKind::Server,
        _ => LlmErrorKind::InvalidRequest,
    }
}

fn described(kind: LlmErrorKind, signs: &FailureSigns, model: &str) -> LlmError {
    use LlmErrorKind as Kind;
    let plain = |message: &str| LlmError::new(kind, message);
    match kind {
        Kind::Auth => not_usable(),
        Kind::Billing => plain("the Claude account has no credit for this call")
            .hint("check the plan and credit of the account that Claude Code is logged in with"),
        Kind::RateLimit => rate_limited(signs),
        Kind::Overloaded => plain("Claude is overloaded").hint("run the command again later"),
        Kind::Server => plain("Claude failed on its side").hint("run the command again later"),
        Kind::Transport => plain("the connection to Claude failed")
            .hint("check the network and the proxy, then run the command again"),
        Kind::Timeout => plain("Claude did not answer in time").hint("run the command again later"),
        Kind::ContextTooLong => plain("the prompt is too long for the model")
            .hint("set `llm.models` to a model with a larger context window"),
        Kind::MaxOutput => plain("the answer is longer than the model may write")
            .hint("set `llm.models` to a model that may write longer answers"),
        Kind::Refusal => plain("the model refused to answer").hint(LOOK_INSIDE),
        Kind::ModelNotFound => LlmError::new(
            kind,
            format!("the model `{model}` is not available to this Claude account"),
        )
        .hint("set `llm.models` to `sonnet`, `opus`, `haiku` or a model id of your plan"),
        Kind::InvalidRequest => plain("Claude refused the request").hint(LOOK_INSIDE),
        Kind::StructuredOutput => no_object(),
        Kind::Permission => {
            plain("Claude Code stopped the turn at a permission rule").hint(LOOK_INSIDE)
        }
        Kind::MaxTurns => out_of_turns(),
        Kind::Budget => plain("the money limit of the call is used up").hint(LOOK_INSIDE),
        Kind::Cancelled => LlmError::cancelled(),
        Kind::Process | Kind::Crashed => {
            plain("Claude Code failed while it worked on the call").hint(LOOK_INSIDE)
        }
        Kind::Isolation | Kind::Protocol | Kind::UnknownTool | Kind::Internal => {
            plain("Claude Code ended the turn in a way that ktx does not know")
                .hint(use_a_tested_version())
        }
    }
}

const LOOK_INSIDE: &str = "run the command again with `--debug`, which shows what Claude Code said";

/// KTX-84.
const LOGIN_HINT: &str = "authenticate Claude Code locally with the Claude Code CLI (run `claude`, then `/login`), then rerun the setup or command";

pub(crate) const ASK_ANOTHER: &str =
    "run the command again; if the error stays, set `llm.models` to a more capable model";

pub(crate) fn not_usable() -> LlmError {
    LlmError::new(
        LlmErrorKind::Auth,
        "Claude Code is not usable with your local session",
    )
    .hint(LOGIN_HINT)
}

pub(crate) fn text_of(result: ResultFrame) -> Result<String, LlmError> {
    require_text(&result)?;
    match result.text {
        Some(text) if !text.trim().is_empty() => Ok(text),
        _ => Err(protocol_error(
            "Claude Code returned an empty answer".to_owned(),
        )),
    }
}

pub(crate) fn require_text(result: &ResultFrame) -> Result<(), LlmError> {
    match result.no_text {
        None => Ok(()),
        Some(found) => Err(protocol_error(format!(
            "Claude Code returned an answer whose text is {found}"
        ))),
    }
}

fn protocol_error(message: String) -> LlmError {
    LlmError::new(LlmErrorKind::Protocol, message).hint(use_a_tested_version())
}

/// Older versions answer `Claude AI usage limit reached|1795300000`.
pub(crate) fn limit_in_text(text: &str) -> Option<RateLimit> {
    let (words, end) = text.split_once('|').unwrap_or((text, ""));
    let is_told = words.starts_with("Claude") && words.ends_with("usage limit reached");
    (is_told && words.len() < 60).then(|| RateLimit {
        status: "rejected".to_owned(),
        window: String::new(),
        resets_at: end.trim().parse().ok().map(in_seconds),
        utilization: None,
        is_extra: false,
    })
}

/// Future, within a week's window.
pub(crate) fn plausible_reset(resets_at: Option<i64>, now: i64) -> Option<i64> {
    const FARTHEST: i64 = 8 * 24 * 60 * 60;
    resets_at.filter(|reset| *reset > now && reset.saturating_sub(now) <= FARTHEST)
}

pub(crate) fn no_object() -> LlmError {
    LlmError::new(
        LlmErrorKind::StructuredOutput,
        "the model returned no object that matches the schema",
    )
    .hint(ASK_ANOTHER)
}

pub(crate) fn out_of_turns() -> LlmError {
    LlmError::new(
        LlmErrorKind::MaxTurns,
        "the model used up its turns before it answered",
    )
    .hint(ASK_ANOTHER)
}

fn rate_limited(signs: &FailureSigns) -> LlmError {
    let rejected = signs.rejected.as_ref();
    let window = rejected.map_or("", |limit| limit.window.as_str());
    let (message, hint) = limit_reached(window, rejected.and_then(|limit| limit.resets_at));
    LlmError::new(LlmErrorKind::RateLimit, message).hint(hint)
}

/// Message and hint; the reset is in Unix seconds.
pub(crate) fn limit_reached(window: &str, resets_at: Option<i64>) -> (String, &'static str) {
    let name = window_name(window);
    let limit = match (name, resets_at) {
        ("", None) => {
            return (
                "Claude limits requests at the moment".to_owned(),
                "run the command again later",
            );
        }
        ("", Some(_)) => "a usage limit".to_owned(),
        (name, _) => format!("the {name} usage limit"),
    };
    match resets_at.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        Some(reset) => (
            format!(
                "{limit} of your Claude plan is reached until {}",
                reset.strftime("%Y-%m-%d %H:%M UTC")
            ),
            "run the command again after that; finished work is kept",
        ),
        None => (
            format!("{limit} of your Claude plan is reached"),
            "wait until the limit resets, then run the command again",
        ),
    }
}

pub(crate) fn window_name(window: &str) -> &'static str {
    match window {
        "five_hour" => "5-hour",
        "seven_day" => "7-day",
        "seven_day_opus" => "7-day Opus",
        "seven_day_sonnet" => "7-day Sonnet",
        "overage" => "extra",
        _ => "",
    }
}

pub(crate) fn window_words(window: &str) -> String {
    match window_name(window) {
        "" => "a usage limit".to_owned(),
        name => format!("the {name} usage limit"),
    }
}

fn words(result: &ResultFrame, signs: &FailureSigns) -> String {
    let mut words = vec![format!("subtype {}", result.subtype)];
    let mut add = |label: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("{label} {value}")));
    };
    add("terminal reason", result.terminal_reason.as_deref());
    add("class", signs.class.as_deref());
    add("api error", result.api_error.as_deref());
    add(
        "status",
        result
            .api_status
            .map(|status| status.to_string())
            .as_deref(),
    );
    add("said", result.text.as_deref().filter(|_| result.is_error));
    for error in &result.errors {
        add("error", Some(error));
    }
    words.join("; ")
}

#[cfg(test)]
mod tests;
