//! The events of a runtime besides its answers.

use std::time::Duration;

use ktx_diagnostics::Code;

use crate::{ReportedCost, UsageFact};

#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeEvent {
    /// Sent for each billed message during the run (COG-14).
    Usage(UsageFact),
    /// An assistant message began. The fact has the cost if nothing more arrives. Repeated while
    /// the output grows; followed by [`Self::Usage`].
    UsageBegun(UsageFact),
    /// A begun message was not billed, or was billed under another name.
    UsageDropped(UsageFact),
    /// Sent after the facts of the call (C-18).
    CostReported(ReportedCost),
    /// `rate_limit_observed` (KTX 1.7).
    RateLimitObserved {
        window: String,
        /// The used share, 0..=1.
        utilization: Option<f64>,
        /// Unix seconds.
        resets_at: Option<i64>,
    },
    RateLimitRefused {
        window: String,
        /// Unix seconds.
        resets_at: Option<i64>,
    },
    /// `concurrency_adjusted`.
    ConcurrencyAdjusted {
        from: usize,
        to: usize,
        reason: String,
    },
    /// `wait_started`.
    WaitStarted {
        reason: String,
        duration: Duration,
    },
    /// About once a second during a wait (`wait_tick`).
    WaitTick {
        reason: String,
        remaining: Duration,
    },
    WaitFinished,
    Retry {
        /// From 2.
        attempt: u32,
        code: Code,
    },
    IsolationVerified {
        version: String,
    },
    Warning(String),
}

/// Returns `5-hour window` for `five_hour`.
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

/// Must be quick: called between tokens.
pub trait EventSink: Send + Sync {
    fn event(&self, event: RuntimeEvent);
}

#[derive(Debug, Clone, Copy)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _event: RuntimeEvent) {}
}
