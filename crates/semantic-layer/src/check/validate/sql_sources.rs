//! Checks SQL sources.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{Cte, Expr, ObjectName, Query, SelectItem, SetExpr, Visitor};

use super::Findings;
use crate::catalog::{Catalog, lowered_parts};
use crate::emit::parse_query;
use crate::model::error::ErrorKind;
use crate::model::part::Part;
use crate::model::resolved::{Relation, Source};
use crate::names::Names;

/// The select list must be static.
pub(super) fn projection(names: Names<'_>, source: &Source, found: &mut Findings<'_>) {
    let Relation::Sql(sql) = &source.relation else {
        return;
    };
    let query = match parse_query(source, sql, names.dialect) {
        Ok(query) => query,
        Err(error) => return found.refused((source, &Part::Relation), "sql", &error),
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
            found.error(
                (source, &Part::Grain),
                ErrorKind::GrainNotProjected,
                message,
            );
        }
    }
    for column in source.columns.iter().filter(|column| column.expr.is_none()) {
        let is_grain = source
            .grain
            .iter()
            .any(|entry| entry.eq_ignore_ascii_case(&column.name));
        if !is_grain && !has(&column.name) {
            let message = format!("column `{}` is not projected by the `sql`", column.name);
            let part = Part::Column(column.name.clone());
            found.error((source, &part), ErrorKind::UnknownColumn, message);
        }
    }
}

/// `None` unless the select list names all columns.
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

/// A query that reads another source's table and projects its key must declare the join.
pub(super) fn undeclared_joins(
    names: Names<'_>,
    source: &Source,
    tables: &Readable,
    found: &mut Findings<'_>,
) {
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
    let flow = ktx_sql::visit(&query, &mut read);
    debug_assert!(flow.is_continue());
    let targets: BTreeSet<usize> = read
        .tables
        .iter()
        .flat_map(|read| tables.like(read))
        .collect();
    for target in targets
        .into_iter()
        .filter_map(|place| names.catalog.sources.get(place))
        .filter(|target| target.name != source.name)
    {
        if shows_key(source, target) && !are_joined(source, target) {
            let message = format!(
                "the `sql` reads `{}` and shows its key, but no join to it is declared",
                target.name
            );
            found.error(
                (source, &Part::Relation),
                ErrorKind::UndeclaredSqlJoin,
                message,
            );
        }
    }
}

pub(super) struct Readable {
    by_last: BTreeMap<String, Vec<(Vec<String>, usize)>>,
}

impl Readable {
    /// Only touched sources are checked.
    pub(super) fn of(catalog: &Catalog, touched: &BTreeSet<&str>) -> Self {
        let mut by_last: BTreeMap<String, Vec<(Vec<String>, usize)>> = BTreeMap::new();
        if !touched.is_empty() {
            for (place, source) in catalog.sources.iter().enumerate() {
                if let Relation::Table(table) = &source.relation {
                    let path = lowered_parts(table);
                    if let Some(last) = path.last() {
                        by_last.entry(last.clone()).or_default().push((path, place));
                    }
                }
            }
        }
        Self { by_last }
    }

    fn like(&self, read: &[String]) -> impl Iterator<Item = usize> {
        let candidates = read.last().and_then(|last| self.by_last.get(last));
        candidates
            .into_iter()
            .flatten()
            .filter(move |(path, _)| path.ends_with(read) || read.ends_with(path))
            .map(|(_, place)| *place)
    }
}

fn are_joined(source: &Source, target: &Source) -> bool {
    source.joins.iter().any(|join| join.to == target.name)
        || target.joins.iter().any(|join| join.to == source.name)
}

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
    let flow = ktx_sql::visit(query, &mut names);
    debug_assert!(flow.is_continue());
    names.0
}

struct Tables {
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
