//! Records limits, waits and retries of model calls for monitors of a session (KODE-42).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ktx_llm_runtime::{EventSink, ListenerRegistration, LlmRuntime, RuntimeEvent};

use crate::event::{Event, Phase, Severity};
use crate::session::Session;

/// Time between two records of a wait, which can last a night.
const TICKS: Duration = Duration::from_secs(10);

/// Records a model's events until the result is dropped.
pub(crate) fn monitored(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
) -> Option<ListenerRegistration> {
    let monitor = Monitor {
        session: Arc::clone(session),
        last_rest: Mutex::default(),
    };
    runtime.listen(Arc::new(monitor))
}

struct Monitor {
    session: Arc<Session>,
    last_rest: Mutex<Option<Duration>>,
}

impl EventSink for Monitor {
    fn event(&self, event: RuntimeEvent) {
        let Some(event) = self.event_of(event) else {
            return;
        };
        if let Err(error) = self.session.record(&event) {
            tracing::warn!(%error, session = %self.session.id(), "an event of the model is not kept");
        }
    }
}

impl Monitor {
    fn event_of(&self, event: RuntimeEvent) -> Option<Event> {
        Some(match event {
            RuntimeEvent::RateLimitObserved {
                window,
                utilization,
                resets_at,
            } => Event::RateLimitObserved {
                window,
                utilization,
                resets_at,
            },
            RuntimeEvent::RateLimitRefused { window, resets_at } => {
                Event::RateLimitRefused { window, resets_at }
            }
            RuntimeEvent::WaitStarted { reason, duration } => {
                *self.last_rest() = Some(duration);
                Event::RateLimitWaitStarted {
                    reason,
                    duration_ms: milliseconds(duration),
                }
            }
            RuntimeEvent::WaitTick { reason, remaining } => {
                if !self.records(remaining) {
                    return None;
                }
                Event::RateLimitWaitTick {
                    reason,
                    remaining_ms: milliseconds(remaining),
                }
            }
            RuntimeEvent::WaitFinished => Event::RateLimitWaitFinished,
            RuntimeEvent::Retry { attempt, code } => Event::Retry {
                attempt,
                code: code.to_string(),
            },
            RuntimeEvent::IsolationVerified { version } => Event::IsolationVerified { version },
            RuntimeEvent::Warning(message) => Event::Error {
                severity: Severity::Warn,
                phase: Phase::Model,
                message,
            },
            // The run reports its usage; parallelism concerns no session.
            RuntimeEvent::Usage(_)
            | RuntimeEvent::UsageBegun(_)
            | RuntimeEvent::UsageDropped(_)
            | RuntimeEvent::CostReported(_)
            | RuntimeEvent::ConcurrencyAdjusted { .. } => return None,
        })
    }

    fn last_rest(&self) -> MutexGuard<'_, Option<Duration>> {
        self.last_rest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn records(&self, remaining: Duration) -> bool {
        let mut last = self.last_rest();
        let is_due = match *last {
            // A new wait can be longer than the previous rest.
            Some(before) if remaining <= before => before.saturating_sub(remaining) >= TICKS,
            _ => true,
        };
        if is_due {
            *last = Some(remaining);
        }
        is_due
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
