//! The rules for a parsed tree, checked at every depth.

mod calls;
mod fields;
mod words;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use ktx_sql::grammar::TABLE;
use sqlparser::ast::{
    BinaryOperator, CastKind, Expr, ForClause, FunctionArg, FunctionArgExpr, Ident, ObjectName,
    PipeOperator, Query, Select, SelectItem, SetExpr, Statement, TableFactor, TableFunctionArgs,
    Value, ValueWithSpan, Visitor,
};

use crate::functions::CallSite;
use crate::names;
use crate::patches::ONLY;
use crate::refusal::{Refusal, refuse};
use crate::user_functions::AllowedFunctions;

pub(super) fn check(
    statement: &Statement,
    dialect: Dialect,
    allowed: &AllowedFunctions,
) -> Result<(), Refusal> {
    if !matches!(statement, Statement::Query(_)) {
        return refuse(Code::NotAQuery, "only queries are allowed");
    }
    let mut rules = Rules {
        dialect,
        allowed,
        lambdas: calls::named_lambdas(statement, dialect),
        unknown: None,
    };
    let visited = ktx_sql::visit(statement, &mut rules);
    match (rules.unknown, visited) {
        (None, ControlFlow::Continue(())) => Ok(()),
        (None, ControlFlow::Break(refusal)) => Err(refusal),
        (Some(unknown), ControlFlow::Continue(())) => Err(unknown),
        (Some(unknown), ControlFlow::Break(_)) => Err(Refusal {
            unknown_functions: Vec::new(),
            ..unknown
        }),
    }
}

struct Rules<'a> {
    dialect: Dialect,
    allowed: &'a AllowedFunctions,
    lambdas: BTreeSet<String>,
    unknown: Option<Refusal>,
}

