//! Rewrites statements to what one client can read of a warehouse.
//!
//! Each table becomes a readable table's full name, or a common table expression with the permitted
//! rows and columns. The statement's own expressions get new names, so that they never mean a
//! table.

mod calls;
mod names;

use std::collections::BTreeSet;

use ktx_diagnostics::{Code, shortened};
use ktx_sql::Dialect;
use sqlparser::ast::{Ident, Statement};

use crate::literals::RESERVED;
use crate::refusal::{Refusal, refuse};
use names::TableRenamer;

/// The tables that a client can read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restriction {
    pub tables: Vec<ReadableTable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableTable {
    /// Outermost part first.
    pub name: Vec<String>,
    /// `None` if all can be read.
    pub columns: Option<Vec<ReadableColumn>>,
    /// In the warehouse's dialect; `None` if all rows can be read.
    pub filter: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadableColumn {
    pub name: String,
    /// An expression in the warehouse's dialect that replaces the column.
    pub mask: Option<String>,
}

/// Returns whether the warehouse applies filters first. Elsewhere an error text can hold a value of
/// a filtered row.
pub const fn keeps_filters_apart(dialect: Dialect) -> bool {
    fence(dialect).is_some()
}

/// No condition moves past a limit.
const fn fence(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Postgres => Some(" OFFSET 0"),
        Dialect::Sqlite => Some(" LIMIT -1"),
        Dialect::MySql | Dialect::MariaDb | Dialect::DuckDb => Some(" LIMIT 9223372036854775807"),
        Dialect::Redshift
        | Dialect::SqlServer
        | Dialect::ClickHouse
        | Dialect::Snowflake
        | Dialect::BigQuery
        | Dialect::Databricks
        | Dialect::Trino => None,
    }
}

impl ReadableTable {
    fn is_whole(&self) -> bool {
        self.columns.is_none() && self.filter.is_none()
    }

    fn dotted(&self) -> String {
        self.name.join(".")
    }

    fn quoted(&self, dialect: Dialect) -> String {
        let parts: Vec<String> = self.name.iter().map(|part| dialect.quote(part)).collect();
        parts.join(".")
    }

    fn definition(&self, name: &str, dialect: Dialect) -> String {
        let own = dialect.quote(self.name.last().map_or("", String::as_str));
        let columns = match &self.columns {
            None => "*".to_owned(),
            Some(columns) => {
                let shown = columns.iter().map(|column| {
                    let quoted = dialect.quote(&column.name);
                    match &column.mask {
                        Some(mask) => format!("({mask}) AS {quoted}"),
                        None => quoted,
                    }
                });
                shown.collect::<Vec<_>>().join(", ")
            }
        };
        let table = format!("{} AS {own}", self.quoted(dialect));
        // Inside, so that the filter reads the column and not its mask.
        let rows = match &self.filter {
            Some(filter) => format!(
                "(SELECT * FROM {table} WHERE ({filter}){}) AS {own}",
                fence(dialect).unwrap_or_default()
            ),
            None => table,
        };
        format!("{name} AS (SELECT {columns} FROM {rows})")
    }
}

impl Restriction {
    fn wanted(&self, parts: &[Ident], dialect: Dialect) -> Vec<String> {
        let mut wanted: Vec<String> = parts
            .iter()
            .flat_map(|part| {
                let text = match (part.quote_style, dialect) {
                    (None, Dialect::Postgres | Dialect::Redshift) => part.value.to_lowercase(),
                    (None, Dialect::Snowflake) => part.value.to_uppercase(),
                    _ => part.value.clone(),
                };
                let is_path = part.quote_style.is_some() && dialect == Dialect::BigQuery;
                let split = text.split('.').filter(|_| is_path).map(str::to_owned);
                let split: Vec<String> = split.collect();
                if is_path { split } else { vec![text] }
            })
            .collect();
        if dialect == Dialect::Sqlite
            && wanted.len() == 2
            && wanted
                .first()
                .is_some_and(|schema| schema.eq_ignore_ascii_case("main"))
            && self.tables.iter().all(|table| table.name.len() == 1)
        {
            wanted.remove(0);
        }
        wanted
    }

    /// Prefers an exact match to one that differs in case or has fewer parts.
    fn find(&self, parts: &[Ident], dialect: Dialect) -> Result<&ReadableTable, Refusal> {
        let wanted = self.wanted(parts, dialect);
        let ends = |table: &&ReadableTable, same: fn(&str, &str) -> bool| {
            let skipped = table.name.len().checked_sub(wanted.len());
            skipped.is_some_and(|skipped| {
                let end = table.name.iter().skip(skipped);
                end.zip(&wanted).all(|(one, other)| same(one, other))
            })
        };
        let named = |same: fn(&str, &str) -> bool| {
            let tables = self.tables.iter();
            tables.filter(|table| ends(table, same)).collect::<Vec<_>>()
        };
        let exact = named(|one, other| one == other);
        let found = if exact.is_empty() {
            named(|one, other| one.to_lowercase() == other.to_lowercase())
        } else {
            exact
        };
        let written = wanted.join(".");
        match found.as_slice() {
            [only] => Ok(only),
            [] => refuse(
                Code::TableNotAllowed,
                format!("this client may not read a table `{}`", shortened(&written)),
            ),
            _ => refuse(
                Code::TableNotAllowed,
                format!(
                    "`{}` may be several tables: write its full name",
                    shortened(&written)
                ),
            ),
        }
    }

    /// Returns the common table expressions that the statement needs.
    pub(crate) fn apply(
        &self,
        statement: &mut Statement,
        dialect: Dialect,
    ) -> Result<Vec<String>, Refusal> {
        // Unknown clauses can hold a name that no visitor sees.
        if statement.to_string().to_lowercase().contains(RESERVED) {
            return refuse(
                Code::UnknownClause,
                "a clause of the query is too unusual for a client with a policy",
            );
        }
        calls::check(statement, dialect)?;
        let mut renamer = TableRenamer::new(self, dialect);
        let _flow = ktx_sql::visit_mut(statement, &mut renamer);
        renamer.finish()
    }

    pub(crate) fn confirm(&self, tables: &BTreeSet<String>) -> Result<(), Refusal> {
        let is_known = |name: &&String| {
            let mut known = self.tables.iter();
            known.any(|table| table.dotted() == **name)
        };
        match tables.iter().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(_) => refuse(
                Code::TableNotAllowed,
                "the query could not be limited to the tables of this client",
            ),
        }
    }
}

pub(crate) fn with_definitions(text: &str, definitions: &[String]) -> String {
    if definitions.is_empty() {
        return text.to_owned();
    }
    let added = definitions.join(", ");
    if let Some(rest) = text.strip_prefix("WITH RECURSIVE ") {
        return format!("WITH RECURSIVE {added}, {rest}");
    }
    match text.strip_prefix("WITH ") {
        Some(rest) => format!("WITH {added}, {rest}"),
        None => format!("WITH {added} {text}"),
    }
}
