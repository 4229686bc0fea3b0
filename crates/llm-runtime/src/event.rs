//! The events of a runtime besides its answers.

use std::time::Duration;

use ktx_diagnostics::Code;

use crate::{ReportedCost, UsageFact};

#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeEvent {
    /// One assistant message was billed; sent during the run (COG-14).
    Usage(UsageFact),
    /// An assistant message began. Holds its known cost, as the incomplete fact that it becomes if
    /// nothing more arrives. Repeated while the output grows; followed by [`Self::Usage`] of the
    /// same message.
    UsageBegun(UsageFact),
    /// A message reported by [`Self::UsageBegun`] was not billed, or was billed under another name.
    UsageDropped(UsageFact),
    /// The backend's own cost of a call, sent after the facts of the call (C-18).
    CostReported(ReportedCost),
    /// A rate-limit window was observed (KTX 1.7: `rate_limit_observed`).
    RateLimitObserved {
        /// The window, such as `five_hour`.
        window: String,
        /// The used share, 0..=1, if reported.
        utilization: Option<f64>,
        /// Unix seconds, if reported.
        resets_at: Option<i64>,
    },
    /// A call was refused, and calls of the account are pointless until the window ends.
    RateLimitRefused {
        /// The window, such as `five_hour`.
        window: String,
        /// Unix seconds, if reported.
        resets_at: Option<i64>,
    },
    /// The concurrency limit changed (`concurrency_adjusted`).
    ConcurrencyAdjusted {
        from: usize,
        to: usize,
        /// The reason for display: `5-hour window: near the limit`.
        reason: String,
    },
    /// The runtime waits before it continues (`wait_started`).
    WaitStarted {
        /// The reason for display: `5-hour window`.
        reason: String,
        duration: Duration,
    },
    /// About once a second during a wait (`wait_tick`).
    WaitTick { reason: String, remaining: Duration },
    /// `wait_finished`.
    WaitFinished,
    Retry {
        /// The number of the attempt, from 2.
        attempt: u32,
        code: Code,
    },
    /// The execution surface was verified.
    IsolationVerified { version: String },
    /// A warning for the user that ended nothing.
    Warning(String),
}

/// `five_hour` is the `5-hour window`.
pub fn window_words(window: &str) -> String {
    match window {
        "five_hour" => "5-hour window".to_owned(),
        "seven_day" => "7-day window".to_owned(),
        "seven_day_opus" => "7-day window of Opus".to_owned(),
        "seven_day_sonnet" => "7-day window of Sonnet".to_owned(),
        "overage" => "limit of extra usage".to_owned(),
        "requests" => "limit of requests".to_owned(),
        "tokens" => "limit of tokens".to_owned(),
        "input-tokens" => "limit of input tokens".to_owned(),
        "output-tokens" => "limit of output tokens".to_owned(),
        words if words.contains(' ') => words.to_owned(),
        other => other.replace(['_', '-'], " "),
    }
}

/// Receives runtime events. Must be quick: called between tokens.
pub trait EventSink: Send + Sync {
    fn event(&self, event: RuntimeEvent);
}

#[derive(Debug, Clone, Copy)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _event: RuntimeEvent) {}
}
