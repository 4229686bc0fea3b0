//! Bounds and the periods between them.

use ktx_sql::Dialect;

use super::{Instants, between};
use crate::model::granularity::Granularity;
use crate::sql::expression::{conjuncts, parse};

fn spine(filter: &str, unit: Granularity, instants: Instants) -> String {
    let time = parse("at", Dialect::Postgres).unwrap();
    let clauses = conjuncts(parse(filter, Dialect::Postgres).unwrap());
    match between(&time, &clauses.iter().collect::<Vec<_>>(), unit, instants) {
        Ok(spine) => format!("{} x {}", spine.first, spine.count),
        Err(problem) => format!("{problem:?}"),
    }
}

fn check(filter: &str, unit: Granularity, expected: &str) {
    assert_eq!(spine(filter, unit, Instants::Any), expected, "{filter}");
}

#[test]
fn bounds_are_read_out_of_comparisons() {
    let month = Granularity::Month;
    check(
        "at >= '2024-01-15' and at < '2024-03-01'",
        month,
        "2024-01-01 x 2",
    );
    check(
        "at >= '2024-01-15' and at <= '2024-03-01'",
        month,
        "2024-01-01 x 3",
    );
    check(
        "at between '2024-01-15' and '2024-12-31'",
        month,
        "2024-01-01 x 12",
    );
    check(
        "'2024-01-15' <= at and '2024-03-02' > at",
        month,
        "2024-01-01 x 3",
    );
    check(
        "at >= date '2024-01-01' and at < cast('2024-02-01' as date)",
        month,
        "2024-01-01 x 1",
    );
    check("at = '2024-02-29'", Granularity::Day, "2024-02-29 x 1");
    check(
        "(at >= '2024-01-01') and (at <= '2024-01-02 10:30:00')",
        Granularity::Hour,
        "2024-01-01 00:00:00 x 35",
    );
    check(
        "at >= '2024-01-01T23:58' and at < '2024-01-02'",
        Granularity::Minute,
        "2024-01-01 23:58:00 x 2",
    );
}

#[test]
fn the_tightest_bounds_hold() {
    check(
        "at >= '2024-01-01' and at >= '2024-02-01' and at < '2025-01-01' and at < '2024-04-01'",
        Granularity::Month,
        "2024-02-01 x 2",
    );
}

#[test]
fn periods_are_counted_in_every_unit() {
    for (unit, expected) in [
        (Granularity::Year, "2023-01-01 x 3"),
        (Granularity::Quarter, "2023-10-01 x 7"),
        (Granularity::Month, "2023-11-01 x 18"),
        (Granularity::Week, "2023-11-13 x 73"),
        (Granularity::Day, "2023-11-15 x 506"),
        (Granularity::Hour, "TooLong(12121)"),
    ] {
        check("at between '2023-11-15' and '2025-04-03'", unit, expected);
    }
}

#[test]
fn after_a_date_is_the_next_day_where_there_are_only_dates() {
    let filter = "at > '2024-01-31' and at < '2024-03-01'";
    let month = Granularity::Month;
    assert_eq!(spine(filter, month, Instants::Days), "2024-02-01 x 1");
    assert_eq!(spine(filter, month, Instants::Any), "2024-01-01 x 2");
}

#[test]
fn without_bounds_there_are_no_periods() {
    let day = Granularity::Day;
    check("at >= '2024-01-01'", day, "Unbounded");
    check("at >= '2024-01-01' and at < now()", day, "Unbounded");
    check("at >= '2024-01-01' or at < '2025-01-01'", day, "Unbounded");
    check(
        "at not between '2024-01-01' and '2024-02-01'",
        day,
        "Unbounded",
    );
    check("at >= 'soon' and at < 'later'", day, "Unbounded");
    check(
        "other >= '2024-01-01' and at < '2024-02-01'",
        day,
        "Unbounded",
    );
    check("at >= '2024-02-01' and at < '2024-02-01'", day, "Empty");
    check(
        "at >= '2024-01-01' and at < '2400-01-01'",
        day,
        "TooLong(137331)",
    );
}
