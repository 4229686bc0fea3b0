//! Account limits. One request discovers a limit; no other follows until it resets.

mod book;
mod login;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ktx_llm_runtime::{
    EventSink, GovernorSwitch, LlmError, LlmErrorKind, Patience, RequestSent, RuntimeEvent,
    window_words,
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio_util::future::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::outcome::{limit_reached, plausible_reset};
use crate::protocol::RateLimit;
use crate::settings::ClaudeCodeSettings;

use book::is_over;
pub(crate) use book::{Admission, AnnouncedLimit, LimitBook, StoreStatus};
use login::SessionLogin;

/// The longest window worth a wait has five hours.
const LONGEST: Duration = Duration::from_hours(6);

/// Timers do not advance while the machine sleeps.
const TICK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Limits {
    settings: Arc<ClaudeCodeSettings>,
    login: SessionLogin,
    known: Mutex<LoginLimits>,
    /// End of the reported limit.
    reported_wait: Mutex<Option<i64>>,
    waiting: AtomicUsize,
    /// Held by the first call after a reset.
    trial: Arc<AsyncMutex<()>>,
    /// Held by calls while a window is nearly used up.
    narrow: Arc<Semaphore>,
    /// Windows that are nearly used up.
    pressed: Mutex<BTreeSet<String>>,
    file: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct LoginLimits {
    login: String,
    book: LimitBook,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Pressure {
    #[default]
    Off,
    On,
}

#[derive(Debug)]
pub(crate) struct LimitPermit {
    _trial: Option<OwnedMutexGuard<()>>,
    _narrow: Option<OwnedSemaphorePermit>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the provider names the end of a limit as a point in time"
)]
fn time_of_day() -> Duration {
    // A clock before 1970 makes every limit look far away, so ktx waits for none.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

pub(crate) fn unix_now() -> i64 {
    i64::try_from(time_of_day().as_secs()).unwrap_or(i64::MAX)
}

impl Limits {
    pub(crate) fn new(settings: Arc<ClaudeCodeSettings>) -> Self {
        let file = settings.state_dir.as_deref().map(store::file);
        let narrow = settings.rate_limit.min_concurrency_under_pressure.max(1);
        Self {
            settings,
            login: SessionLogin::default(),
            known: Mutex::default(),
            reported_wait: Mutex::default(),
            waiting: AtomicUsize::new(0),
            trial: Arc::default(),
            narrow: Arc::new(Semaphore::new(narrow)),
            pressed: Mutex::default(),
            file,
        }
    }

    /// Fails with `Cancelled`, or with `RateLimit` if the limit is not worth a wait.
    pub(crate) async fn pass(
        &self,
        model: &str,
        patience: Patience,
        events: &dyn EventSink,
        cancel: &CancellationToken,
    ) -> Result<LimitPermit, LlmError> {
        let mut reporter = WaitReporter {
            limits: self,
            events,
            reporting: None,
        };
        loop {
            match self.admission(model) {
                Admission::Open => {
                    reporter.wait_is_over();
                    let Some(turn) = self.turn().with_cancellation_token(cancel).await else {
                        return Err(LlmError::cancelled());
                    };
                    if self.admission(model) == Admission::Open {
                        return Ok(LimitPermit {
                            _trial: None,
                            _narrow: turn,
                        });
                    }
                }
                Admission::Trial => {
                    reporter.wait_is_over();
                    let turn = Arc::clone(&self.trial).lock_owned();
                    let Some(turn) = turn.with_cancellation_token(cancel).await else {
                        return Err(LlmError::cancelled());
                    };
                    if self.admission(model) == Admission::Trial {
                        return Ok(LimitPermit {
                            _trial: Some(turn),
                            _narrow: None,
                        });
                    }
                }
                Admission::Closed(limit) => {
                    let left = time_left(&limit);
                    if patience == Patience::None || !self.is_worth_waiting(&limit, left) {
                        return Err(refusal(&limit, left));
                    }
                    reporter.report(&limit, left);
                    let _waiting = self.wait();
                    let tick = tokio::time::sleep(left.min(TICK));
                    if tick.with_cancellation_token(cancel).await.is_none() {
                        return Err(LlmError::cancelled());
                    }
                }
            }
        }
    }

    pub(crate) fn wait(&self) -> WaitGuard<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        WaitGuard(self)
    }

    pub(crate) fn has_waiters(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// `None` unless a window is nearly used up.
    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        if pressure(&self.pressed()) == Pressure::Off {
            return None;
        }
        let turns = Arc::clone(&self.narrow);
        // The semaphore is never closed.
        turns.acquire_owned().await.ok()
    }

    pub(crate) fn observed(&self, limit: &RateLimit) -> Option<RuntimeEvent> {
        let rules = &self.settings.rate_limit;
        let near = limit.status == "allowed_warning"
            || limit
                .utilization
                .is_some_and(|share| share >= rules.throttle_threshold);
        let now = match (near, limit.status.as_str()) {
            _ if rules.governing == GovernorSwitch::Off => Pressure::Off,
            (true, _) => Pressure::On,
            (false, "allowed") => Pressure::Off,
            (false, _) => return None,
        };
        let mut pressed = self.pressed();
        let before = pressure(&pressed);
        if now == Pressure::On {
            pressed.insert(limit.window.clone());
        } else {
            pressed.remove(&limit.window);
        }
        let now = pressure(&pressed);
        drop(pressed);
        let few = rules.min_concurrency_under_pressure.max(1);
        let (from, to, how) = match (before, now) {
            (Pressure::Off, Pressure::On) => (rules.max_concurrency, few, "near the limit"),
            (Pressure::On, Pressure::Off) => (few, rules.max_concurrency, "enough room again"),
            _ => return None,
        };
        let window = window_words(&limit.window);
        Some(RuntimeEvent::ConcurrencyAdjusted {
            from,
            to,
            reason: format!("{window}: {how}"),
        })
    }

    pub(crate) fn closed(&self, model: &str) -> Option<LlmError> {
        match self.admission(model) {
            Admission::Closed(limit) => Some(refusal(&limit, time_left(&limit))),
            Admission::Open | Admission::Trial => None,
        }
    }

    /// Returns the pause before the next attempt. `failures` includes this refusal.
    pub(crate) fn refused(
        &self,
        model: &str,
        limit: Option<&RateLimit>,
        failures: u32,
    ) -> Option<Duration> {
        let (rules, now) = (&self.settings.rate_limit, unix_now());
        let announced = limit.and_then(|limit| AnnouncedLimit::of(limit, model, now));
        let (announced, is_late) = postponed(announced, now);
        let again =
            (is_late || failures < rules.max_attempts) && rules.governing == GovernorSwitch::On;
        let Some(announced) = announced
            .filter(|announced| !time_left(announced).is_zero() && announced.is_plausible(now))
        else {
            let pause = rules.backoff(failures, 0.5);
            return (again && self.is_allowed(pause)).then_some(pause);
        };
        let mut known = self.current();
        let file = self.file.as_deref();
        let status = store::announce(
            file,
            &known.login,
            &announced,
            self.settings.known_limits,
            now,
        );
        known.book.announce(announced.clone(), status);
        drop(known);
        (again && self.is_worth_waiting(&announced, time_left(&announced)))
            .then_some(Duration::ZERO)
    }

    pub(crate) fn served(&self, model: &str) {
        let (now, trust) = (unix_now(), self.settings.known_limits);
        let mut known = self.current();
        if known.book.served(model, now, trust) {
            let is_over = |limit: &AnnouncedLimit| is_over(limit, model, now, trust);
            store::forget(self.file.as_deref(), &known.login, is_over);
        }
    }

    fn admission(&self, model: &str) -> Admission {
        let trust = self.settings.known_limits;
        self.current().book.admission(model, unix_now(), trust)
    }

    /// Loads the stored limits after a change of login.
    fn current(&self) -> MutexGuard<'_, LoginLimits> {
        let login = self.login.name(&self.settings);
        let kept = store::load(self.file.as_deref(), &login);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.login != login {
            *known = LoginLimits {
                login,
                book: LimitBook::default(),
            };
        }
        known.book.merge_stored(kept);
        known
    }

    fn is_worth_waiting(&self, limit: &AnnouncedLimit, left: Duration) -> bool {
        self.settings.rate_limit.governing == GovernorSwitch::On
            && !limit.is_weekly()
            && left <= LONGEST
            && self.is_allowed(left)
    }

    fn is_allowed(&self, wait: Duration) -> bool {
        let longest = self.settings.rate_limit.max_wait;
        let in_time = match self.settings.ends_at {
            Some(end) => end.saturating_duration_since(Instant::now()) >= wait,
            None => true,
        };
        in_time && longest.is_none_or(|longest| wait <= longest)
    }

    fn pressed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.pressed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reported_wait(&self) -> MutexGuard<'_, Option<i64>> {
        self.reported_wait
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct WaitGuard<'a>(&'a Limits);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reports the wait of many calls once.
struct WaitReporter<'a> {
    limits: &'a Limits,
    events: &'a dyn EventSink,
    reporting: Option<i64>,
}

