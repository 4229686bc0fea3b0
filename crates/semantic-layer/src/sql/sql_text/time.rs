//! Truncates times to calendar units; weeks start on Monday.

use ktx_sql::Dialect;

use crate::model::granularity::Granularity;

pub(crate) fn truncate(
    dialect: Dialect,
    x: &str,
    unit: Granularity,
    native_type: Option<&str>,
) -> String {
    match dialect {
        Dialect::Sqlite => sqlite(x, unit),
        Dialect::MySql | Dialect::MariaDb => mysql(x, unit),
        Dialect::SqlServer => sql_server(x, unit),
        Dialect::ClickHouse => clickhouse(x, unit),
        Dialect::BigQuery => bigquery(x, unit, native_type),
        Dialect::Snowflake if unit == Granularity::Week => {
            format!("DATEADD(day, 1 - DAYOFWEEKISO({x}), DATE_TRUNC('day', {x}))")
        }
        // PostgreSQL truncates a date in the session's zone, where not every day starts at
        // midnight.
        Dialect::Postgres if unit <= Granularity::Day => {
            format!("CAST(DATE_TRUNC('{}', {x}) AS DATE)", unit.name())
        }
        Dialect::Postgres
        | Dialect::Redshift
        | Dialect::Snowflake
        | Dialect::DuckDb
        | Dialect::Databricks
        | Dialect::Trino => format!("DATE_TRUNC('{}', {x})", unit.name()),
    }
}

/// SQLite date modifiers round to milliseconds, which moves the end of a day to the next one.
fn sqlite(x: &str, unit: Granularity) -> String {
    match unit {
        Granularity::Year => format!("STRFTIME('%Y-01-01', {x})"),
        Granularity::Quarter => format!(
            "DATE(DATE({x}), 'start of month', '-' || ((CAST(STRFTIME('%m', {x}) AS INTEGER) - 1) % 3) || ' months')"
        ),
        Granularity::Month => format!("STRFTIME('%Y-%m-01', {x})"),
        Granularity::Week => {
            format!(
                "DATE(DATE({x}), '-' || ((CAST(STRFTIME('%w', DATE({x})) AS INTEGER) + 6) % 7) || ' days')"
            )
        }
        Granularity::Day => format!("DATE({x})"),
        Granularity::Hour => format!("STRFTIME('%Y-%m-%d %H:00:00', {x})"),
        Granularity::Minute => format!("STRFTIME('%Y-%m-%d %H:%M:00', {x})"),
    }
}

fn mysql(x: &str, unit: Granularity) -> String {
    match unit {
        Granularity::Year => format!("CAST(DATE_FORMAT({x}, '%Y-01-01') AS DATE)"),
        Granularity::Quarter => {
            format!("DATE_ADD(MAKEDATE(YEAR({x}), 1), INTERVAL (QUARTER({x}) * 3 - 3) MONTH)")
        }
        Granularity::Month => format!("CAST(DATE_FORMAT({x}, '%Y-%m-01') AS DATE)"),
        Granularity::Week => format!("DATE_SUB(DATE({x}), INTERVAL WEEKDAY({x}) DAY)"),
        Granularity::Day => format!("DATE({x})"),
        Granularity::Hour => format!("CAST(DATE_FORMAT({x}, '%Y-%m-%d %H:00:00') AS DATETIME)"),
        Granularity::Minute => format!("CAST(DATE_FORMAT({x}, '%Y-%m-%d %H:%i:00') AS DATETIME)"),
    }
}

/// Day zero of SQL Server, 1900-01-01, is a Monday.
fn sql_server(x: &str, unit: Granularity) -> String {
    match unit {
        Granularity::Week => format!(
            "DATEADD(day, 0 - (DATEDIFF(day, 0, {x}) % 7 + 7) % 7, CAST(CAST({x} AS DATE) AS DATETIME2))"
        ),
        Granularity::Minute => format!(
            "DATEADD(minute, DATEPART(minute, {x}), DATEADD(hour, DATEPART(hour, {x}), CAST(CAST({x} AS DATE) AS DATETIME2)))"
        ),
        Granularity::Hour => {
            format!("DATEADD(hour, DATEPART(hour, {x}), CAST(CAST({x} AS DATE) AS DATETIME2))")
        }
        Granularity::Day => format!("CAST({x} AS DATE)"),
        Granularity::Month => format!("DATEFROMPARTS(YEAR({x}), MONTH({x}), 1)"),
        Granularity::Quarter => {
            format!("DATEFROMPARTS(YEAR({x}), DATEPART(quarter, {x}) * 3 - 2, 1)")
        }
        Granularity::Year => format!("DATEFROMPARTS(YEAR({x}), 1, 1)"),
    }
}

/// `toStartOfYear` and similar functions wrap around outside 1970 to 2149.
fn clickhouse(x: &str, unit: Granularity) -> String {
    match unit {
        Granularity::Year => format!("makeDate32(toYear({x}), 1, 1)"),
        Granularity::Quarter => format!("makeDate32(toYear({x}), toQuarter({x}) * 3 - 2, 1)"),
        Granularity::Month => format!("makeDate32(toYear({x}), toMonth({x}), 1)"),
        Granularity::Week => format!("subtractDays(toDate32({x}), toDayOfWeek({x}) - 1)"),
        Granularity::Day => format!("toDate32({x})"),
        Granularity::Hour => clickhouse_time(x, |x| format!("toMinute({x}) * 60 + toSecond({x})")),
        Granularity::Minute => clickhouse_time(x, |x| format!("toSecond({x})")),
    }
}

/// `toStartOfHour` and similar functions accept no dates, and cover 1970 to 2106.
fn clickhouse_time(x: &str, seconds: impl Fn(&str) -> String) -> String {
    let x = format!("toDateTime64({x}, 6)");
    format!(
        "toDateTime64(subtractSeconds(toStartOfSecond({x}), {}), 0)",
        seconds(&x)
    )
}

fn bigquery(x: &str, unit: Granularity, native_type: Option<&str>) -> String {
    let name = match unit {
        Granularity::Week => "ISOWEEK".to_owned(),
        unit => unit.name().to_uppercase(),
    };
    let native = native_type.map(str::to_ascii_uppercase);
    let function = match (native.as_deref(), unit) {
        (Some("DATE"), _) => "DATE_TRUNC",
        (Some("DATETIME"), _) => "DATETIME_TRUNC",
        (Some("TIMESTAMP"), _) | (_, Granularity::Hour | Granularity::Minute) => "TIMESTAMP_TRUNC",
        _ => "DATE_TRUNC",
    };
    format!("{function}({x}, {name})")
}
