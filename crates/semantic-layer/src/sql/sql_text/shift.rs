//! Shifts period starts by whole units, to the last day of a month that is too short.

use ktx_sql::Dialect;

use super::literal;
use crate::model::granularity::Granularity;

#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'a> {
    Fixed(i64),
    Column(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Month,
    Day,
    Hour,
    Minute,
}

impl Base {
    const fn name(self) -> &'static str {
        match self {
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
        }
    }
}

const fn base(unit: Granularity) -> (Base, i64) {
    match unit {
        Granularity::Year => (Base::Month, 12),
        Granularity::Quarter => (Base::Month, 3),
        Granularity::Month => (Base::Month, 1),
        Granularity::Week => (Base::Day, 7),
        Granularity::Day => (Base::Day, 1),
        Granularity::Hour => (Base::Hour, 1),
        Granularity::Minute => (Base::Minute, 1),
    }
}

pub(crate) fn moved(
    dialect: Dialect,
    x: &str,
    by: By<'_>,
    unit: Granularity,
    grain: Granularity,
) -> String {
    let (base, factor) = base(unit);
    let amount = match by {
        By::Fixed(count) => (count * factor).to_string(),
        By::Column(column) if factor == 1 => column.to_owned(),
        By::Column(column) => format!("{column} * {factor}"),
    };
    let name = base.name();
    match dialect {
        Dialect::Postgres | Dialect::DuckDb => match by {
            By::Fixed(count) => {
                let sign = if count < 0 { '-' } else { '+' };
                let amount = (count * factor).abs();
                format!("({x} {sign} INTERVAL '{amount} {name}')")
            }
            By::Column(_) => format!("({x} + {amount} * INTERVAL '1 {name}')"),
        },
        Dialect::Redshift | Dialect::Snowflake | Dialect::Databricks | Dialect::SqlServer => {
            format!("DATEADD({name}, {amount}, {x})")
        }
        Dialect::MySql | Dialect::MariaDb => {
            format!("DATE_ADD({x}, INTERVAL ({amount}) {})", name.to_uppercase())
        }
        Dialect::BigQuery => {
            let kind = if grain <= Granularity::Day {
                "DATE"
            } else {
                "DATETIME"
            };
            let unit = name.to_uppercase();
            format!("{kind}_ADD({x}, INTERVAL ({amount}) {unit})")
        }
        Dialect::ClickHouse => match base {
            Base::Month => format!("addMonths({x}, {amount})"),
            Base::Day => format!("addDays({x}, {amount})"),
            Base::Hour => format!("addHours({x}, {amount})"),
            Base::Minute => format!("addMinutes({x}, {amount})"),
        },
        Dialect::Trino => format!("DATE_ADD('{name}', {amount}, {x})"),
        Dialect::Sqlite => sqlite(x, by, (base, factor), grain),
    }
}

/// SQLite overflows short months, and its times are texts.
fn sqlite(x: &str, by: By<'_>, (base, factor): (Base, i64), grain: Granularity) -> String {
    let modifier = |more: i64| match by {
        By::Fixed(count) => format!("'{} {}s'", count * factor + more, base.name()),
        By::Column(column) if factor == 1 && more == 0 => {
            format!("{column} || ' {}s'", base.name())
        }
        By::Column(column) => format!("({column} * {factor} + {more}) || ' {}s'", base.name()),
    };
    if base != Base::Month {
        let function = if grain <= Granularity::Day {
            "DATE"
        } else {
            "DATETIME"
        };
        return format!("{function}({x}, {})", modifier(0));
    }
    let date = if grain <= Granularity::Month {
        format!("DATE({x}, {})", modifier(0))
    } else {
        // The first date is too late if it overflowed the month.
        format!(
            "MIN(DATE({x}, {}), DATE({x}, 'start of month', {}, '-1 day'))",
            modifier(0),
            modifier(1)
        )
    };
    if grain <= Granularity::Day {
        date
    } else {
        format!("({date} || ' ' || TIME({x}))")
    }
}

pub(crate) fn instant(dialect: Dialect, text: &str, grain: Granularity) -> String {
    let is_day = grain <= Granularity::Day;
    let quoted = literal(dialect, text);
    let kind = match dialect {
        Dialect::Sqlite => return quoted,
        Dialect::ClickHouse if is_day => return format!("toDate32({quoted})"),
        Dialect::ClickHouse => return format!("toDateTime64({quoted}, 0)"),
        _ if is_day => "DATE",
        Dialect::MySql | Dialect::MariaDb | Dialect::BigQuery => "DATETIME",
        Dialect::SqlServer => "DATETIME2",
        Dialect::Snowflake => "TIMESTAMP_NTZ",
        _ => "TIMESTAMP",
    };
    format!("CAST({quoted} AS {kind})")
}

/// Shifting dates yields timestamps.
pub(crate) fn as_period(dialect: Dialect, x: &str, grain: Granularity) -> String {
    let makes_timestamps = matches!(
        dialect,
        Dialect::Postgres | Dialect::DuckDb | Dialect::Redshift | Dialect::Databricks
    );
    if makes_timestamps && grain <= Granularity::Day {
        format!("CAST({x} AS DATE)")
    } else {
        x.to_owned()
    }
}

/// BigQuery has separate functions for each type.
pub(crate) fn movable(dialect: Dialect, x: &str, grain: Granularity) -> String {
    match dialect {
        Dialect::BigQuery if grain <= Granularity::Day => format!("CAST({x} AS DATE)"),
        Dialect::BigQuery => format!("CAST({x} AS DATETIME)"),
        _ => x.to_owned(),
    }
}

pub(crate) const fn movable_type(dialect: Dialect, grain: Granularity) -> Option<&'static str> {
    match (dialect, grain) {
        (Dialect::BigQuery, Granularity::Hour | Granularity::Minute) => Some("DATETIME"),
        (Dialect::BigQuery, _) => Some("DATE"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