impl Rules<'_> {
    /// Continues after an unknown function, because a hard violation can follow.
    fn judge_call(&mut self, result: Result<(), Refusal>) -> ControlFlow<Refusal> {
        let refusal = match result {
            Ok(()) => return ControlFlow::Continue(()),
            Err(refusal) if refusal.unknown_functions.is_empty() => {
                return ControlFlow::Break(refusal);
            }
            Err(refusal) => refusal,
        };
        let names = &refusal.unknown_functions;
        if names.iter().all(|name| self.allowed.allows(name)) {
            return ControlFlow::Continue(());
        }
        match &mut self.unknown {
            None => self.unknown = Some(refusal),
            Some(first) => {
                for name in refusal.unknown_functions {
                    if !first.unknown_functions.contains(&name) {
                        first.unknown_functions.push(name);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

fn control_flow(result: Result<(), Refusal>) -> ControlFlow<Refusal> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(refusal),
    }
}

impl Visitor for Rules<'_> {
    type Break = Refusal;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Refusal> {
        control_flow(match statement {
            Statement::Query(_) => Ok(()),
            _ => refuse(
                Code::WritingNode,
                "the query holds a statement that is not a query",
            ),
        })
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refusal> {
        control_flow(check_query(query).and_then(|()| check_body(&query.body, self.dialect)))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Refusal> {
        control_flow(check_select(select, self.dialect))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Refusal> {
        control_flow(names::check_table(relation, self.dialect))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Refusal> {
        self.judge_call(check_table_factor(factor, self.dialect))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Refusal> {
        self.judge_call(match expr {
            Expr::Function(function) if calls::is_one_of(function, &self.lambdas) => Ok(()),
            _ => check_expr(expr, self.dialect),
        })
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Refusal> {
        control_flow(match &value.value {
            Value::Placeholder(name)
                if !is_column_number(name, self.dialect)
                    && !is_query_parameter(name, self.dialect) =>
            {
                refuse(
                    Code::Parameter,
                    format!("the parameter `{name}` has no value"),
                )
            }
            _ => Ok(()),
        })
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<Refusal> {
        control_flow(words::check(ident, self.dialect))
    }
}

/// Snowflake: `$1` is a column of a `VALUES` list. SQL Server: `$12.5` is an amount.
fn is_column_number(name: &str, dialect: Dialect) -> bool {
    let digits = |rest: &str| {
        rest.chars()
            .all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    matches!(dialect, Dialect::Snowflake | Dialect::SqlServer)
        && name.strip_prefix('$').is_some_and(digits)
}

/// BigQuery: `@name` is a parameter, `@@name` a variable.
fn is_query_parameter(name: &str, dialect: Dialect) -> bool {
    dialect == Dialect::BigQuery && name.starts_with('@') && !name.starts_with("@@")
}

fn check_query(query: &Query) -> Result<(), Refusal> {
    if !query.locks.is_empty() {
        return refuse(Code::Locking, "`FOR UPDATE` and similar clauses lock rows");
    }
    if query.settings.is_some() {
        return refuse(Code::Settings, "`SETTINGS` changes how the server works");
    }
    if query.format_clause.is_some() {
        return refuse(Code::Format, "`FORMAT` is chosen by the connection");
    }
    if matches!(query.for_clause, Some(ForClause::Browse)) {
        return refuse(Code::Locking, "`FOR BROWSE` is not allowed");
    }
    let calls = |operator: &PipeOperator| matches!(operator, PipeOperator::Call { .. });
    if query.pipe_operators.iter().any(calls) {
        return refuse(
            Code::TableFunctionNotAllowed,
            "`|> CALL` runs a table function",
        );
    }
    Ok(())
}

/// No visitor sees the name in a `TABLE name` body.
fn check_body(body: &SetExpr, dialect: Dialect) -> Result<(), Refusal> {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => Ok(()),
        SetExpr::SetOperation { left, right, .. } => {
            check_body(left, dialect)?;
            check_body(right, dialect)
        }
        SetExpr::Table(table) => {
            let parts = [table.schema_name.as_deref(), table.table_name.as_deref()];
            let idents: Vec<Ident> = parts.into_iter().flatten().map(Ident::new).collect();
            names::check_table(&ObjectName::from(idents), dialect)
        }
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => refuse(
            Code::WritingNode,
            "the query holds a statement that is not a query",
        ),
    }
}

fn check_select(select: &Select, dialect: Dialect) -> Result<(), Refusal> {
    if select.into.is_some() {
        return refuse(Code::Into, "`INTO` writes the result somewhere");
    }
    if !select.optimizer_hints.is_empty() {
        return refuse(Code::Hint, "optimizer hints in comments are not allowed");
    }
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { alias, .. } = item {
            words::check_quotes(alias, dialect)?;
        }
        if dialect == Dialect::SqlServer {
            check_assignment(item)?;
        }
    }
    Ok(())
}

/// SQL Server: `SELECT @v = x`.
fn check_assignment(item: &SelectItem) -> Result<(), Refusal> {
    let sets = match item {
        SelectItem::UnnamedExpr(Expr::BinaryOp { left, .. }) => is_variable(left),
        SelectItem::ExprWithAlias { alias, .. } => {
            alias.quote_style.is_none() && alias.value.starts_with('@')
        }
        _ => false,
    };
    if sets {
        return refuse(Code::Assignment, "the query sets a variable");
    }
    Ok(())
}

fn is_variable(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(name) => name.quote_style.is_none() && name.value.starts_with('@'),
        Expr::BinaryOp { left, .. } => is_variable(left),
        _ => false,
    }
}

fn check_table_factor(factor: &TableFactor, dialect: Dialect) -> Result<(), Refusal> {
    match factor {
        TableFactor::Table {
            name,
            args,
            with_hints,
            alias,
            ..
        } => {
            calls::check_hints(with_hints, dialect)?;
            names::check_modifier(name, alias.as_ref(), dialect)?;
            match args {
                None => calls::check_alias(alias.as_ref(), dialect),
                Some(args) if is_only(name, dialect) => check_only(args, dialect),
                Some(args) if calls::are_hints(args, dialect) => Ok(()),
                Some(args) if args.settings.is_some() => {
                    refuse(Code::Settings, "`SETTINGS` changes how the server works")
                }
                Some(_) => calls::check_name(name, dialect, CallSite::Table),
            }
        }
        TableFactor::Function { name, .. } => calls::check_name(name, dialect, CallSite::Table),
        TableFactor::TableFunction { expr, .. } => match expr {
            Expr::Function(function) => calls::check_name(&function.name, dialect, CallSite::Table),
            _ => refuse(Code::DynamicName, "`TABLE(…)` takes a table function"),
        },
        TableFactor::Derived { .. }
        | TableFactor::UNNEST { .. }
        | TableFactor::JsonTable { .. }
        | TableFactor::OpenJsonTable { .. }
        | TableFactor::NestedJoin { .. }
        | TableFactor::Pivot { .. }
        | TableFactor::Unpivot { .. }
        | TableFactor::UnpivotExpr { .. }
        | TableFactor::MatchRecognize { .. }
        | TableFactor::XmlTable { .. }
        | TableFactor::SemanticView { .. } => Ok(()),
    }
}

/// The call that a patch makes of `ONLY name`.
fn is_only(name: &ObjectName, dialect: Dialect) -> bool {
    dialect == Dialect::Postgres && name.to_string() == ONLY
}

fn check_only(args: &TableFunctionArgs, dialect: Dialect) -> Result<(), Refusal> {
    let table = match args.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(table))] => table_name(table),
        _ => None,
    };
    match table {
        Some(name) => names::check_table(&name, dialect),
        None => refuse(Code::DynamicName, "`ONLY` takes a table"),
    }
}

fn check_expr(expr: &Expr, dialect: Dialect) -> Result<(), Refusal> {
    match expr {
        Expr::Function(function) => calls::check(function, dialect),
        Expr::BinaryOp { op, right, .. } => {
            check_operator(op, dialect).and_then(|()| check_set(op, right, dialect))
        }
        Expr::InList { list, .. } if dialect == Dialect::ClickHouse => match list.as_slice() {
            [set] => check_set_name(set, dialect),
            _ => Ok(()),
        },
        Expr::Prefixed { prefix, value } if prefix.value == TABLE => {
            check_table_argument(value, dialect)
        }
        Expr::Cast {
            kind: CastKind::DoubleColon,
            ..
        } if dialect == Dialect::SqlServer => refuse(
            Code::FunctionNotAllowed,
            "`::` calls a method of a type, which is not on the list of functions that only read",
        ),
        Expr::CompoundIdentifier(parts) => fields::check_path(parts, dialect),
        Expr::CompoundFieldAccess { access_chain, .. } => {
            fields::check_chain(access_chain, dialect)
        }
        _ => Ok(()),
    }
}

/// ClickHouse, SQLite: `x IN name` reads a table.
fn check_set(operator: &BinaryOperator, set: &Expr, dialect: Dialect) -> Result<(), Refusal> {
    match operator {
        BinaryOperator::Custom(words)
            if matches!(dialect, Dialect::ClickHouse | Dialect::Sqlite)
                && words.ends_with("IN") =>
        {
            check_set_name(set, dialect)
        }
        _ => Ok(()),
    }
}

fn check_set_name(set: &Expr, dialect: Dialect) -> Result<(), Refusal> {
    match table_name(set) {
        Some(name) => names::check_table(&name, dialect),
        None => Ok(()),
    }
}

/// A query in `TABLE(SELECT …)` is already checked.
fn check_table_argument(value: &Expr, dialect: Dialect) -> Result<(), Refusal> {
    match (table_name(value), value) {
        (Some(name), _) => names::check_table(&name, dialect),
        (None, Expr::Subquery(_)) => Ok(()),
        (None, _) => refuse(Code::DynamicName, "`TABLE` takes a table"),
    }
}

fn table_name(expr: &Expr) -> Option<ObjectName> {
    match expr {
        Expr::Identifier(name) => Some(ObjectName::from(vec![name.clone()])),
        Expr::CompoundIdentifier(parts) => Some(ObjectName::from(parts.clone())),
        Expr::Nested(inner) => table_name(inner),
        _ => None,
    }
}

fn check_operator(operator: &BinaryOperator, dialect: Dialect) -> Result<(), Refusal> {
    match operator {
        // PostgreSQL has no variables: there it names an argument.
        BinaryOperator::Assignment if dialect != Dialect::Postgres => {
            refuse(Code::Assignment, "the query sets a variable")
        }
        BinaryOperator::LongArrow if dialect == Dialect::Snowflake => {
            refuse(Code::StatementCount, "`->>` chains statements")
        }
        BinaryOperator::PGCustomBinaryOperator(parts)
            if parts.len() > 1 && parts.first().is_none_or(|schema| schema != "pg_catalog") =>
        {
            refuse(
                Code::FunctionNotAllowed,
                "an operator of another schema is not known",
            )
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
