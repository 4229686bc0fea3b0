//! Writes tables and SQL queries.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use ktx_sql::grammar::Grammar;
use ktx_sql::{clickhouse_types, escapes};
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, SelectItem, SetExpr, Statement, TableAlias,
    TableFactor, Value, ValueWithSpan, Visitor, VisitorMut,
};
use sqlparser::parser::Parser;

use super::Writer;
use crate::catalog::graph::NodeId;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::{Relation, Source};
use crate::plan::{Planned, sanitized, unique};
use crate::sql::expression;
use crate::sql::sql_text::{identifier, literal, table_name, table_parts};

pub fn parse_query(source: &Source, sql: &str, dialect: Dialect) -> Result<Query, QueryError> {
    let refuse = |reason: &str| {
        let message = format!("the `sql` of source `{}`: {reason}", source.name);
        Err(QueryError::new(ErrorKind::ParseError, message).about(source.name.as_str()))
    };
    match Parser::parse_sql(
        &Grammar::new(dialect),
        &escapes::double_backslashes(sql, dialect),
    ) {
        Err(error) => refuse(error.to_string().trim_start_matches("sql parser error: ")),
        Ok(statements) => match <[Statement; 1]>::try_from(statements) {
            Ok([Statement::Query(query)]) => Ok(*query),
            _ => refuse("exactly one query is allowed"),
        },
    }
}

/// The SQL must avoid these words, in lower case.
pub(super) fn words(planned: &Planned<'_>) -> Result<Vec<String>, QueryError> {
    let mut words: Vec<String> = Vec::new();
    let mut nodes: Vec<NodeId> = Vec::new();
    for part in &planned.parts {
        nodes.push(part.home);
        nodes.extend(part.joins.iter().map(|edge| edge.to));
        let bridge = part.bridge.iter().flat_map(|bridge| &bridge.joins);
        nodes.extend(bridge.map(|edge| edge.to));
    }
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let source = planned.names.source(node)?;
        words.push(planned.names.node_name(node).to_lowercase());
        match &source.relation {
            Relation::Table(table) => {
                words.extend(table_parts(table).iter().map(|part| part.to_lowercase()));
            }
            Relation::Sql(sql) => {
                let query = parse_query(source, sql, planned.names.dialect)?;
                let mut found = Words(&mut words);
                let flow = ktx_sql::visit(&query, &mut found);
                debug_assert!(flow.is_continue());
            }
        }
    }
    Ok(words)
}

struct Words<'a>(&'a mut Vec<String>);

impl Visitor for Words<'_> {
    type Break = ();

    fn pre_visit_ident(&mut self, name: &Ident) -> ControlFlow<()> {
        self.0.push(name.value.to_lowercase());
        ControlFlow::Continue(())
    }
}

impl Writer<'_, '_> {
    pub(super) fn relation(&mut self, node: NodeId) -> Result<String, QueryError> {
        let source = self.planned.names.source(node)?;
        match &source.relation {
            Relation::Table(table) => Ok(table_name(self.dialect, table)),
            Relation::Sql(sql) => {
                let mut query = parse_query(source, sql, self.dialect)?;
                if self.dialect == Dialect::SqlServer {
                    self.lift(&mut query, source)?;
                }
                spell(&mut query, self.dialect, &source.name)?;
                Ok(format!("({query})"))
            }
        }
    }

    /// SQL Server allows common table expressions only at the top.
    fn lift(&mut self, query: &mut Query, source: &Source) -> Result<(), QueryError> {
        let Some(with) = query.with.take() else {
            return Ok(());
        };
        let mut renames: Vec<(String, String)> = Vec::new();
        for mut table in with.cte_tables {
            let old = table.alias.name.value.clone();
            let key = (source.name.clone(), old.to_lowercase());
            let known = self.lifted_names.get(&key).cloned();
            let new = known.clone().unwrap_or_else(|| {
                let wanted = format!("{}__{}", word(&source.name), word(&old));
                unique(wanted.clone(), &wanted, &mut self.inner.taken)
            });
            // SQL Server's recursive queries need no keyword.
            renames.push((old, new.clone()));
            if known.is_some() {
                continue;
            }
            self.lifted_names.insert(key, new.clone());
            let is_recursive = names_table(&table.query, &table.alias.name.value);
            rename(&mut table.query, &renames, self.dialect);
            let columns: Vec<Ident> = table
                .alias
                .columns
                .iter()
                .map(|one| one.name.clone())
                .collect();
            let is_named = is_recursive && name_columns(&mut table.query, &columns);
            spell(&mut table.query, self.dialect, &source.name)?;
            let mut text = table.query.to_string();
            if !columns.is_empty() && !is_named {
                let columns: Vec<String> = columns
                    .iter()
                    .map(|column| self.dialect.quote(&column.value))
                    .collect();
                text = format!("SELECT * FROM ({text}) AS renamed ({})", columns.join(", "));
            }
            self.lifted.push((new, text));
        }
        rename(query, &renames, self.dialect);
        Ok(())
    }
}

