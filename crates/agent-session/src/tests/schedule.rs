//! Schedules with a wrong clock or several processes.

use jiff::{SignedDuration, Timestamp};
use ktx_session_log::SessionStore;

use super::{agent, sessions};
use crate::{CatchUp, Scheduled, Scheduler, Spending, Tick, Trigger, TriggerKind};

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(minutes * 60).unwrap()
}

fn moments(after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let minutes = |moment: Timestamp| moment.as_second().div_euclid(600);
    let counts = minutes(after) + 1..=minutes(until);
    counts.map(|count| at(count * 10)).collect()
}

fn tick(scheduler: &Scheduler, now: i64) -> Tick {
    let agent = agent();
    let entry = Scheduled {
        agent: &agent,
        file: "reporter",
        name: "often",
        message: "Is all well?",
        trigger: Trigger {
            task_id: "reporter/often".to_owned(),
            spec: "every 10 minutes".to_owned(),
            kind: TriggerKind::Time,
            scheduled: None,
            on_ask: None,
            max_turns: None,
            limits: Spending::default(),
        },
        catch_up: CatchUp::Within(SignedDuration::from_hours(1)),
        firings: &moments,
    };
    scheduler.tick(&[entry], at(now)).unwrap()
}

fn fired(tick: &Tick) -> Vec<i64> {
    let minutes = |moment: Timestamp| moment.as_second() / 60;
    tick.fired.iter().map(|it| minutes(it.scheduled)).collect()
}

/// KODE-66.
#[test]
fn a_clock_that_was_wrong_silences_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path().join("sessions")));
    let scheduler = Scheduler::new(sessions.clone(), SessionStore::new(folder.path()));
    let year = 365 * 24 * 60;
    assert!(fired(&tick(&scheduler, 1_001)).is_empty());
    assert_eq!(fired(&tick(&scheduler, 1_010)), [1_010]);
    sessions.delete(&tick_session(&scheduler)).unwrap();
    assert_eq!(fired(&tick(&scheduler, year)), [year]);
    sessions.delete(&tick_session(&scheduler)).unwrap();
    // Right again: it counts from now on.
    assert!(fired(&tick(&scheduler, 1_015)).is_empty());
    assert_eq!(fired(&tick(&scheduler, 1_020)), [1_020]);
    // Setting the clock back by seconds fires nothing again.
    let before = sessions.store().list().unwrap().len();
    tick(&scheduler, 1_019);
    tick(&scheduler, 1_020);
    assert_eq!(sessions.store().list().unwrap().len(), before);
}

/// KODE-66.
#[test]
fn a_clock_that_is_set_back_fires_no_moment_twice() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(SessionStore::new(folder.path().join("sessions")));
    let scheduler = Scheduler::new(sessions.clone(), SessionStore::new(folder.path()));
    tick(&scheduler, 1_001);
    for now in [1_010, 1_020] {
        assert_eq!(fired(&tick(&scheduler, now)), [now]);
        sessions.delete(&tick_session(&scheduler)).unwrap();
    }
    for now in [1_005, 1_010, 1_020] {
        assert!(fired(&tick(&scheduler, now)).is_empty(), "{now}");
    }
    assert_eq!(fired(&tick(&scheduler, 1_030)), [1_030]);
}

fn tick_session(scheduler: &Scheduler) -> ktx_session_log::SessionId {
    let entries = scheduler.journal().unwrap();
    let last = entries.into_iter().find_map(|entry| entry.last);
    last.unwrap().session
}
