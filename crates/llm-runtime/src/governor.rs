//! The rate-limit governor of an account (`ingest.rateLimit`). The rules are a pure state machine
//! ([`state`]); this shell waits and sends events.

mod state;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{EventSink, LlmError, LlmErrorKind, RuntimeEvent};
use state::{AccountState, Admission, ClockReading, GovernorNotice};

/// Maximum wait that a provider can cause.
pub const LONGEST_WAIT: Duration = Duration::from_hours(7 * 24);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GovernorSwitch {
    /// Calls run immediately, without retries.
    Off,
    #[default]
    On,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Jitter {
    Off,
    /// Multiplies each computed delay by 0.75 to 1.25.
    #[default]
    On,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GovernorSettings {
    pub governing: GovernorSwitch,
    /// Used share, 0..=1, from which concurrency falls.
    pub throttle_threshold: f64,
    pub min_concurrency_under_pressure: usize,
    pub max_concurrency: usize,
    /// Longest wait of one call.
    pub max_wait: Option<Duration>,
    pub max_attempts: u32,
    /// Delay before the second attempt; doubles each time.
    pub base_delay: Duration,
    /// Longest computed delay, and the longest hint treated as a delay.
    pub max_delay: Duration,
    pub jitter: Jitter,
    /// End of the run; no wait exceeds it.
    pub ends_at: Option<Instant>,
}

impl Default for GovernorSettings {
    fn default() -> Self {
        Self {
            governing: GovernorSwitch::On,
            throttle_threshold: 0.8,
            min_concurrency_under_pressure: 1,
            max_concurrency: 8,
            max_wait: None,
            max_attempts: 6,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_mins(1),
            jitter: Jitter::On,
            ends_at: None,
        }
    }
}

impl GovernorSettings {
    /// Returns base × 2ⁿ, capped, for failure number `failures` (from 1). `chance` in 0..=1 is the
    /// jitter.
    pub fn backoff(&self, failures: u32, chance: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(30);
        let plain = self
            .base_delay
            .saturating_mul(1_u32 << doublings)
            .min(self.max_delay);
        match self.jitter {
            Jitter::Off => plain,
            Jitter::On => plain.mul_f64(0.75 + chance.clamp(0.0, 1.0) / 2.0),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum LimitSignal {
    Allowed {
        window: String,
        utilization: Option<f64>,
        resets_at: Option<i64>,
    },
    Warning {
        window: String,
        /// The used share, 0..=1.
        utilization: Option<f64>,
        resets_at: Option<i64>,
    },
    Rejected {
        window: String,
        retry_after: Option<Duration>,
    },
}

/// Limits the calls of one account. Clones share everything.
#[derive(Clone)]
pub struct Governor {
    shared: Arc<SharedGovernor>,
}

type TimeOfDay = Box<dyn Fn() -> Duration + Send + Sync>;

struct SharedGovernor {
    settings: GovernorSettings,
    events: Arc<dyn EventSink>,
    time_of_day: TimeOfDay,
    state: Mutex<AccountState>,
    changed: Notify,
}

impl std::fmt::Debug for Governor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Governor")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

/// A running call. Dropping it admits the next one.
#[derive(Debug)]
pub struct CallPermit {
    governor: Governor,
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.governor.state().release();
        self.governor.shared.changed.notify_waiters();
    }
}

impl Governor {
    pub fn new(settings: GovernorSettings, events: Arc<dyn EventSink>) -> Self {
        Self::with_time_of_day(settings, events, time_of_day)
    }

    /// Takes a time of day since 1970: time asleep counts as waiting, and no other clock advances
    /// meanwhile.
    pub fn with_time_of_day(
        settings: GovernorSettings,
        events: Arc<dyn EventSink>,
        time_of_day: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        let state = AccountState::new(&settings);
        Self {
            shared: Arc::new(SharedGovernor {
                settings,
                events,
                time_of_day: Box::new(time_of_day),
                state: Mutex::new(state),
                changed: Notify::new(),
            }),
        }
    }

    pub fn settings(&self) -> &GovernorSettings {
        &self.shared.settings
    }

    /// Returns 1 if governing is off.
    pub fn max_attempts(&self) -> u32 {
        match self.shared.settings.governing {
            GovernorSwitch::Off => 1,
            GovernorSwitch::On => self.shared.settings.max_attempts.max(1),
        }
    }

    pub async fn acquire(&self, cancel: &CancellationToken) -> Result<CallPermit, LlmError> {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Registers before the state is read, so that no release is missed.
            changed.as_mut().enable();
            let (admission, notices) = self.state().admit(self.now());
            self.emit(notices);
            let until = match admission {
                Admission::Now => {
                    return Ok(CallPermit {
                        governor: self.clone(),
                    });
                }
                Admission::Full => None,
                Admission::Paused { wake, remaining } => {
                    self.check_wait(remaining)?;
                    Some(wake)
                }
            };
            let pause = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = cancel.cancelled() => return Err(LlmError::cancelled()),
                () = changed => {}
                () = pause => {}
            }
        }
    }

    pub fn paused(&self) -> Option<(String, Duration)> {
        self.state().paused(self.now())
    }

    pub fn has_time_for(&self, wait: Duration) -> bool {
        self.shared
            .settings
            .ends_at
            .is_none_or(|end| wait <= end.saturating_duration_since(Instant::now()))
    }

    pub fn report(&self, signal: LimitSignal) {
        if self.shared.settings.governing == GovernorSwitch::Off {
            return;
        }
        let now = self.now();
        let notices = self
            .state()
            .observe(&self.shared.settings, signal, now, chance());
        self.emit(notices);
        self.shared.changed.notify_waiters();
    }

    /// Records a refusal from an earlier process. Reports no wait, because that depends on the
    /// calls.
    pub fn remember(&self, window: String, wait: Duration) {
        let refusal = LimitSignal::Rejected {
            window,
            retry_after: Some(wait),
        };
        if self.shared.settings.governing == GovernorSwitch::On {
            let now = self.now();
            drop(
                self.state()
                    .observe(&self.shared.settings, refusal, now, 0.5),
            );
        }
    }

    pub fn backoff(&self, failures: u32) -> Duration {
        self.shared.settings.backoff(failures, chance())
    }

    fn check_wait(&self, remaining: Duration) -> Result<(), LlmError> {
        if !self.has_time_for(remaining) {
            let mut error = LlmError::new(
                LlmErrorKind::RateLimit,
                format!(
                    "the provider's limit lasts {} s, longer than the run may take",
                    remaining.as_secs()
                ),
            )
            .hint("run the same command again after that; finished work is kept");
            error.retry_after = Some(remaining);
            return Err(error);
        }
        match self.shared.settings.max_wait {
            Some(limit) if remaining > limit => {
                let mut error = LlmError::new(
                    LlmErrorKind::RateLimit,
                    format!(
                        "the provider's limit lasts {} s, longer than the {} s that a call may wait",
                        remaining.as_secs(),
                        limit.as_secs()
                    ),
                )
                .hint("run again later, or raise `ingest.rateLimit.maxWaitMs`");
                error.retry_after = Some(remaining);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    fn emit(&self, notices: Vec<GovernorNotice>) {
        for notice in notices {
            self.shared.events.event(match notice {
                GovernorNotice::Observed {
                    window,
                    utilization,
                    resets_at,
                } => RuntimeEvent::RateLimitObserved {
                    window,
                    utilization,
                    resets_at,
                },
                GovernorNotice::ConcurrencyAdjusted { from, to, reason } => {
                    RuntimeEvent::ConcurrencyAdjusted { from, to, reason }
                }
                GovernorNotice::WaitStarted { reason, duration } => {
                    RuntimeEvent::WaitStarted { reason, duration }
                }
                GovernorNotice::WaitTick { reason, remaining } => {
                    RuntimeEvent::WaitTick { reason, remaining }
                }
                GovernorNotice::WaitFinished => RuntimeEvent::WaitFinished,
            });
        }
    }

    fn now(&self) -> ClockReading {
        ClockReading {
            instant: Instant::now(),
            time: (self.shared.time_of_day)(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AccountState> {
        // The counters stay usable after a poisoned lock.
        self.shared
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Returns the time of day. If it is before 1970, the monotonic clock ends the wait.
#[expect(
    clippy::disallowed_methods,
    reason = "only the time of day advances while a machine sleeps"
)]
fn time_of_day() -> Duration {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.unwrap_or_default()
}

/// Returns a random number from the process's hash keys: good enough to spread delays.
fn chance() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let bits = std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish();
    let low = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    f64::from(low) / f64::from(u32::MAX)
}
