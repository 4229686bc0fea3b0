//! Tests of calendar arithmetic.

use super::{date, moment, time};

#[track_caller]
fn check(days: i64, expected: &str) {
    let (text, suffix) = date(days);
    assert_eq!(format!("{text}{suffix}"), expected);
}

#[test]
fn counts_days_across_leap_years_and_eras() {
    check(0, "1970-01-01");
    check(-1, "1969-12-31");
    check(11_016, "2000-02-29");
    check(11_017, "2000-03-01");
    check(-25_509, "1900-02-28");
    check(-25_508, "1900-03-01");
    check(19_782, "2024-02-29");
    check(2_932_896, "9999-12-31");
    check(2_932_897, "10000-01-01");
    check(-719_162, "0001-01-01");
    check(-719_163, "0001-12-31 BC");
    check(-734_138, "0041-01-01 BC");
}

#[test]
fn writes_times_without_trailing_zeros() {
    assert_eq!(time(0), "00:00:00");
    assert_eq!(time(86_399_999_999), "23:59:59.999999");
    assert_eq!(time(3_600_500_000), "01:00:00.5");
    assert_eq!(time(360_000_000_000), "100:00:00");
}

#[test]
fn writes_points_in_time() {
    assert_eq!(
        moment(1_709_200_800_500_000, "+00"),
        "2024-02-29 10:00:00.5+00"
    );
    assert_eq!(moment(-1, ""), "1969-12-31 23:59:59.999999");
}
