//! Tests of the rules, and of waits on a paused clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Governor, GovernorSettings, GovernorSwitch, Jitter, LimitSignal};
use crate::{EventSink, LlmErrorKind, NoEvents, RuntimeEvent};

#[derive(Default)]
struct EventRecorder(Mutex<Vec<String>>);

impl EventSink for EventRecorder {
    fn event(&self, event: RuntimeEvent) {
        let line = match event {
            RuntimeEvent::RateLimitObserved {
                window,
                utilization,
                ..
            } => format!("observed {window} {utilization:?}"),
            RuntimeEvent::WaitStarted { reason, duration } => {
                format!("wait {reason} {} ms", duration.as_millis())
            }
            RuntimeEvent::WaitTick { reason, remaining } => {
                format!("tick {reason} {} s", remaining.as_secs())
            }
            RuntimeEvent::WaitFinished => "wait finished".to_owned(),
            RuntimeEvent::ConcurrencyAdjusted { from, to, reason } => {
                format!("concurrency {from} -> {to} ({reason})")
            }
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

fn settings() -> GovernorSettings {
    GovernorSettings {
        max_concurrency: 2,
        jitter: Jitter::Off,
        ..GovernorSettings::default()
    }
}

fn rejected(retry_after: Option<Duration>) -> LimitSignal {
    LimitSignal::Rejected {
        window: "requests".to_owned(),
        retry_after,
    }
}

fn allowed(utilization: f64) -> LimitSignal {
    LimitSignal::Allowed {
        window: "tokens".to_owned(),
        utilization: Some(utilization),
        resets_at: None,
    }
}

#[test]
fn pauses_double_up_to_the_cap_and_jitter_stays_within_a_quarter() {
    let plain = settings();
    let seconds: Vec<u64> = (1..=8).map(|n| plain.backoff(n, 0.5).as_secs()).collect();
    assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    let wobbly = GovernorSettings::default();
    assert_eq!(wobbly.backoff(1, 0.0), Duration::from_millis(750));
    assert_eq!(wobbly.backoff(1, 1.0), Duration::from_millis(1250));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_pauses_everybody_and_an_allowed_call_restores_the_concurrency() {
    let events = Arc::new(EventRecorder::default());
    let governor = Governor::new(settings(), events.clone());
    let cancel = CancellationToken::new();
    let started = tokio::time::Instant::now();
    governor.report(rejected(Some(Duration::from_millis(2500))));
    let permit = governor.acquire(&cancel).await.unwrap();
    assert_eq!(started.elapsed().as_millis(), 2500);
    governor.report(allowed(0.1));
    let second = governor.acquire(&cancel).await.unwrap();
    drop((permit, second));
    assert_eq!(
        *events.0.lock().unwrap(),
        [
            "observed requests None",
            "wait limit of requests 2500 ms",
            "concurrency 2 -> 1 (limit of requests: refused)",
            "tick limit of requests 1 s",
            "tick limit of requests 0 s",
            "wait finished",
            "concurrency 1 -> 2 (limit of tokens: enough room again)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_shorter_wait_does_not_shorten_a_longer_one() {
    let cancel = CancellationToken::new();
    for waits in [[4000, 1500], [1500, 4000]] {
        let governor = Governor::new(settings(), Arc::new(NoEvents));
        let started = tokio::time::Instant::now();
        for wait in waits {
            governor.report(rejected(Some(Duration::from_millis(wait))));
        }
        assert!(governor.acquire(&cancel).await.is_ok());
        assert_eq!(started.elapsed().as_millis(), 4000);
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_share_one_tick_a_second() {
    let events = Arc::new(EventRecorder::default());
    let governor = Governor::new(settings(), events.clone());
    governor.report(rejected(Some(Duration::from_millis(3500))));
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let governor = governor.clone();
            tokio::spawn(async move { governor.acquire(&CancellationToken::new()).await.is_ok() })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap());
    }
    let lines = events.0.lock().unwrap().clone();
    let ticks: Vec<&String> = lines.iter().filter(|line| line.contains("tick")).collect();
    assert_eq!(
        ticks,
        [
            "tick limit of requests 2 s",
            "tick limit of requests 1 s",
            "tick limit of requests 0 s"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn rejections_without_a_time_wait_longer_each_time_until_a_call_is_allowed() {
    let governor = Governor::new(settings(), Arc::new(NoEvents));
    let cancel = CancellationToken::new();
    let mut waits = Vec::new();
    for _ in 0..3 {
        let started = tokio::time::Instant::now();
        governor.report(rejected(None));
        drop(governor.acquire(&cancel).await.unwrap());
        waits.push(started.elapsed().as_secs());
    }
    governor.report(allowed(0.0));
    let started = tokio::time::Instant::now();
    governor.report(rejected(None));
    drop(governor.acquire(&cancel).await.unwrap());
    waits.push(started.elapsed().as_secs());
    assert_eq!(waits, [1, 2, 4, 1]);
}

#[tokio::test(start_paused = true)]
async fn near_the_limit_one_call_runs_at_a_time() {
    let events = Arc::new(EventRecorder::default());
    let governor = Governor::new(settings(), events.clone());
    let cancel = CancellationToken::new();
    governor.report(allowed(0.8));
    governor.report(allowed(0.9));
    let first = governor.acquire(&cancel).await.unwrap();
    let waiting = {
        let governor = governor.clone();
        tokio::spawn(async move { governor.acquire(&CancellationToken::new()).await.is_ok() })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished());
    drop(first);
    assert!(waiting.await.unwrap());
    assert_eq!(
        *events.0.lock().unwrap(),
        [
            "observed tokens Some(0.8)",
            "concurrency 2 -> 1 (limit of tokens: near the limit)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_longer_than_allowed_ends_the_call_and_reports_its_length() {
    let governor = Governor::new(
        GovernorSettings {
            max_wait: Some(Duration::from_secs(5)),
            ..settings()
        },
        Arc::new(NoEvents),
    );
    governor.report(rejected(Some(Duration::from_secs(30))));
    let error = governor
        .acquire(&CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::RateLimit);
    assert_eq!(error.retry_after, Some(Duration::from_secs(30)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_ends_at_once() {
    let governor = Governor::new(settings(), Arc::new(NoEvents));
    governor.report(rejected(Some(Duration::from_hours(1))));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = governor.acquire(&cancel).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn switched_off_it_neither_waits_nor_repeats() {
    let governor = Governor::new(
        GovernorSettings {
            governing: GovernorSwitch::Off,
            ..settings()
        },
        Arc::new(NoEvents),
    );
    governor.report(rejected(Some(Duration::from_hours(1))));
    let cancel = CancellationToken::new();
    let mut permits = Vec::new();
    for _ in 0..20 {
        permits.push(governor.acquire(&cancel).await.unwrap());
    }
    assert_eq!((permits.len(), governor.max_attempts()), (20, 1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_end_is_a_week() {
    let events = Arc::new(EventRecorder::default());
    let governor = Governor::new(settings(), events.clone());
    governor.report(rejected(Some(Duration::MAX)));
    assert_eq!(
        *events.0.lock().unwrap(),
        [
            "observed requests None",
            "wait limit of requests 604800000 ms",
            "concurrency 2 -> 1 (limit of requests: refused)",
        ]
    );
}

/// `--max-minutes`.
#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_time_of_the_run_ends_the_call() {
    let started = tokio::time::Instant::now();
    let governor = Governor::new(
        GovernorSettings {
            ends_at: Some(started + Duration::from_mins(1)),
            ..settings()
        },
        Arc::new(NoEvents),
    );
    let cancel = CancellationToken::new();
    governor.report(rejected(Some(Duration::from_secs(50))));
    drop(governor.acquire(&cancel).await.unwrap());
    assert_eq!(started.elapsed().as_secs(), 50);
    governor.report(rejected(Some(Duration::from_secs(11))));
    let error = governor.acquire(&cancel).await.unwrap_err();
    assert_eq!(
        (
            error.kind,
            error.message.as_str(),
            started.elapsed().as_secs()
        ),
        (
            LlmErrorKind::RateLimit,
            "the provider's limit lasts 11 s, longer than the run may take",
            50
        )
    );
    assert!(governor.has_time_for(Duration::from_secs(10)));
    assert!(!governor.has_time_for(Duration::from_secs(11)));
}

#[tokio::test(start_paused = true)]
async fn it_reports_what_calls_wait_for() {
    let governor = Governor::new(settings(), Arc::new(NoEvents));
    assert_eq!(governor.paused(), None);
    governor.report(rejected(Some(Duration::from_secs(30))));
    let pause = ("limit of requests".to_owned(), Duration::from_secs(30));
    assert_eq!(governor.paused(), Some(pause));
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(governor.paused(), None);
}

fn clock() -> (
    Arc<AtomicU64>,
    impl Fn() -> Duration + Send + Sync + 'static,
) {
    let seconds = Arc::new(AtomicU64::new(1_795_300_000));
    let read = Arc::clone(&seconds);
    (seconds, move || {
        Duration::from_secs(read.load(Ordering::Relaxed))
    })
}

#[tokio::test(start_paused = true)]
async fn sleep_counts_as_waiting() {
    let (seconds, time_of_day) = clock();
    let governor = Governor::with_time_of_day(settings(), Arc::new(NoEvents), time_of_day);
    governor.report(rejected(Some(Duration::from_hours(5))));
    let started = tokio::time::Instant::now();
    let call = {
        let governor = governor.clone();
        tokio::spawn(async move { governor.acquire(&CancellationToken::new()).await.is_ok() })
    };
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!call.is_finished());
    seconds.fetch_add(5 * 60 * 60, Ordering::Relaxed);
    assert_eq!(governor.paused(), None);
    assert!(call.await.unwrap());
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_makes_no_wait_longer() {
    let (seconds, time_of_day) = clock();
    let governor = Governor::with_time_of_day(settings(), Arc::new(NoEvents), time_of_day);
    governor.report(rejected(Some(Duration::from_secs(30))));
    let started = tokio::time::Instant::now();
    seconds.fetch_sub(24 * 60 * 60, Ordering::Relaxed);
    drop(governor.acquire(&CancellationToken::new()).await.unwrap());
    assert_eq!(started.elapsed(), Duration::from_secs(30));
}
