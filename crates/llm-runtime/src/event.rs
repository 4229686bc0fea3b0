//! What a runtime tells while it works, apart from its answers.

use std::time::Duration;

use crate::UsageFact;

/// One thing that happened inside a runtime.
#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeEvent {
    /// One assistant message was paid for. Sent while the run goes on (COG-14).
    Usage(UsageFact),
    /// A rate-limit window was seen (KTX 1.7: `rate_limit_observed`).
    RateLimitObserved {
        /// The window, such as `five_hour`.
        window: String,
        /// Share of the window used, 0..=1, when told.
        utilization: Option<f64>,
        /// When the window ends, as Unix seconds, when told.
        resets_at: Option<i64>,
    },
    /// The runtime waits before it goes on (`wait_started`).
    WaitStarted {
        /// Why, in words: `5-hour window`.
        reason: String,
        /// How long.
        duration: Duration,
    },
    /// The wait is over (`wait_finished`).
    WaitFinished,
    /// A call is tried again.
    Retry {
        /// Which try comes now, from 2.
        attempt: u32,
        /// The code of the error that the last try ended with.
        code: &'static str,
    },
    /// The execution surface was compared with what was asked for and found equal.
    IsolationVerified {
        /// The version of the executable.
        version: String,
    },
    /// Something the user should know that ended nothing.
    Warning(String),
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