impl WaitReporter<'_> {
    fn report(&mut self, limit: &AnnouncedLimit, left: Duration) {
        let end = limit.resets_at;
        let mut reported = self.limits.reported_wait();
        if self.reporting == Some(end) {
            drop(reported);
            self.events.event(RuntimeEvent::WaitTick {
                reason: limit.words(),
                remaining: left,
            });
        } else if *reported != Some(end) {
            *reported = Some(end);
            self.reporting = Some(end);
            drop(reported);
            self.events.event(RuntimeEvent::WaitStarted {
                reason: limit.words(),
                duration: left,
            });
        }
    }

    fn wait_is_over(&mut self) {
        if self.reporting.is_some() {
            self.events.event(RuntimeEvent::WaitFinished);
        }
        self.stop();
    }

    fn stop(&mut self) {
        let end = self.reporting.take();
        let mut reported = self.limits.reported_wait();
        if end.is_some() && *reported == end {
            *reported = None;
        }
    }
}

impl Drop for WaitReporter<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Clocks differ: tries again a minute after the reset, for a quarter of an hour.
fn postponed(announced: Option<AnnouncedLimit>, now: i64) -> (Option<AnnouncedLimit>, bool) {
    const LATE: i64 = 15 * 60;
    match announced {
        Some(limit) if (now - LATE..=now).contains(&limit.resets_at) => {
            let resets_at = now + 60;
            (Some(AnnouncedLimit { resets_at, ..limit }), true)
        }
        other => (other, false),
    }
}

fn pressure(near: &BTreeSet<String>) -> Pressure {
    if near.is_empty() {
        Pressure::Off
    } else {
        Pressure::On
    }
}

fn time_left(limit: &AnnouncedLimit) -> Duration {
    let reset = Duration::from_secs(u64::try_from(limit.resets_at).unwrap_or_default());
    reset.saturating_sub(time_of_day())
}

fn refusal(limit: &AnnouncedLimit, left: Duration) -> LlmError {
    let resets_at = plausible_reset(Some(limit.resets_at), unix_now());
    let (message, hint) = limit_reached(&limit.window, resets_at);
    let mut error = LlmError::new(LlmErrorKind::RateLimit, message)
        .hint(hint)
        .detail("announced before; ktx sent no request");
    error.retry_after = Some(left);
    error.sent = RequestSent::No;
    error
}
