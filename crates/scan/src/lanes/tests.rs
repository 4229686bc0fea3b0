//! Tests how lanes react to overload.

use super::{Lanes, Load};

#[track_caller]
fn check(loads: &[Load], expected: &[usize]) {
    let mut lanes = Lanes::new(4);
    let open: Vec<usize> = loads
        .iter()
        .map(|load| {
            lanes.note(*load);
            lanes.open
        })
        .collect();
    assert_eq!(open, expected);
}

#[test]
fn strain_halves_and_ease_grows_back_one_by_one() {
    use Load::{Easy, Strained};
    check(&[Strained, Strained, Strained], &[2, 1, 1]);
    check(
        &[Strained, Easy, Easy, Easy, Easy, Easy, Easy, Easy],
        &[2, 2, 3, 3, 3, 4, 4, 4],
    );
}

#[test]
fn work_that_asks_nothing_opens_nothing() {
    use Load::{Idle, Strained};
    check(&[Strained, Idle, Idle, Idle], &[2, 2, 2, 2]);
}

#[test]
fn there_is_always_one_lane() {
    assert_eq!(Lanes::new(0).open, 1);
}
