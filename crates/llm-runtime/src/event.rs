//! The events of a runtime, apart from its answers.

use std::time::Duration;

use ktx_diagnostics::Code;

use crate::{ReportedCost, UsageFact};

/// One event inside a runtime.
#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeEvent {
    /// One assistant message was billed. Sent during the run (COG-14).
    Usage(UsageFact),
    /// An assistant message began. Holds its known cost as the incomplete fact that it becomes if
    /// nothing more arrives. Repeated while its output grows, and followed by [`Self::Usage`] of
    /// the same message.
    UsageBegun(UsageFact),
    /// A message reported by [`Self::UsageBegun`] was not billed, or was billed under another name.
    UsageDropped(UsageFact),
    /// The backend's own figure for the cost of a call, after the facts of the call (C-18).
    CostReported(ReportedCost),
    /// A rate-limit window was observed (KTX 1.7: `rate_limit_observed`).
    RateLimitObserved {
        /// The window, such as `five_hour`.
        window: String,
        /// Share of the window used, 0..=1, if reported.
        utilization: Option<f64>,
        /// When the window ends, in Unix seconds, if reported.
        resets_at: Option<i64>,
    },
    /// A call was refused, and calls of the account are pointless until the window ends.
    RateLimitRefused {
        /// The window, such as `five_hour`.
        window: String,
        /// When the window ends, in Unix seconds, if reported.
        resets_at: Option<i64>,
    },
    /// The concurrency limit changed (`concurrency_adjusted`).
    ConcurrencyAdjusted {
        /// The old limit.
        from: usize,
        /// The new limit.
        to: usize,
        /// The reason for display: `5-hour window: near the limit`.
        reason: String,
    },
    /// The runtime waits before it continues (`wait_started`).
    WaitStarted {
        /// The reason for display: `5-hour window`.
        reason: String,
        /// The duration of the wait.
        duration: Duration,
    },
    /// The wait continues; sent about once a second (`wait_tick`).
    WaitTick {
        /// The reason of `WaitStarted`.
        reason: String,
        /// The remaining time.
        remaining: Duration,
    },
    /// The wait is over (`wait_finished`).
    WaitFinished,
    /// A call is retried.
    Retry {
        /// The number of the attempt, from 2.
        attempt: u32,
        /// The error code of the previous attempt.
        code: Code,
    },
    /// The execution surface was verified.
    IsolationVerified {
        /// The version of the executable.
        version: String,
    },
    /// A warning for the user that ended nothing.
    Warning(String),
}

/// Names a window in sentences: `five_hour` is the `5-hour window`.
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

/// Receives runtime events. Implementations must be quick, because they are called between tokens.
pub trait EventSink: Send + Sync {
    /// Handles one event.
    fn event(&self, event: RuntimeEvent);
}

/// Drops events.
#[derive(Debug, Clone, Copy)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _event: RuntimeEvent) {}
}
