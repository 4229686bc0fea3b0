//! Which sessions a new one closes.

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

fn used(zero: Instant, minutes: u32, change: impl FnOnce(&mut Use)) -> Use {
    let mut used = Use::new(zero + MINUTE * minutes);
    change(&mut used);
    used
}

fn has_called(used: &mut Use) {
    used.has_called.store(true, Ordering::Relaxed);
}

fn goes(uses: Vec<(&str, Use)>, open: usize, now: Instant) -> Vec<String> {
    let uses = uses
        .into_iter()
        .map(|(id, used)| (id.into(), used))
        .collect();
    let mut gone: Vec<String> = leaving(&uses, open, now)
        .iter()
        .map(ToString::to_string)
        .collect();
    gone.sort();
    gone
}

#[test]
fn a_session_in_which_nothing_was_ever_called_ends_after_minutes() {
    let zero = Instant::now();
    let uses = || {
        vec![
            ("never used", used(zero, 0, |_| {})),
            ("younger", used(zero, 1, |_| {})),
            ("has called", used(zero, 0, has_called)),
            ("listens", used(zero, 0, |used| used.listens = 1)),
            ("asks", used(zero, 0, |used| used.asks = 1)),
        ]
    };
    let nobody: [&str; 0] = [];
    assert_eq!(goes(uses(), 5, zero + MINUTE * 14), nobody);
    assert_eq!(goes(uses(), 5, zero + MINUTE * 15), ["never used"]);
    assert_eq!(
        goes(uses(), 5, zero + MINUTE * 16),
        ["never used", "younger"]
    );
}

#[test]
fn when_there_is_no_room_the_session_that_is_missed_least_ends() {
    let zero = Instant::now();
    let mut uses = vec![
        ("asks", used(zero, 0, |used| used.asks = 1)),
        (
            "has called and listens",
            used(zero, 0, |used| {
                has_called(used);
                used.listens = 1;
            }),
        ),
        ("has called", used(zero, 1, has_called)),
        ("has called later", used(zero, 2, has_called)),
        ("listens", used(zero, 3, |used| used.listens = 1)),
        ("never used, later", used(zero, 5, |_| {})),
        ("never used", used(zero, 4, |_| {})),
    ];
    for last in [
        "never used",
        "never used, later",
        "listens",
        "has called",
        "has called later",
        "has called and listens",
    ] {
        assert_eq!(goes(uses.clone(), MOST, zero + MINUTE * 6), [last]);
        uses.retain(|(id, _)| *id != last);
    }
    let nobody: [&str; 0] = [];
    assert_eq!(goes(uses, MOST, zero + MINUTE * 6), nobody);
}
