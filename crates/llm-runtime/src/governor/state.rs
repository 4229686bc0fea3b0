//! The governor's rules over instants, without waiting.

use std::time::Duration;

use tokio::time::Instant;

use super::{Governing, GovernorSettings, LimitSignal};

/// Whether a call may run now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may; it is counted as running.
    Now,
    /// Too many run; wait for one to end.
    Full,
    /// The provider refused calls; wait for the instant.
    Paused { until: Instant, remaining: Duration },
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Notice {
    Observed {
        window: String,
        utilization: Option<f64>,
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
    WaitFinished,
}

/// What is known about one account.
#[derive(Debug)]
pub(super) struct State {
    most: usize,
    limit: usize,
    running: usize,
    paused_until: Option<Instant>,
    /// Rejections in a row that named no time.
    rejections: u32,
}

impl State {
    pub(super) fn new(settings: &GovernorSettings) -> Self {
        let most = match settings.governing {
            Governing::Off => usize::MAX,
            Governing::On => settings.max_concurrency.max(1),
        };
        Self {
            most,
            limit: most,
            running: 0,
            paused_until: None,
            rejections: 0,
        }
    }

    /// Lets a call in, or says what it waits for.
    pub(super) fn admit(&mut self, now: Instant) -> (Admission, Vec<Notice>) {
        let mut notices = Vec::new();
        if let Some(until) = self.paused_until {
            if now < until {
                let remaining = until - now;
                return (Admission::Paused { until, remaining }, notices);
            }
            self.paused_until = None;
            notices.push(Notice::WaitFinished);
        }
        if self.running >= self.limit {
            return (Admission::Full, notices);
        }
        self.running += 1;
        (Admission::Now, notices)
    }

    pub(super) fn release(&mut self) {
        self.running = self.running.saturating_sub(1);
    }

    /// Takes note of a signal. `chance` in 0..=1 decides the jitter of a computed pause.
    pub(super) fn observe(
        &mut self,
        settings: &GovernorSettings,
        signal: LimitSignal,
        now: Instant,
        chance: f64,
    ) -> Vec<Notice> {
        let low = settings.min_concurrency_under_pressure.clamp(1, self.most);
        match signal {
            LimitSignal::Allowed {
                window,
                utilization,
            } => {
                self.rejections = 0;
                if utilization.is_some_and(|share| share >= settings.throttle_threshold) {
                    return self.press(window, utilization, low);
                }
                self.adjust(self.most, &format!("{window}: enough room again"))
            }
            LimitSignal::Warning {
                window,
                utilization,
            } => {
                self.rejections = 0;
                self.press(window, utilization, low)
            }
            LimitSignal::Rejected {
                window,
                retry_after,
            } => {
                let duration = retry_after.unwrap_or_else(|| {
                    self.rejections = self.rejections.saturating_add(1);
                    settings.backoff(self.rejections, chance)
                });
                let until = now + duration;
                let mut notices = vec![Notice::Observed {
                    window: window.clone(),
                    utilization: None,
                }];
                if self.paused_until.is_none_or(|old| old < until) {
                    if self.paused_until.is_none() {
                        notices.push(Notice::WaitStarted {
                            reason: format!("rate limit: {window}"),
                            duration,
                        });
                    }
                    self.paused_until = Some(until);
                }
                notices.extend(self.adjust(low, &format!("{window}: refused")));
                notices
            }
        }
    }

    fn press(&mut self, window: String, utilization: Option<f64>, low: usize) -> Vec<Notice> {
        let mut notices = self.adjust(low, &format!("{window}: near the limit"));
        if !notices.is_empty() {
            notices.insert(
                0,
                Notice::Observed {
                    window,
                    utilization,
                },
            );
        }
        notices
    }

    fn adjust(&mut self, to: usize, reason: &str) -> Vec<Notice> {
        if self.limit == to {
            return Vec::new();
        }
        let from = std::mem::replace(&mut self.limit, to);
        vec![Notice::ConcurrencyAdjusted {
            from,
            to,
            reason: reason.to_owned(),
        }]
    }
}
