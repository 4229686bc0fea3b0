//! Changes the tree so that its printed text parses to the same tree.

use std::mem::replace;
use std::ops::ControlFlow;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::{
    Expr, Query, SetExpr, Statement, TableFactor, UnaryOperator, Value, VisitorMut,
};

use crate::grammar;
use crate::refusal::{Refusal, refuse};

pub(super) fn tidy(statement: &mut Statement, dialect: Dialect) -> Result<(), Refusal> {
    match ktx_sql::visit_mut(statement, &mut TreeTidier { dialect }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

struct TreeTidier {
    dialect: Dialect,
}

fn template(dialect: Dialect) -> Result<Box<Query>, Refusal> {
    match grammar::parse(grammar::tokens("SELECT * FROM ktx__t", dialect)?, dialect)? {
        Statement::Query(template) => Ok(template),
        _ => refuse(Code::Internal, "a query did not parse as one"),
    }
}

fn are_misread(first: UnaryOperator, second: UnaryOperator) -> bool {
    match first {
        UnaryOperator::Minus => second == UnaryOperator::Minus,
        UnaryOperator::PGAbs | UnaryOperator::PGSquareRoot | UnaryOperator::PGCubeRoot => true,
        _ => false,
    }
}

impl VisitorMut for TreeTidier {
    type Break = Refusal;

    /// Two signs in a row would be a comment or a different operator.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Refusal> {
        if let Expr::UnaryOp { op, expr: inner } = expr
            && let Expr::UnaryOp { op: second, .. } = &**inner
            && are_misread(*op, *second)
        {
            let signed = replace(&mut **inner, Expr::Value(Value::Null.with_empty_span()));
            **inner = Expr::Nested(Box::new(signed));
        }
        ControlFlow::Continue(())
    }

    /// No server expects the alias of a table before its `AS OF`.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Refusal> {
        let TableFactor::Table {
            version: Some(_),
            alias,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let Some(alias) = alias.take() else {
            return ControlFlow::Continue(());
        };
        let mut subquery = match template(self.dialect) {
            Ok(template) => template,
            Err(refusal) => return ControlFlow::Break(refusal),
        };
        let relation = match subquery.body.as_mut() {
            SetExpr::Select(select) => select.from.first_mut().map(|table| &mut table.relation),
            _ => None,
        };
        if let Some(relation) = relation {
            std::mem::swap(relation, factor);
        }
        *factor = TableFactor::Derived {
            lateral: false,
            subquery,
            alias: Some(alias),
            sample: None,
        };
        ControlFlow::Continue(())
    }
}
