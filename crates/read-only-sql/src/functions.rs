//! The functions that a query can call, per dialect.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use ktx_sql::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSite {
    Expression,
    Table,
}

/// `name*` covers all names with the prefix, except those after a `!`.
#[derive(Default)]
struct FunctionList {
    names: BTreeSet<&'static str>,
    prefixes: Vec<&'static str>,
    tables: BTreeSet<&'static str>,
    exceptions: BTreeSet<&'static str>,
}

static LISTS: LazyLock<BTreeMap<Dialect, FunctionList>> = LazyLock::new(|| {
    Dialect::ALL
        .into_iter()
        .map(|dialect| (dialect, load(dialect)))
        .collect()
});

static DENIED: LazyLock<BTreeMap<Dialect, Vec<&'static str>>> = LazyLock::new(|| {
    let mut lists: BTreeMap<Dialect, Vec<&'static str>> = BTreeMap::new();
    let mut dialects: Vec<Dialect> = Vec::new();
    let lines = include_str!("functions/denied.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        if let Some(names) = line.strip_suffix(':') {
            dialects = names
                .split_whitespace()
                .filter_map(Dialect::parse)
                .collect();
            continue;
        }
        for dialect in &dialects {
            let list = lists.entry(*dialect).or_default();
            list.extend(line.split_whitespace());
        }
    }
    lists
});

/// Takes lower case, and a dotted name if the dialect has dotted built-in names.
pub(super) fn is_allowed(name: &str, dialect: Dialect, site: CallSite) -> bool {
    let Some(allowed) = LISTS.get(&dialect) else {
        return false;
    };
    let as_table = allowed.tables.contains(name);
    let as_value = || {
        allowed.names.contains(name)
            || allowed
                .prefixes
                .iter()
                .any(|prefix| in_family(name, prefix))
                && !allowed.exceptions.contains(name)
    };
    match site {
        CallSite::Expression => as_table || as_value(),
        CallSite::Table => as_table || (any_function_is_a_table(dialect) && as_value()),
    }
}

/// Returns whether no connection can allow the function: it writes, waits, locks, or reaches files,
/// servers or secrets.
pub(super) fn is_denied(parts: &[String], dialect: Dialect) -> bool {
    let (Some(own), Some(denied)) = (parts.last(), DENIED.get(&dialect)) else {
        return false;
    };
    let dotted = parts.join(".");
    denied.iter().any(|entry| match entry.strip_suffix('*') {
        Some(prefix) => own.starts_with(prefix) || dotted.starts_with(prefix),
        None => own == entry || dotted == *entry,
    })
}

fn in_family(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| !rest.contains('.'))
}

const fn any_function_is_a_table(dialect: Dialect) -> bool {
    matches!(
        dialect,
        Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb | Dialect::Databricks
    )
}

fn load(dialect: Dialect) -> FunctionList {
    let mut allowed = FunctionList::default();
    read(include_str!("functions/common.txt"), &mut allowed);
    read(own_list(dialect), &mut allowed);
    allowed
}

const fn own_list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => include_str!("functions/postgres.txt"),
        Dialect::Redshift => include_str!("functions/redshift.txt"),
        Dialect::MySql | Dialect::MariaDb => include_str!("functions/mysql.txt"),
        Dialect::Sqlite => include_str!("functions/sqlite.txt"),
        Dialect::SqlServer => include_str!("functions/tsql.txt"),
        Dialect::ClickHouse => include_str!("functions/clickhouse.txt"),
        Dialect::Snowflake => include_str!("functions/snowflake.txt"),
        Dialect::BigQuery => include_str!("functions/bigquery.txt"),
        Dialect::DuckDb => include_str!("functions/duckdb.txt"),
        Dialect::Databricks => include_str!("functions/databricks.txt"),
        Dialect::Trino => include_str!("functions/trino.txt"),
    }
}

fn read(list: &'static str, allowed: &mut FunctionList) {
    let mut site = CallSite::Expression;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        if line == "table:" {
            site = CallSite::Table;
            continue;
        }
        for word in line.split_whitespace() {
            if let Some(exception) = word.strip_prefix('!') {
                allowed.exceptions.insert(exception);
                continue;
            }
            match (word.strip_suffix('*'), site) {
                (Some(prefix), _) => allowed.prefixes.push(prefix),
                (None, CallSite::Expression) => {
                    allowed.names.insert(word);
                }
                (None, CallSite::Table) => {
                    allowed.tables.insert(word);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
