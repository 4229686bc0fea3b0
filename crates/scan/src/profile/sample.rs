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
        /// Rows of the table, when known: keys with gaps need longer slices.
        of: Option<u64>,
    },
}

impl Rows {
    /// The rows that a statement gives back at most. Blocks and slices are uneven: what comes above
    /// the number wanted is read, or the end of the table would never be seen.
    pub(crate) const fn limit(self) -> u64 {
        match self {
            Self::Whole { at_most } => at_most,
            Self::First { wanted } => wanted,
            Self::Blocks { wanted, .. } | Self::Slices { wanted, .. } => wanted.saturating_mul(2),
        }
    }
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

/// The column over whose range slices can be taken: the declared integer key, else the number that
/// `SQLite` gives every row of a table that is not `WITHOUT ROWID`.
pub(crate) fn slice_key(dialect: Dialect, table: &Table) -> Option<&str> {
    if table.kind != TableKind::Table {
        return None;
    }
    let declared = match table.primary_key.as_slice() {
        [key] => table
            .columns
            .iter()
            .find(|column| column.name == *key && TypeFamily::of(column) == TypeFamily::Integer)
            .map(|column| column.name.as_str()),
        _ => None,
    };
    declared.or((dialect == Dialect::Sqlite).then_some("_rowid_"))
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
    let clause = match rows {
        Rows::Whole { .. } | Rows::First { .. } => String::new(),
        Rows::Blocks { wanted, of } => block_clause(dialect, wanted, of),
        Rows::Slices { wanted, ends, of } => slice_clause(dialect, table, wanted, (ends, of)),
    };
    let limit = rows.limit();
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

/// The share of blocks to read, in percent with four decimals.
fn block_percent(wanted: u64, of: u64) -> String {
    let parts = u128::from(wanted) * 1_000_000 / u128::from(of.max(1));
    let parts = parts.clamp(1, 1_000_000);
    let text = format!("{}.{:04}", parts / 10_000, parts % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn slice_clause(
    dialect: Dialect,
    table: &Table,
    wanted: u64,
    ((low, high), of): ((i64, i64), Option<u64>),
) -> String {
    let Some(key) = slice_key(dialect, table) else {
        return String::new();
    };
    let key = dialect.quote(key);
    let span = (i128::from(high) - i128::from(low) + 1).max(1);
    let step = (span / i128::from(SLICES)).max(1);
    // Keys per row: where keys have gaps, a slice holds fewer rows than numbers.
    let rows = of.map_or(span, |of| i128::from(of.max(1))).min(span);
    let each = (i128::from(wanted) * span / rows / i128::from(SLICES)).clamp(1, step);
    let slices: Vec<String> = (0..i128::from(SLICES))
        .map(|slice| {
            let begin = i128::from(low) + step * slice;
            format!("{key} BETWEEN {begin} AND {}", begin + each - 1)
        })
        .collect();
    format!(" WHERE {}", slices.join(" OR "))
}
