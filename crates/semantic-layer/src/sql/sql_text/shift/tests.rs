//! Shifted periods.

use ktx_sql::Dialect;

use super::{By, instant, moved};
use crate::model::granularity::Granularity;

#[test]
fn every_dialect_moves_a_day_by_months() {
    for (dialect, expected) in [
        (Dialect::Postgres, "(p - INTERVAL '12 month')"),
        (Dialect::DuckDb, "(p - INTERVAL '12 month')"),
        (Dialect::Redshift, "DATEADD(month, -12, p)"),
        (Dialect::Snowflake, "DATEADD(month, -12, p)"),
        (Dialect::Databricks, "DATEADD(month, -12, p)"),
        (Dialect::SqlServer, "DATEADD(month, -12, p)"),
        (Dialect::MySql, "DATE_ADD(p, INTERVAL (-12) MONTH)"),
        (Dialect::MariaDb, "DATE_ADD(p, INTERVAL (-12) MONTH)"),
        (Dialect::BigQuery, "DATE_ADD(p, INTERVAL (-12) MONTH)"),
        (Dialect::ClickHouse, "addMonths(p, -12)"),
        (Dialect::Trino, "DATE_ADD('month', -12, p)"),
        (
            Dialect::Sqlite,
            "MIN(DATE(p, '-12 months'), DATE(p, 'start of month', '-11 months', '-1 day'))",
        ),
    ] {
        let sql = moved(
            dialect,
            "p",
            By::Fixed(-1),
            Granularity::Year,
            Granularity::Day,
        );
        assert_eq!(sql, expected);
    }
}

#[test]
fn numbers_from_columns_are_multiplied() {
    let quarters = |dialect| {
        let grain = Granularity::Quarter;
        moved(dialect, "p", By::Column("n"), grain, grain)
    };
    for (dialect, expected) in [
        (Dialect::Postgres, "(p + n * 3 * INTERVAL '1 month')"),
        (Dialect::MySql, "DATE_ADD(p, INTERVAL (n * 3) MONTH)"),
        (Dialect::Sqlite, "DATE(p, (n * 3 + 0) || ' months')"),
        (Dialect::Trino, "DATE_ADD('month', n * 3, p)"),
    ] {
        assert_eq!(quarters(dialect), expected);
    }
}

#[test]
fn periods_known_now_have_the_type_of_cut_times() {
    for (dialect, day, hour) in [
        (
            Dialect::Postgres,
            "CAST('2024-01-01' AS DATE)",
            "CAST('2024-01-01 10:00:00' AS TIMESTAMP)",
        ),
        (
            Dialect::BigQuery,
            "CAST('2024-01-01' AS DATE)",
            "CAST('2024-01-01 10:00:00' AS DATETIME)",
        ),
        (
            Dialect::ClickHouse,
            "toDate32('2024-01-01')",
            "toDateTime64('2024-01-01 10:00:00', 0)",
        ),
        (Dialect::Sqlite, "'2024-01-01'", "'2024-01-01 10:00:00'"),
    ] {
        assert_eq!(instant(dialect, "2024-01-01", Granularity::Week), day);
        assert_eq!(
            instant(dialect, "2024-01-01 10:00:00", Granularity::Hour),
            hour
        );
    }
}