fn word(text: &str) -> String {
    let word = sanitized(text);
    word.chars().filter(char::is_ascii).take(40).collect()
}

fn names_table(query: &Query, name: &str) -> bool {
    let flow = ktx_sql::visit_relations(query, |relation| match relation.0.as_slice() {
        [ObjectNamePart::Identifier(only)] if is_same(&only.value, name) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    flow.is_break()
}

/// Compares names as most SQL Servers do.
fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Recursive queries cannot be named from outside.
fn name_columns(query: &mut Query, names: &[Ident]) -> bool {
    let mut body = &mut *query.body;
    loop {
        match body {
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(inner) => body = &mut inner.body,
            _ => break,
        }
    }
    let SetExpr::Select(select) = body else {
        return false;
    };
    let is_one = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    if select.projection.len() != names.len() || !select.projection.iter().all(is_one) {
        return false;
    }
    for (item, alias) in select.projection.iter_mut().zip(names) {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: alias.clone(),
            };
        }
    }
    true
}

/// The old names stay as aliases.
fn rename(query: &mut Query, renames: &[(String, String)], dialect: Dialect) {
    let mut renaming = Rename { renames, dialect };
    let flow = ktx_sql::visit_mut(query, &mut renaming);
    debug_assert!(flow.is_continue());
}

struct Rename<'a> {
    renames: &'a [(String, String)],
    dialect: Dialect,
}

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let [ObjectNamePart::Identifier(only)] = name.0.as_slice() else {
            return ControlFlow::Continue(());
        };
        let mut renames = self.renames.iter();
        if let Some((_, new)) = renames.find(|(old, _)| is_same(old, &only.value)) {
            if alias.is_none() {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: only.clone(),
                    columns: Vec::new(),
                    at: None,
                });
            }
            *name = ObjectName::from(vec![Ident::new(identifier(self.dialect, new))]);
        }
        ControlFlow::Continue(())
    }
}

fn spell(query: &mut Query, dialect: Dialect, source: &str) -> Result<(), QueryError> {
    let mut spelling = SpellQuery { dialect };
    match ktx_sql::visit_mut(query, &mut spelling) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(reason) => {
            let message = format!("the `sql` of source `{source}`: {reason}");
            Err(QueryError::new(ErrorKind::ParseError, message).about(source))
        }
    }
}

struct SpellQuery {
    dialect: Dialect,
}

impl VisitorMut for SpellQuery {
    type Break = &'static str;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<&'static str> {
        let mut body = &*query.body;
        while let SetExpr::SetOperation { left, .. } = body {
            body = left;
        }
        match body {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                ControlFlow::Break("only reading is allowed")
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<&'static str> {
        match tree {
            Expr::Cast { data_type, .. } if self.dialect == Dialect::ClickHouse => {
                clickhouse_types::spell(data_type);
            }
            tree => expression::part_signs(tree),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<&'static str> {
        let text = match &value.value {
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::TripleSingleQuotedString(text)
            | Value::TripleDoubleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::SingleQuotedRawStringLiteral(text)
            | Value::DoubleQuotedRawStringLiteral(text) => text,
            Value::DollarQuotedString(quoted) => &quoted.value,
            Value::HexStringLiteral(digits) if expression::is_blob(self.dialect, digits) => {
                return ControlFlow::Continue(());
            }
            Value::NationalStringLiteral(_)
            | Value::Number(..)
            | Value::Boolean(_)
            | Value::Null => {
                return ControlFlow::Continue(());
            }
            Value::Placeholder(_) => return ControlFlow::Break("placeholders are not allowed"),
            _ => return ControlFlow::Break("this kind of literal is not supported"),
        };
        value.value = Value::Placeholder(literal(self.dialect, text));
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, name: &mut Ident) -> ControlFlow<&'static str> {
        if name.quote_style.is_some() {
            name.value = self.dialect.quote(&name.value);
            name.quote_style = None;
        }
        ControlFlow::Continue(())
    }
}
