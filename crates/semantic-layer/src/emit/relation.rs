//! Where rows come from: tables, and queries of the warehouse re-printed from their trees.

use std::ops::ControlFlow;

use ktx_warehouse::Dialect;
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, SetExpr, Statement, Value, ValueWithSpan,
    Visit as _, VisitMut, Visitor, VisitorMut,
};
use sqlparser::parser::Parser;

use super::Writer;
use crate::graph::NodeId;
use crate::planner::Planned;
use crate::resolved::{Relation, Source};
use crate::sql_text::{literal, table_name, table_parts};
use crate::{ErrorKind, QueryError, clickhouse_types, escapes, expression, grammar};

/// Parses the query of a `sql` source.
pub(crate) fn parse_query(
    source: &Source,
    sql: &str,
    dialect: Dialect,
) -> Result<Query, QueryError> {
    let refuse = |reason: &str| {
        let message = format!("the `sql` of source `{}`: {reason}", source.name);
        Err(QueryError::new(ErrorKind::ParseError, message).about(source.name.as_str()))
    };
    match Parser::parse_sql(&*grammar::grammar(dialect), &escapes::kept(sql, dialect)) {
        Err(error) => refuse(error.to_string().trim_start_matches("sql parser error: ")),
        Ok(statements) => match <[Statement; 1]>::try_from(statements) {
            Ok([Statement::Query(query)]) => Ok(*query),
            _ => refuse("exactly one query is allowed"),
        },
    }
}

/// Every word of the plan's tables and queries, lower case: names that the SQL must not take.
pub(super) fn words(planned: &Planned<'_>) -> Result<Vec<String>, QueryError> {
    let mut words: Vec<String> = Vec::new();
    let mut nodes: Vec<NodeId> = Vec::new();
    for part in &planned.parts {
        nodes.push(part.home);
        nodes.extend(part.joins.iter().map(|edge| edge.to));
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
                let flow = query.visit(&mut found);
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
    /// The SQL of a node's rows, without its alias.
    pub(super) fn relation(&mut self, node: NodeId) -> Result<String, QueryError> {
        let source = self.planned.names.source(node)?;
        match &source.relation {
            Relation::Table(table) => Ok(table_name(self.dialect, table)),
            Relation::Sql(sql) => {
                let mut query = parse_query(source, sql, self.dialect)?;
                if self.dialect == Dialect::SqlServer {
                    self.lift(&mut query, &source.name)?;
                }
                spell(&mut query, self.dialect, &source.name)?;
                Ok(format!("({query})"))
            }
        }
    }

    /// Takes the common table expressions out of a query: SQL Server allows them at the top only.
    fn lift(&mut self, query: &mut Query, source: &str) -> Result<(), QueryError> {
        let Some(with) = query.with.take() else {
            return Ok(());
        };
        let mut renames: Vec<(String, String)> = Vec::new();
        for mut table in with.cte_tables {
            let old = table.alias.name.value.clone();
            let new = format!("{}__{old}", crate::planner::sanitized(source));
            rename(&mut table.query, &renames);
            spell(&mut table.query, self.dialect, source)?;
            let columns: Vec<String> = table
                .alias
                .columns
                .iter()
                .map(|column| self.dialect.quote(&column.name.value))
                .collect();
            let mut text = table.query.to_string();
            if !columns.is_empty() {
                text = format!("SELECT * FROM ({text}) AS renamed ({})", columns.join(", "));
            }
            if !self.lifted.iter().any(|(known, _)| *known == new) {
                self.lifted.push((new.clone(), text));
            }
            renames.push((old, new));
        }
        rename(query, &renames);
        Ok(())
    }
}

/// Gives tables new names, keeping the old ones as aliases of the query's own text untouched.
fn rename(query: &mut Query, renames: &[(String, String)]) {
    let mut renaming = Rename(renames);
    let flow = VisitMut::visit(query, &mut renaming);
    debug_assert!(flow.is_continue());
}

struct Rename<'a>(&'a [(String, String)]);

impl VisitorMut for Rename<'_> {
    type Break = ();

    fn pre_visit_table_factor(
        &mut self,
        factor: &mut sqlparser::ast::TableFactor,
    ) -> ControlFlow<()> {
        let sqlparser::ast::TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let [ObjectNamePart::Identifier(only)] = name.0.as_slice() else {
            return ControlFlow::Continue(());
        };
        let found = self
            .0
            .iter()
            .find(|(old, _)| old.eq_ignore_ascii_case(&only.value));
        if let Some((_, new)) = found {
            if alias.is_none() {
                *alias = Some(sqlparser::ast::TableAlias {
                    explicit: true,
                    name: only.clone(),
                    columns: Vec::new(),
                    at: None,
                });
            }
            *name = ObjectName::from(vec![Ident::new(new.as_str())]);
        }
        ControlFlow::Continue(())
    }
}

/// Spells literals and quoted identifiers of a query as the warehouse reads them, and refuses what
/// is not a plain query.
fn spell(query: &mut Query, dialect: Dialect, source: &str) -> Result<(), QueryError> {
    let mut spelling = SpellQuery { dialect };
    match VisitMut::visit(query, &mut spelling) {
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
