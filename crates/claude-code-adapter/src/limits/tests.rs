//! The rules over announced limits.

use super::{Admission, Announced, Book, postponed};
use crate::protocol::RateLimit;

fn limit(window: &str, model: &str, resets_at: i64) -> Announced {
    let told = RateLimit {
        status: "rejected".to_owned(),
        window: window.to_owned(),
        utilization: None,
        is_extra: false,
        resets_at: Some(resets_at),
    };
    Announced::of(&told, model).unwrap()
}

#[track_caller]
fn check(book: &Book, model: &str, now: i64, expected: &Admission) {
    assert_eq!(&book.admission(model, now), expected, "{model} at {now}");
}

#[test]
fn a_window_closes_every_model_until_it_resets_and_then_one_call_tries() {
    let mut book = Book::default();
    check(&book, "sonnet", 100, &Admission::Open);
    let five_hours = limit("five_hour", "sonnet", 200);
    book.announce(five_hours.clone());
    check(&book, "opus", 199, &Admission::Closed(five_hours));
    check(&book, "opus", 200, &Admission::Trial);
    assert!(!book.served("opus", 199), "a call in flight opens nothing");
    assert!(book.served("opus", 200));
    check(&book, "sonnet", 200, &Admission::Open);
}

#[test]
fn a_window_of_one_model_leaves_the_others_open() {
    let mut book = Book::default();
    let opus = limit("seven_day_opus", "opus", 500);
    book.announce(opus.clone());
    check(&book, "sonnet", 100, &Admission::Open);
    check(&book, "opus", 100, &Admission::Closed(opus.clone()));
    let week = limit("seven_day", "sonnet", 900);
    book.announce(week.clone());
    check(&book, "sonnet", 100, &Admission::Closed(week.clone()));
    check(&book, "opus", 600, &Admission::Closed(week.clone()));
    let weekly = [&opus, &week].map(Announced::is_weekly);
    assert_eq!(weekly, [true, true]);
    assert!(!limit("five_hour", "opus", 1).is_weekly());
}

/// The provider may move the end of a window; another run may know better.
#[test]
fn the_last_word_about_a_window_counts() {
    let mut book = Book::default();
    book.announce(limit("five_hour", "sonnet", 300));
    book.announce(limit("five_hour", "sonnet", 200));
    assert_eq!(book.all(), [limit("five_hour", "sonnet", 200)]);
    book.merge(vec![limit("five_hour", "sonnet", 100)]);
    assert_eq!(book.all(), [limit("five_hour", "sonnet", 200)]);
    book.merge(vec![
        limit("five_hour", "opus", 400),
        limit("seven_day", "opus", 1),
    ]);
    let both = [limit("five_hour", "", 400), limit("seven_day", "", 1)];
    assert_eq!(book.all(), both);
}

/// An end in a thousand years closes nothing, and is forgotten with the first call that is served.
#[test]
fn an_end_that_cannot_be_true_closes_nothing() {
    let now = 1_795_300_000;
    for end in [now * 1000, i64::MAX] {
        let mut book = Book::default();
        let far = limit("five_hour", "sonnet", end);
        assert!(!far.is_believable(now));
        book.announce(far);
        check(&book, "sonnet", now, &Admission::Trial);
        assert!(book.served("sonnet", now));
        check(&book, "sonnet", now, &Admission::Open);
    }
    let week = limit("seven_day", "sonnet", now + 7 * 24 * 60 * 60);
    assert!(week.is_believable(now));
    assert!(limit("five_hour", "sonnet", i64::MIN).is_believable(i64::MAX));
}

/// One that cannot be true hides no real one.
#[test]
fn an_end_that_cannot_be_true_does_not_hide_another() {
    let mut book = Book::default();
    book.announce(limit("five_hour", "sonnet", i64::MAX));
    let week = limit("seven_day", "sonnet", 2_000);
    book.announce(week.clone());
    check(&book, "sonnet", 1_000, &Admission::Closed(week));
    check(&book, "sonnet", 2_000, &Admission::Trial);
}

/// A window that refuses although it should have reset is looked at again a minute later, not six
/// times within seconds: clocks differ, and providers are late.
#[test]
fn a_window_that_resets_late_is_waited_for() {
    let at = |resets_at| Some(limit("five_hour", "sonnet", resets_at));
    for (told, expected) in [
        (at(1_001), (at(1_001), false)),
        (at(1_000), (at(1_060), true)),
        (at(100), (at(1_060), true)),
        (at(99), (at(99), false)),
        (None, (None, false)),
    ] {
        assert_eq!(postponed(told.clone(), 1_000), expected, "{told:?}");
    }
}
