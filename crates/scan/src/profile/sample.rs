//! Builds sampling statements.

use ktx_relationships::types::TypeFamily;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Table, TableKind};

/// For dialects without block sampling.
const SLICES: i64 = 16;

pub(crate) fn table_sql(dialect: Dialect, table: &TableRef) -> String {
    let parts: Vec<String> = table.parts().map(|part| dialect.quote(part)).collect();
    parts.join(".")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The caller's cap requests one more to detect larger tables.
    Whole { at_most: u64 },
    /// About `wanted` of `of` rows.
    Blocks { wanted: u64, of: u64 },
    /// If there is no better way.
    First { wanted: u64 },
    /// Evenly spaced.
    Slices {
        wanted: u64,
        ends: (i64, i64),
        /// Keys with gaps need longer slices.
        of: Option<u64>,
    },
}

impl Rows {
    /// Blocks and slices are uneven; a tight limit would cut off the end of the table.
    pub(crate) const fn limit(self) -> u64 {
        match self {
            Self::Whole { at_most } => at_most,
            Self::First { wanted } => wanted,
            Self::Blocks { wanted, .. } | Self::Slices { wanted, .. } => wanted.saturating_mul(2),
        }
    }
}

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

/// Returns the declared integer key, or the row number of a SQLite table that is not `WITHOUT
/// ROWID`.
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

pub(crate) fn ends_sql(dialect: Dialect, table: &TableRef, key: &str) -> String {
    let key = dialect.quote(key);
    format!(
        "SELECT MIN({key}), MAX({key}) FROM {}",
        table_sql(dialect, table)
    )
}

pub(crate) fn count_sql(dialect: Dialect, table: &TableRef) -> String {
    format!("SELECT COUNT(*) FROM {}", table_sql(dialect, table))
}

/// Of values that are never compared, fetches only whether they are null.
fn column_sql(dialect: Dialect, name: &str, family: TypeFamily) -> String {
    let quoted = dialect.quote(name);
    if family == TypeFamily::Opaque {
        return format!("CASE WHEN {quoted} IS NULL THEN NULL ELSE 1 END AS {quoted}");
    }
    quoted
}

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
    // With gaps between keys, a slice has fewer rows than numbers.
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
