//! Sources that are queries: what they project, and which sources they read without a join to them.

use std::ops::ControlFlow;

use sqlparser::ast::{Cte, Expr, ObjectName, Query, SelectItem, SetExpr, Visit as _, Visitor};

use super::ValidationReport;
use crate::ErrorKind;
use crate::emit::parse_query;
use crate::names::Names;
use crate::resolved::{Relation, Source};
use crate::sql_text::table_parts;

/// Checks that the query can be parsed and projects the grain, where its list is static.
pub(super) fn projection(names: Names<'_>, source: &Source, report: &mut ValidationReport) {
    let Relation::Sql(sql) = &source.relation else {
        return;
    };
    let query = match parse_query(source, sql, names.dialect) {
        Ok(query) => query,
        Err(error) => return report.refused(source, "sql", &error),
    };
    let Some(projected) = projected(&query) else {
        return;
    };
    let has = |name: &str| {
        projected
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    for entry in source
        .grain
        .iter()
        .filter(|entry| !entry.contains('.') && !has(entry))
    {
        let is_computed = source
            .column(entry)
            .is_some_and(|(_, column)| column.expr.is_some());
        if !is_computed {
            let message = format!("grain entry `{entry}` is not projected by the `sql`");
            report.error(source, ErrorKind::GrainNotProjected, message);
        }
    }
    for column in source.columns.iter().filter(|column| column.expr.is_none()) {
        let is_grain = source
            .grain
            .iter()
            .any(|entry| entry.eq_ignore_ascii_case(&column.name));
        if !is_grain && !has(&column.name) {
            let message = format!("column `{}` is not projected by the `sql`", column.name);
            report.error(source, ErrorKind::UnknownColumn, message);
        }
    }
}

/// The names of the result columns, when the query's list spells all of them.
fn projected(query: &Query) -> Option<Vec<String>> {
    let mut body = &*query.body;
    loop {
        match body {
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(inner) => return projected(inner),
            SetExpr::Select(select) => {
                return select.projection.iter().map(item_name).collect();
            }
            _ => return None,
        }
    }
}

fn item_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().map(|name| name.value.clone())
        }
        _ => None,
    }
}

/// A query that reads another source's table and shows its key must say how the two are joined.
pub(super) fn undeclared_joins(names: Names<'_>, source: &Source, report: &mut ValidationReport) {
    let Relation::Sql(sql) = &source.relation else {
        return;
    };
    let Ok(query) = parse_query(source, sql, names.dialect) else {
        return;
    };
    let mut read = Tables {
        tables: Vec::new(),
        inner: inner_names(&query),
    };
    let flow = query.visit(&mut read);
    debug_assert!(flow.is_continue());
    for target in names
        .catalog
        .sources
        .iter()
        .filter(|target| target.name != source.name)
    {
        let Relation::Table(table) = &target.relation else {
            continue;
        };
        let table = lowered(table);
        let reads = read
            .tables
            .iter()
            .any(|read| table.ends_with(read) || read.ends_with(&table));
        if reads && shows_key(source, target) && !are_joined(source, target) {
            let message = format!(
                "the `sql` reads `{}` and shows its key, but no join to it is declared",
                target.name
            );
            report.error(source, ErrorKind::UndeclaredSqlJoin, message);
        }
    }
}

fn lowered(text: &str) -> Vec<String> {
    table_parts(text)
        .iter()
        .map(|part| part.to_lowercase())
        .collect()
}

fn are_joined(source: &Source, target: &Source) -> bool {
    source.joins.iter().any(|join| join.to == target.name)
        || target.joins.iter().any(|join| join.to == source.name)
}

/// Whether a source has a column that looks like the target's key.
fn shows_key(source: &Source, target: &Source) -> bool {
    let name = target.name.to_lowercase();
    let singular = name.strip_suffix('s').unwrap_or(&name).to_owned();
    let matches = |column: &str, grain: &str| {
        column == grain
            || column == format!("{name}_id")
            || column == format!("{singular}_id")
            || column.ends_with(&format!("_{grain}"))
    };
    !target.grain.is_empty()
        && target.grain.iter().all(|grain| {
            let grain = grain.to_lowercase();
            source
                .columns
                .iter()
                .any(|column| matches(&column.name.to_lowercase(), &grain))
        })
}

/// The names of a query's common table expressions, at any depth, lower case.
fn inner_names(query: &Query) -> Vec<String> {
    struct Names(Vec<String>);
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query
                .with
                .as_ref()
                .map_or(&[] as &[Cte], |with| &with.cte_tables);
            self.0.extend(
                tables
                    .iter()
                    .map(|table| table.alias.name.value.to_lowercase()),
            );
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let flow = query.visit(&mut names);
    debug_assert!(flow.is_continue());
    names.0
}

struct Tables {
    /// Dotted names, lower case, by their parts.
    tables: Vec<Vec<String>>,
    inner: Vec<String>,
}

impl Visitor for Tables {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let parts: Vec<String> = name
            .0
            .iter()
            .filter_map(|part| part.as_ident())
            .map(|part| part.value.to_lowercase())
            .collect();
        if !matches!(parts.as_slice(), [only] if self.inner.contains(only)) {
            self.tables.push(parts);
        }
        ControlFlow::Continue(())
    }
}
