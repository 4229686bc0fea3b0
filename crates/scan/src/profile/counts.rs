//! Gets distinct counts of a large table's key-like columns.

use ktx_relationships::profile::TableProfile;
use ktx_relationships::profile::column::ColumnProfile;
use ktx_relationships::profile::sketch::ratio;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, QueryResult};

use crate::profile::sample::table_sql;

/// Minimum uniqueness in the sample.
const WORTH_ASKING: f64 = 0.5;
const COLUMNS: usize = 40;
/// Minimum share that confirms distinct values: approximate counts are off by a few percent.
const CONFIRMS: f64 = 0.9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Negative numbers are shares of the rows.
    PgStats,
    /// Leading columns of indexes.
    IndexStatistics,
    Function(&'static str),
    None,
}

const fn source(dialect: Dialect) -> Source {
    match dialect {
        Dialect::Postgres => Source::PgStats,
        Dialect::MySql | Dialect::MariaDb => Source::IndexStatistics,
        Dialect::SqlServer | Dialect::Snowflake | Dialect::BigQuery => {
            Source::Function("APPROX_COUNT_DISTINCT")
        }
        Dialect::DuckDb | Dialect::Databricks => Source::Function("approx_count_distinct"),
        Dialect::ClickHouse => Source::Function("uniq"),
        Dialect::Trino => Source::Function("approx_distinct"),
        Dialect::Redshift | Dialect::Sqlite => Source::None,
    }
}

pub(crate) fn counts_sql(
    dialect: Dialect,
    table: &TableRef,
    profile: &TableProfile,
) -> Option<String> {
    let name = dialect.literal(&table.name);
    match source(dialect) {
        Source::None => None,
        Source::PgStats => {
            let schema = dialect.literal(table.db.as_deref().unwrap_or("public"));
            Some(format!(
                "SELECT attname, n_distinct FROM pg_catalog.pg_stats \
                 WHERE schemaname = {schema} AND tablename = {name} ORDER BY attname, inherited"
            ))
        }
        Source::IndexStatistics => {
            let schema = dialect.literal(table.db.as_deref()?);
            Some(format!(
                "SELECT COLUMN_NAME, MAX(CARDINALITY) FROM information_schema.STATISTICS \
                 WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} AND SEQ_IN_INDEX = 1 \
                 GROUP BY COLUMN_NAME"
            ))
        }
        Source::Function(function) => {
            let asked: Vec<String> = asked(profile)
                .map(|column| format!("{function}({})", dialect.quote(&column.name)))
                .collect();
            (!asked.is_empty()).then(|| {
                format!(
                    "SELECT {} FROM {}",
                    asked.join(", "),
                    table_sql(dialect, table)
                )
            })
        }
    }
}

fn asked(profile: &TableProfile) -> impl Iterator<Item = &ColumnProfile> {
    profile
        .columns
        .iter()
        .filter(|column| column.family.can_be_key() && column.uniqueness() >= WORTH_ASKING)
        .take(COLUMNS)
}

pub(crate) fn note_counts(dialect: Dialect, profile: &mut TableProfile, answer: &QueryResult) {
    let Some(rows) = profile.rows else {
        return;
    };
    let counts: Vec<(String, u64)> = match source(dialect) {
        Source::None => Vec::new(),
        Source::Function(_) => {
            let names = asked(profile).map(|column| column.name.clone());
            let cells = answer.rows.first().into_iter().flatten();
            names
                .zip(cells)
                .filter_map(|(name, cell)| Some((name, number(cell, rows)?)))
                .collect()
        }
        Source::PgStats | Source::IndexStatistics => answer
            .rows
            .iter()
            .filter_map(|row| match row.as_slice() {
                [name, count] => Some((name.to_text()?, number(count, rows)?)),
                _ => None,
            })
            .collect(),
    };
    for (name, distinct) in counts {
        let column = profile
            .columns
            .iter_mut()
            .find(|column| column.name == name);
        if let Some(column) = column.filter(|column| column.values > 0) {
            note_count(column, distinct, rows);
        }
    }
}

/// Negative numbers are shares of the rows; zero is not an answer.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and bounded by the number of rows"
)]
fn number(cell: &Cell, rows: u64) -> Option<u64> {
    let number: f64 = cell.to_text()?.parse().ok()?;
    let count = if number < 0.0 {
        -number * rows as f64
    } else {
        number
    };
    (count >= 1.0).then(|| count.min(rows as f64).round() as u64)
}

fn note_count(column: &mut ColumnProfile, distinct: u64, rows: u64) {
    let filled = rows.saturating_sub(nulls_in(column, rows)).max(1);
    let share = ratio(distinct, filled);
    if share >= CONFIRMS && column.uniqueness() >= 0.98 {
        column.population = filled.max(column.distinct);
        return;
    }
    column.population = distinct.max(column.distinct);
    if share < CONFIRMS {
        column.whole_uniqueness = Some(share);
    }
}

fn nulls_in(column: &ColumnProfile, rows: u64) -> u64 {
    let read = (column.nulls + column.values).max(1);
    let nulls = u128::from(column.nulls) * u128::from(rows) / u128::from(read);
    u64::try_from(nulls).unwrap_or(rows)
}
