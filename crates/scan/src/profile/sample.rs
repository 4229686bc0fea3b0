//! The statements that read samples, in each dialect: blocks where the dialect has them.

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Dialect, Table, TableKind};

use crate::types::TypeFamily;

/// Slices of a key range that stand in for blocks where the dialect has none.
const SLICES: i64 = 16;

/// The table as SQL: its parts, each quoted.
pub(crate) fn table_sql(dialect: Dialect, table: &TableRef) -> String {
    let parts: Vec<String> = table.parts().map(|part| dialect.quote(part)).collect();
    parts.join(".")
}

/// Which rows a sample statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// All rows, if there are at most this many: one more is asked for by the caller's cap.
    Whole {
        /// The bound of the statement itself.
        at_most: u64,
    },
    /// About this many of so many, by block.
    Blocks {
        /// Rows wanted.
        wanted: u64,
        /// Rows of the table by the catalog.
        of: u64,
    },
    /// The first rows in any order, where nothing better exists.
    First {
        /// Rows wanted.
        wanted: u64,
    },
    /// Rows of slices of the key, spread evenly between its ends.
    Slices {
        /// Rows wanted.
        wanted: u64,
        /// The smallest and the largest key.
        ends: (i64, i64),
    },
}

/// Whether the dialect can read random blocks of a stored table.
pub(crate) fn has_blocks(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::Postgres
            | Dialect::SqlServer
            | Dialect::Snowflake
            | Dialect::BigQuery
            | Dialect::DuckDb
            | Dialect::Databricks
            | Dialect::Trino
    )
}

/// The declared single-column integer key, over whose range slices can be taken.
pub(crate) fn slice_key(table: &Table) -> Option<&str> {
    let [key] = table.primary_key.as_slice() else {
        return None;
    };
    let column = table.columns.iter().find(|column| column.name == *key)?;
    (table.kind == TableKind::Table && TypeFamily::of(column) == TypeFamily::Integer)
        .then_some(key.as_str())
}

/// The statement that reads a sample of these columns.
pub(crate) fn sample_sql(
    dialect: Dialect,
    table: &Table,
    columns: &[(String, TypeFamily)],
    rows: Rows,
) -> String {
    let list: Vec<String> = columns
        .iter()
        .map(|(name, family)| column_sql(dialect, name, *family))
        .collect();
    let list = list.join(", ");
    let from = table_sql(dialect, &table.table);
    let (limit, clause) = match rows {
        Rows::Whole { at_most } => (at_most, String::new()),
        Rows::First { wanted } => (wanted, String::new()),
        Rows::Blocks { wanted, of } => (wanted, block_clause(dialect, wanted, of)),
        Rows::Slices { wanted, ends } => (wanted, slice_clause(dialect, table, wanted, ends)),
    };
    if dialect == Dialect::SqlServer {
        return format!("SELECT TOP {limit} {list} FROM {from}{clause}");
    }
    format!("SELECT {list} FROM {from}{clause} LIMIT {limit}")
}

/// The statement that reads the ends of a key.
pub(crate) fn ends_sql(dialect: Dialect, table: &TableRef, key: &str) -> String {
    let key = dialect.quote(key);
    format!(
        "SELECT MIN({key}), MAX({key}) FROM {}",
        table_sql(dialect, table)
    )
}

/// The statement that counts a table's rows.
pub(crate) fn count_sql(dialect: Dialect, table: &TableRef) -> String {
    format!("SELECT COUNT(*) FROM {}", table_sql(dialect, table))
}

/// Values that are never compared are not fetched: only whether there is one.
fn column_sql(dialect: Dialect, name: &str, family: TypeFamily) -> String {
    let quoted = dialect.quote(name);
    if family == TypeFamily::Opaque {
        return format!("CASE WHEN {quoted} IS NULL THEN NULL ELSE 1 END AS {quoted}");
    }
    quoted
}

/// The dialect's clause for random blocks, with a fixed seed where it takes one.
fn block_clause(dialect: Dialect, wanted: u64, of: u64) -> String {
    let percent = block_percent(wanted, of);
    match dialect {
        Dialect::Postgres => format!(" TABLESAMPLE SYSTEM ({percent}) REPEATABLE (1)"),
        Dialect::SqlServer => format!(" TABLESAMPLE ({wanted} ROWS) REPEATABLE (1)"),
        Dialect::Snowflake => format!(" SAMPLE BLOCK ({percent}) SEED (1)"),
        Dialect::BigQuery => format!(" TABLESAMPLE SYSTEM ({percent} PERCENT)"),
        Dialect::DuckDb => format!(" TABLESAMPLE SYSTEM ({percent} PERCENT) REPEATABLE (1)"),
        Dialect::Databricks => format!(" TABLESAMPLE ({percent} PERCENT) REPEATABLE (1)"),
        Dialect::Trino => format!(" TABLESAMPLE SYSTEM ({percent})"),
        Dialect::Redshift
        | Dialect::MySql
        | Dialect::MariaDb
        | Dialect::Sqlite
        | Dialect::ClickHouse => String::new(),
    }
}

/// The share of blocks to read, in percent with four decimals: twice what is wanted, since blocks are uneven.
fn block_percent(wanted: u64, of: u64) -> String {
    let parts = u128::from(wanted) * 2_000_000 / u128::from(of.max(1));
    let parts = parts.clamp(1, 1_000_000);
    let text = format!("{}.{:04}", parts / 10_000, parts % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn slice_clause(dialect: Dialect, table: &Table, wanted: u64, ends: (i64, i64)) -> String {
    let Some(key) = slice_key(table) else {
        return String::new();
    };
    let key = dialect.quote(key);
    let (low, high) = ends;
    let each = i64::try_from(wanted).unwrap_or(i64::MAX) / SLICES;
    let step = (i128::from(high) - i128::from(low)) / i128::from(SLICES);
    let slices: Vec<String> = (0..SLICES)
        .map(|slice| {
            let begin = i128::from(low) + step * i128::from(slice);
            let end = begin + i128::from(each.max(1)) - 1;
            format!("{key} BETWEEN {begin} AND {end}")
        })
        .collect();
    format!(" WHERE {}", slices.join(" OR "))
}
