//! The SQL writer: the only code that spells identifiers, literals and dialect-specific forms.

mod names;
mod shift;
mod time;

use ktx_sql::Dialect;
pub use names::{column_name, identifier, table_name};
pub(crate) use names::{has_empty_part, has_gap, table_parts};
pub(crate) use shift::{By, as_period, instant, movable, movable_type, moved};
pub(crate) use time::truncate;

use crate::model::authored::ColumnType;

pub(crate) fn literal(dialect: Dialect, text: &str) -> String {
    // Backslashes escape in Redshift, as in old PostgreSQL.
    if dialect == Dialect::Redshift {
        return Dialect::Postgres.literal(&text.replace('\\', "\\\\"));
    }
    dialect.literal(text)
}

pub(crate) const fn real_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres | Dialect::Redshift => "DOUBLE PRECISION",
        Dialect::Sqlite => "REAL",
        Dialect::SqlServer => "FLOAT",
        Dialect::BigQuery => "FLOAT64",
        Dialect::ClickHouse => "Float64",
        Dialect::MySql
        | Dialect::MariaDb
        | Dialect::Snowflake
        | Dialect::DuckDb
        | Dialect::Databricks
        | Dialect::Trino => "DOUBLE",
    }
}

pub(crate) fn as_real(dialect: Dialect, sql: &str) -> String {
    match dialect {
        Dialect::ClickHouse => format!("toFloat64({sql})"),
        // Casts to DOUBLE were added late.
        Dialect::MySql | Dialect::MariaDb => format!("(({sql}) * 1e0)"),
        _ => format!("CAST({sql} AS {})", real_type(dialect)),
    }
}

/// ClickHouse arrays, maps and tuples cannot be NULL, so an empty outer array means NULL.
pub(crate) fn is_boxed(dialect: Dialect, kind: Option<ColumnType>) -> bool {
    dialect == Dialect::ClickHouse && matches!(kind, None | Some(ColumnType::String))
}

pub(crate) fn typed_null(dialect: Dialect, kind: Option<ColumnType>) -> String {
    if is_boxed(dialect, kind) {
        return "array()".to_owned();
    }
    let name = match (dialect, kind) {
        (Dialect::Postgres | Dialect::Redshift, Some(ColumnType::Number)) => "NUMERIC",
        (Dialect::Postgres | Dialect::Redshift, Some(ColumnType::String)) => "TEXT",
        (Dialect::Postgres | Dialect::Redshift, Some(ColumnType::Time)) => "DATE",
        (Dialect::Postgres | Dialect::Redshift, Some(ColumnType::Boolean)) => "BOOLEAN",
        (Dialect::SqlServer, Some(ColumnType::String)) => "NVARCHAR(4000)",
        (Dialect::SqlServer, Some(ColumnType::Time)) => "DATETIME2",
        _ => return "NULL".to_owned(),
    };
    format!("CAST(NULL AS {name})")
}

/// At most one stacked row is not NULL.
pub(crate) fn only_value(dialect: Dialect, sql: &str, kind: Option<ColumnType>) -> String {
    match (dialect, kind) {
        // NULL for a nullable type, else the empty value.
        _ if is_boxed(dialect, kind) => format!("anyLastOrNullArray({sql})"),
        (Dialect::Postgres | Dialect::Redshift, Some(ColumnType::Boolean)) => {
            format!("BOOL_OR({sql})")
        }
        (Dialect::BigQuery, Some(ColumnType::Boolean)) => format!("LOGICAL_OR({sql})"),
        (Dialect::Snowflake, Some(ColumnType::Boolean)) => format!("BOOLOR_AGG({sql})"),
        _ => format!("MAX({sql})"),
    }
}

pub(crate) fn only_element(sql: &str) -> String {
    format!("(ARRAY_AGG({sql}) FILTER (WHERE {sql} IS NOT NULL))[1]")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PercentileForm {
    Native,
    Ranked,
}

pub(crate) const fn percentile_form(dialect: Dialect) -> PercentileForm {
    match dialect {
        Dialect::Postgres
        | Dialect::Redshift
        | Dialect::Snowflake
        | Dialect::DuckDb
        | Dialect::ClickHouse
        | Dialect::Databricks => PercentileForm::Native,
        Dialect::MySql
        | Dialect::MariaDb
        | Dialect::Sqlite
        | Dialect::SqlServer
        | Dialect::BigQuery
        | Dialect::Trino => PercentileForm::Ranked,
    }
}

pub(crate) fn native_percentile(
    dialect: Dialect,
    value: &str,
    kind: Option<ColumnType>,
    fraction: &str,
) -> String {
    match dialect {
        // DuckDB rounds interpolated decimals.
        Dialect::DuckDb if kind.is_none_or(|kind| kind == ColumnType::Number) => {
            format!("QUANTILE_CONT({}, {fraction})", as_real(dialect, value))
        }
        Dialect::DuckDb => format!("QUANTILE_CONT({value}, {fraction})"),
        Dialect::ClickHouse => format!("quantileExactInclusive({fraction})({value})"),
        Dialect::Databricks => format!("PERCENTILE({value}, {fraction})"),
        _ => format!("PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY {value})"),
    }
}

#[cfg(test)]
mod tests;
