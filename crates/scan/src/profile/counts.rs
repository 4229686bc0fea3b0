//! How many different values the columns of a large table have: from the catalog's statistics where
//! the warehouse keeps them, else by its approximate function over the columns that look like keys.

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Cell, Dialect, QueryResult};

use crate::profile::TableProfile;
use crate::profile::column::ColumnProfile;
use crate::profile::sample::table_sql;
use crate::profile::sketch::ratio;

/// Uniqueness in the sample from which the whole column is worth asking about.
const WORTH_ASKING: f64 = 0.5;
/// Columns asked about in one statement.
const COLUMNS: usize = 40;
/// Share of the rows from which an estimate confirms that every value is different: approximate
/// counts are off by a few hundredths.
const CONFIRMS: f64 = 0.9;

/// Where a dialect's counts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// `pg_stats`: negative numbers are shares of the rows.
    PgStats,
    /// `information_schema.STATISTICS`: the leading columns of indexes.
    IndexStatistics,
    /// A function.
    Function(&'static str),
    /// Nowhere: the sample decides.
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

/// The statement that asks for the counts; `None` when there is nothing to ask.
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

/// The columns that an approximate function is worth its cost for.
fn asked(profile: &TableProfile) -> impl Iterator<Item = &ColumnProfile> {
    profile
        .columns
        .iter()
        .filter(|column| column.family.can_be_key() && column.uniqueness() >= WORTH_ASKING)
        .take(COLUMNS)
}

/// Takes the answer over.
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

/// A count; negative numbers are shares of the rows, zero is no answer.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and bounded by the number of rows"
)]
fn number(cell: &Cell, rows: u64) -> Option<u64> {
    // What is no number is no count.
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

/// The NULLs of the whole column, as the sample has them.
fn nulls_in(column: &ColumnProfile, rows: u64) -> u64 {
    let read = (column.nulls + column.values).max(1);
    let nulls = u128::from(column.nulls) * u128::from(rows) / u128::from(read);
    u64::try_from(nulls).unwrap_or(rows)
}
