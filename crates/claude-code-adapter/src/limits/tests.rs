//! Tests of the rules for announced limits.

use super::{Admission, AnnouncedLimit, LimitBook, StoreStatus, postponed};
use crate::protocol::RateLimit;
use crate::settings::KnownLimits;

fn limit(window: &str, model: &str, resets_at: i64) -> AnnouncedLimit {
    let announced = RateLimit {
        status: "rejected".to_owned(),
        window: window.to_owned(),
        utilization: None,
        is_extra: false,
        resets_at: Some(resets_at),
    };
    AnnouncedLimit::of(&announced, model, 0).unwrap()
}

fn served(book: &mut LimitBook, model: &str, now: i64) {
    book.served(model, now, KnownLimits::Believed);
}

fn heard(window: &str, heard_at: i64, resets_at: i64) -> AnnouncedLimit {
    AnnouncedLimit {
        heard_at,
        ..limit(window, "sonnet", resets_at)
    }
}

fn announce(book: &mut LimitBook, limit: AnnouncedLimit) {
    book.announce(limit, StoreStatus::NotStored);
}

#[track_caller]
fn check(book: &LimitBook, model: &str, now: i64, expected: &Admission) {
    assert_eq!(
        &book.admission(model, now, KnownLimits::Believed),
        expected,
        "{model} at {now}"
    );
}

#[test]
fn a_window_closes_every_model_until_it_resets_and_then_one_call_tries() {
    let mut book = LimitBook::default();
    check(&book, "sonnet", 100, &Admission::Open);
    let five_hours = limit("five_hour", "sonnet", 200);
    announce(&mut book, five_hours.clone());
    check(&book, "opus", 199, &Admission::Closed(five_hours));
    check(&book, "opus", 200, &Admission::Trial);
    // A call already in flight opens nothing.
    served(&mut book, "opus", 199);
    check(&book, "opus", 200, &Admission::Trial);
    served(&mut book, "opus", 200);
    check(&book, "sonnet", 200, &Admission::Open);
}

#[test]
fn a_window_of_one_model_leaves_the_others_open() {
    let mut book = LimitBook::default();
    let opus = limit("seven_day_opus", "opus", 500);
    announce(&mut book, opus.clone());
    check(&book, "sonnet", 100, &Admission::Open);
    check(&book, "opus", 100, &Admission::Closed(opus.clone()));
    let week = limit("seven_day", "sonnet", 900);
    announce(&mut book, week.clone());
    check(&book, "sonnet", 100, &Admission::Closed(week.clone()));
    check(&book, "opus", 600, &Admission::Closed(week.clone()));
    let weekly = [&opus, &week].map(AnnouncedLimit::is_weekly);
    assert_eq!(weekly, [true, true]);
    assert!(!limit("five_hour", "opus", 1).is_weekly());
}

#[test]
fn the_last_word_about_a_window_counts() {
    let mut book = LimitBook::default();
    announce(&mut book, limit("five_hour", "sonnet", 300));
    announce(&mut book, limit("five_hour", "sonnet", 200));
    let closed = |end| Admission::Closed(limit("five_hour", "sonnet", end));
    check(&book, "sonnet", 100, &closed(200));
    book.merge_stored(vec![limit("five_hour", "sonnet", 150)]);
    check(&book, "sonnet", 100, &closed(200));
    book.merge_stored(vec![limit("five_hour", "opus", 400)]);
    check(&book, "sonnet", 100, &closed(400));
    book.merge_stored(Vec::new());
    check(&book, "sonnet", 100, &closed(200));
}

#[test]
fn a_limit_that_was_removed_from_the_store_is_over() {
    let end = limit("five_hour", "sonnet", 300);
    let mut book = LimitBook::default();
    book.announce(end.clone(), StoreStatus::Stored);
    book.merge_stored(vec![end.clone()]);
    check(&book, "sonnet", 100, &Admission::Closed(end));
    book.merge_stored(Vec::new());
    check(&book, "sonnet", 100, &Admission::Open);
}

/// One call tries it. A run trusts what it received itself.
#[test]
fn an_implausible_limit_is_tried() {
    const HOUR: i64 = 60 * 60;
    let now = 1_795_300_000;
    for (left, is_sound) in [
        (heard("five_hour", now, now + 5 * HOUR), true),
        (heard("five_hour", now, now + 7 * HOUR), false),
        (heard("five_hour", now - 4 * HOUR, now + HOUR), true),
        (heard("five_hour", now - 4 * HOUR, now + 3 * HOUR), false),
        (heard("seven_day", now, now + 7 * 24 * HOUR), true),
        (heard("seven_day", now, now + 9 * 24 * HOUR), false),
        (heard("seven_day", now + 2 * HOUR, now + 24 * HOUR), false),
        (heard("", now, now + 7 * 24 * HOUR), true),
        (heard("", now, now + 40 * 24 * HOUR), false),
    ] {
        let mut book = LimitBook::default();
        book.merge_stored(vec![left.clone()]);
        let closed = Admission::Closed(left.clone());
        let expected = if is_sound { &closed } else { &Admission::Trial };
        check(&book, "sonnet", now, expected);
        let tried = book.admission("sonnet", now, KnownLimits::Tried);
        assert_eq!(tried, Admission::Trial, "{left:?}");
        assert_eq!(book.served("sonnet", now, KnownLimits::Believed), !is_sound);
        assert!(book.served("sonnet", now, KnownLimits::Tried));
        if left.heard_at <= now {
            book.announce(left, StoreStatus::Stored);
            check(&book, "sonnet", now, &closed);
        }
    }
}

#[test]
fn a_clock_that_is_set_back_makes_no_wait_longer() {
    let mut book = LimitBook::default();
    let day = 24 * 60 * 60;
    announce(&mut book, heard("five_hour", 10 * day, 10 * day + 3600));
    check(&book, "sonnet", 9 * day, &Admission::Trial);
}

#[test]
fn an_implausible_end_refuses_nothing() {
    let now = 1_795_300_000;
    for end in [now * 1000, i64::MAX] {
        let mut book = LimitBook::default();
        let far = limit("five_hour", "sonnet", end);
        assert!(!far.is_plausible(now));
        announce(&mut book, far);
        check(&book, "sonnet", now, &Admission::Trial);
        served(&mut book, "sonnet", now);
        check(&book, "sonnet", now, &Admission::Open);
    }
    let week = limit("seven_day", "sonnet", now + 7 * 24 * 60 * 60);
    assert!(week.is_plausible(now));
    assert!(limit("five_hour", "sonnet", i64::MIN).is_plausible(i64::MAX));
}

#[test]
fn an_end_that_cannot_be_true_does_not_hide_another() {
    let mut book = LimitBook::default();
    announce(&mut book, limit("five_hour", "sonnet", i64::MAX));
    let week = limit("seven_day", "sonnet", 2_000);
    announce(&mut book, week.clone());
    check(&book, "sonnet", 1_000, &Admission::Closed(week));
    check(&book, "sonnet", 2_000, &Admission::Trial);
}

/// After a minute, not six times within seconds: clocks differ.
#[test]
fn a_window_that_resets_late_is_waited_for() {
    let at = |resets_at| Some(limit("five_hour", "sonnet", resets_at));
    for (announced, expected) in [
        (at(1_001), (at(1_001), false)),
        (at(1_000), (at(1_060), true)),
        (at(100), (at(1_060), true)),
        (at(99), (at(99), false)),
        (None, (None, false)),
    ] {
        assert_eq!(
            postponed(announced.clone(), 1_000),
            expected,
            "{announced:?}"
        );
    }
}
