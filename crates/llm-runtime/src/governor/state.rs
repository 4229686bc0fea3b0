//! The governor's rules over instants, without waiting.

use std::time::Duration;

use tokio::time::Instant;

use super::{GovernorSettings, GovernorSwitch, LONGEST_WAIT, LimitSignal};
use crate::event::window_words;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Now,
    /// Too many calls run; wait for one to end.
    Full,
    /// The provider refused calls; ask again at `wake`.
    Paused {
        wake: Instant,
        remaining: Duration,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum GovernorNotice {
    Observed {
        window: String,
        utilization: Option<f64>,
        resets_at: Option<i64>,
    },
    ConcurrencyAdjusted {
        from: usize,
        to: usize,
        reason: String,
    },
    WaitStarted {
        reason: String,
        duration: Duration,
    },
    WaitTick {
        reason: String,
        remaining: Duration,
    },
    WaitFinished,
}

/// Interval between reports of a wait.
const TICK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(super) struct ClockReading {
    /// Stops while the machine sleeps.
    pub(super) instant: Instant,
    /// Since 1970.
    pub(super) time: Duration,
}

/// A pause of the account. Time asleep counts as waiting; a clock that was set back does not extend
/// the pause.
#[derive(Debug)]
struct AccountPause {
    until: ClockReading,
    reason: String,
    next_tick: Instant,
}

impl AccountPause {
    fn left(&self, now: ClockReading) -> Duration {
        let awake = self.until.instant.saturating_duration_since(now.instant);
        let by_day = self.until.time.saturating_sub(now.time);
        // The clocks differ by microseconds.
        if awake > by_day + TICK { by_day } else { awake }
    }
}

#[derive(Debug)]
pub(super) struct AccountState {
    most: usize,
    limit: usize,
    running: usize,
    pause: Option<AccountPause>,
    rejections: u32,
}

impl AccountState {
    pub(super) fn new(settings: &GovernorSettings) -> Self {
        let most = match settings.governing {
            GovernorSwitch::Off => usize::MAX,
            GovernorSwitch::On => settings.max_concurrency.max(1),
        };
        Self {
            most,
            limit: most,
            running: 0,
            pause: None,
            rejections: 0,
        }
    }

    pub(super) fn admit(&mut self, now: ClockReading) -> (Admission, Vec<GovernorNotice>) {
        let mut notices = Vec::new();
        if let Some(pause) = &mut self.pause {
            let remaining = pause.left(now);
            if !remaining.is_zero() {
                if now.instant >= pause.next_tick {
                    pause.next_tick = now.instant + TICK;
                    notices.push(GovernorNotice::WaitTick {
                        reason: pause.reason.clone(),
                        remaining,
                    });
                }
                let wake = (now.instant + remaining).min(pause.next_tick);
                return (Admission::Paused { wake, remaining }, notices);
            }
            self.pause = None;
            notices.push(GovernorNotice::WaitFinished);
        }
        if self.running >= self.limit {
            return (Admission::Full, notices);
        }
        self.running += 1;
        (Admission::Now, notices)
    }

    pub(super) fn paused(&self, now: ClockReading) -> Option<(String, Duration)> {
        let pause = self.pause.as_ref()?;
        let left = pause.left(now);
        (!left.is_zero()).then(|| (pause.reason.clone(), left))
    }

    pub(super) fn release(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    pub(super) fn observe(
        &mut self,
        settings: &GovernorSettings,
        signal: LimitSignal,
        now: ClockReading,
        chance: f64,
    ) -> Vec<GovernorNotice> {
        let low = settings.min_concurrency_under_pressure.clamp(1, self.most);
        match signal {
            LimitSignal::Allowed {
                window,
                utilization,
                resets_at,
            } => {
                self.rejections = 0;
                if utilization.is_some_and(|share| share >= settings.throttle_threshold) {
                    return self.press(window, utilization, resets_at, low);
                }
                self.adjust(
                    self.most,
                    &format!("{}: enough room again", window_words(&window)),
                )
            }
            LimitSignal::Warning {
                window,
                utilization,
                resets_at,
            } => {
                self.rejections = 0;
                self.press(window, utilization, resets_at, low)
            }
            LimitSignal::Rejected {
                window,
                retry_after,
            } => {
                let duration = retry_after.unwrap_or_else(|| {
                    self.rejections = self.rejections.saturating_add(1);
                    settings.backoff(self.rejections, chance)
                });
                let reason = window_words(&window);
                let mut notices = vec![GovernorNotice::Observed {
                    window,
                    utilization: None,
                    resets_at: None,
                }];
                notices.extend(self.wait(&reason, duration, now));
                notices.extend(self.adjust(low, &format!("{reason}: refused")));
                notices
            }
        }
    }

    fn wait(
        &mut self,
        reason: &str,
        duration: Duration,
        now: ClockReading,
    ) -> Option<GovernorNotice> {
        // The duration comes from outside, and clocks overflow.
        let duration = duration.min(LONGEST_WAIT);
        let already = self.pause.as_ref().map(|pause| pause.left(now));
        if already.is_some_and(|already| already >= duration) {
            return None;
        }
        self.pause = Some(AccountPause {
            until: ClockReading {
                instant: now.instant + duration,
                time: now.time + duration,
            },
            reason: reason.to_owned(),
            next_tick: now.instant + TICK,
        });
        // Calls refused together share one wait.
        let is_news = already.is_none_or(|already| duration.saturating_sub(already) >= TICK);
        is_news.then(|| GovernorNotice::WaitStarted {
            reason: reason.to_owned(),
            duration,
        })
    }

    fn press(
        &mut self,
        window: String,
        utilization: Option<f64>,
        resets_at: Option<i64>,
        low: usize,
    ) -> Vec<GovernorNotice> {
        let mut notices = self.adjust(low, &format!("{}: near the limit", window_words(&window)));
        if !notices.is_empty() {
            notices.insert(
                0,
                GovernorNotice::Observed {
                    window,
                    utilization,
                    resets_at,
                },
            );
        }
        notices
    }

    fn adjust(&mut self, to: usize, reason: &str) -> Vec<GovernorNotice> {
        if self.limit == to {
            return Vec::new();
        }
        let from = std::mem::replace(&mut self.limit, to);
        vec![GovernorNotice::ConcurrencyAdjusted {
            from,
            to,
            reason: reason.to_owned(),
        }]
    }
}
