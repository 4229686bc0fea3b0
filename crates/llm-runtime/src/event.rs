//! What a runtime tells while it works, apart from its answers.

use std::time::Duration;

use ktx_diagnostics::Code;

use crate::{ReportedCost, UsageFact};

/// One thing that happened inside a runtime.
#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeEvent {
    /// One assistant message was paid for. Sent while the run goes on (COG-14).
    Usage(UsageFact),
    /// An assistant message has begun: what is known of its cost so far, as the incomplete fact that
    /// it becomes when nothing more is heard of it. Told again while its output grows, and followed
    /// by [`Self::Usage`] of the same message.
    UsageBegun(UsageFact),
    /// Nothing was paid for a message that was told to have begun, or it was paid for under another name.
    UsageDropped(UsageFact),
    /// What the backend itself says that a call cost, behind the facts of the call (C-18).
    CostReported(ReportedCost),
    /// A rate-limit window was seen (KTX 1.7: `rate_limit_observed`).
    RateLimitObserved {
        /// The window, such as `five_hour`.
        window: String,
        /// Share of the window used, 0..=1, when told.
        utilization: Option<f64>,
        /// When the window ends, as Unix seconds, when told.
        resets_at: Option<i64>,
    },
    /// A call was refused, and calls of the account are pointless until the window ends.
    RateLimitRefused {
        /// The window, such as `five_hour`.
        window: String,
        /// When the window ends, as Unix seconds, when told.
        resets_at: Option<i64>,
    },
    /// More or fewer calls run at the same time from now on (`concurrency_adjusted`).
    ConcurrencyAdjusted {
        /// The number so far.
        from: usize,
        /// The number from now on.
        to: usize,
        /// Why, in words: `5-hour window: near the limit`.
        reason: String,
    },
    /// The runtime waits before it goes on (`wait_started`).
    WaitStarted {
        /// Why, in words: `5-hour window`.
        reason: String,
        /// How long.
        duration: Duration,
    },
    /// The wait goes on; sent about once a second (`wait_tick`).
    WaitTick {
        /// Why, in the words of `WaitStarted`.
        reason: String,
        /// How long it still takes.
        remaining: Duration,
    },
    /// The wait is over (`wait_finished`).
    WaitFinished,
    /// A call is tried again.
    Retry {
        /// Which try comes now, from 2.
        attempt: u32,
        /// The code of the error that the last try ended with.
        code: Code,
    },
    /// The execution surface was compared with what was asked for and found equal.
    IsolationVerified {
        /// The version of the executable.
        version: String,
    },
    /// Something the user should know that ended nothing.
    Warning(String),
}

/// What a window is called in sentences: `five_hour` is the `5-hour window`.
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

/// Receives runtime events. Implementations must be quick; they are called between tokens.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn event(&self, event: RuntimeEvent);
}

/// Drops events.
#[derive(Debug, Clone, Copy)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn event(&self, _event: RuntimeEvent) {}
}
