//! Value tests of spellings.

use ktx_warehouse::Dialect;

use super::{column_name, identifier, literal, table_name, table_parts, truncate};
use crate::Granularity;

#[test]
fn identifiers_are_quoted_where_they_need_it() {
    for (dialect, name, expected) in [
        (Dialect::Postgres, "amount", "amount"),
        (Dialect::Postgres, "order", r#""order""#),
        (Dialect::Postgres, "Amount", r#""Amount""#),
        (Dialect::Postgres, r#"a"b"#, r#""a""b""#),
        (Dialect::MySql, "rank", "`rank`"),
        (Dialect::SqlServer, "a]b", "[a]]b]"),
        (Dialect::Snowflake, "two words", r#""two words""#),
    ] {
        assert_eq!(identifier(dialect, name), expected);
    }
}

#[test]
fn snowflake_names_in_one_case_mean_the_folded_one() {
    for (name, expected) in [
        ("amount", "amount"),
        ("AMOUNT", "AMOUNT"),
        ("Amount", r#""Amount""#),
        ("order", r#""ORDER""#),
        ("ORDER", r#""ORDER""#),
    ] {
        assert_eq!(column_name(Dialect::Snowflake, name), expected);
    }
}

#[test]
fn table_names_are_taken_apart_and_put_together() {
    for (text, parts, written) in [
        ("orders", vec!["orders"], "orders"),
        ("sales.orders", vec!["sales", "orders"], "sales.orders"),
        (
            r#""my.db".[a]]b].`c`"#,
            vec!["my.db", "a]b", "c"],
            r#""my.db"."a]b".c"#,
        ),
    ] {
        assert_eq!(table_parts(text), parts);
        assert_eq!(table_name(Dialect::Postgres, text), written);
    }
    let path = table_name(Dialect::BigQuery, "`my-project.data.orders`");
    assert_eq!(path, "`my-project`.data.orders");
}

#[test]
fn literals_cannot_be_left() {
    for (dialect, text, expected) in [
        (Dialect::Postgres, r"it's \", r"'it''s \'"),
        (Dialect::MySql, r"it's \", r"'it''s \\'"),
        (Dialect::BigQuery, r"it's \", r"'it\'s \\'"),
        (Dialect::Redshift, r"it's \", r"'it''s \\'"),
    ] {
        assert_eq!(literal(dialect, text), expected);
    }
}

/// Found by the oracle: `PostgreSQL` cuts a date to a time in the session's zone, and where clocks go
/// forward at midnight the day began at 01:00, which is no period of the spine's or of a shift's.
#[test]
fn postgres_cuts_to_dates_unless_the_time_of_day_counts() {
    for (unit, expected) in [
        (Granularity::Year, "CAST(DATE_TRUNC('year', x) AS DATE)"),
        (Granularity::Day, "CAST(DATE_TRUNC('day', x) AS DATE)"),
        (Granularity::Hour, "DATE_TRUNC('hour', x)"),
        (Granularity::Minute, "DATE_TRUNC('minute', x)"),
    ] {
        assert_eq!(truncate(Dialect::Postgres, "x", unit, None), expected);
    }
}

#[test]
fn weeks_start_on_monday_everywhere() {
    for (dialect, expected) in [
        (Dialect::Postgres, "CAST(DATE_TRUNC('week', x) AS DATE)"),
        (
            Dialect::Snowflake,
            "DATEADD(day, 1 - DAYOFWEEKISO(x), DATE_TRUNC('day', x))",
        ),
        (Dialect::BigQuery, "DATE_TRUNC(x, ISOWEEK)"),
        (Dialect::MySql, "DATE_SUB(DATE(x), INTERVAL WEEKDAY(x) DAY)"),
        (
            Dialect::Sqlite,
            "DATE(x, '-' || ((CAST(STRFTIME('%w', x) AS INTEGER) + 6) % 7) || ' days')",
        ),
        (
            Dialect::ClickHouse,
            "subtractDays(toDate32(x), toDayOfWeek(x) - 1)",
        ),
        (Dialect::Databricks, "DATE_TRUNC('week', x)"),
    ] {
        assert_eq!(truncate(dialect, "x", Granularity::Week, None), expected);
    }
}
