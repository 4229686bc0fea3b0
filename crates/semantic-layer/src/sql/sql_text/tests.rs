//! SQL spellings.

use ktx_sql::Dialect;

use super::{column_name, identifier, literal, table_name, table_parts, truncate};
use crate::model::granularity::Granularity;

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

/// Where clocks go forward at midnight, `PostgreSQL` started the day at 01:00 in the session's
/// zone, which is not a period of the spine.
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
            "DATE(DATE(x), '-' || ((CAST(STRFTIME('%w', DATE(x)) AS INTEGER) + 6) % 7) || ' days')",
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

#[test]
fn sqlite_keeps_the_last_instant_of_a_unit() {
    let database = rusqlite::Connection::open_in_memory().unwrap();
    for (time, unit, expected) in [
        (
            "2025-01-05 23:59:59.999999",
            Granularity::Week,
            "2024-12-30",
        ),
        (
            "2025-01-06 00:00:00.000001",
            Granularity::Week,
            "2025-01-06",
        ),
        (
            "2025-03-31 23:59:59.999999",
            Granularity::Quarter,
            "2025-01-01",
        ),
        (
            "2025-03-31 23:59:59.999999",
            Granularity::Month,
            "2025-03-01",
        ),
        (
            "2024-12-31 23:59:59.999999",
            Granularity::Year,
            "2024-01-01",
        ),
        ("2025-01-05 23:59:59.999999", Granularity::Day, "2025-01-05"),
        (
            "2025-01-05 22:59:59.999999",
            Granularity::Hour,
            "2025-01-05 22:00:00",
        ),
        (
            "2025-01-05 22:58:59.999999",
            Granularity::Minute,
            "2025-01-05 22:58:00",
        ),
    ] {
        let sql = format!("SELECT {}", truncate(Dialect::Sqlite, "?1", unit, None));
        let found: String = database.query_row(&sql, [time], |row| row.get(0)).unwrap();
        assert_eq!(found, expected, "{time} {unit:?}");
    }
}
