//! Operators of single warehouses, as equivalents that the planner knows.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use sqlparser::ast::{BinaryOperator, Expr, Value, VisitorMut};
use sqlparser::parser::ParserError;

use crate::sql::build::call;

/// Refuses operators that a warehouse could read otherwise.
pub(crate) fn settle(mut tree: Expr, dialect: Dialect) -> Result<Expr, ParserError> {
    match ktx_sql::visit_mut(&mut tree, &mut Equivalents { dialect }) {
        ControlFlow::Break(reason) => Err(ParserError::ParserError(reason.to_owned())),
        ControlFlow::Continue(()) => Ok(tree),
    }
}

struct Equivalents {
    dialect: Dialect,
}

impl VisitorMut for Equivalents {
    type Break = &'static str;

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<&'static str> {
        let Expr::BinaryOp { left, op, right } = tree else {
            return ControlFlow::Continue(());
        };
        let BinaryOperator::Custom(word) = op else {
            return ControlFlow::Continue(());
        };
        match (self.dialect, word.as_str()) {
            (_, "MOD") => *op = BinaryOperator::Modulo,
            (_, "?") => *tree = choice(taken(left), taken(right))?,
            (Dialect::ClickHouse, "IN" | "NOT IN") => {
                *tree = Expr::InList {
                    negated: word != "IN",
                    expr: Box::new(taken(left)),
                    list: vec![taken(right)],
                };
            }
            (Dialect::Sqlite, "IN" | "NOT IN") => {
                return ControlFlow::Break(
                    "SQLite reads a table after `IN`; write the values in parentheses",
                );
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Converts `a ? b : c`. ClickHouse allows no second `?` in it, and no `OR` after the colon.
fn choice(condition: Expr, values: Expr) -> ControlFlow<&'static str, Expr> {
    let Expr::BinaryOp {
        left: then,
        right: otherwise,
        ..
    } = values
    else {
        return ControlFlow::Continue(values);
    };
    if is_choice(&then) || is_choice(&otherwise) || is_or(&otherwise) {
        return ControlFlow::Break(
            "ClickHouse reads nothing like that behind `a ? b : c`; put parentheses around it",
        );
    }
    ControlFlow::Continue(call("if", vec![condition, *then, *otherwise]))
}

pub(crate) fn is_operator(prefix: &str) -> bool {
    let words = [
        "@",
        "|/",
        "||/",
        "ASYMMETRIC",
        "BINARY",
        "FROM",
        "SYMMETRIC",
        "VARIADIC",
    ];
    words.contains(&prefix)
}

pub(crate) fn is_type(prefix: &str, value: &Expr) -> bool {
    let is_text =
        matches!(value, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)));
    // `_utf8` is a character set.
    (is_text && !prefix.starts_with('_')) || prefix.ends_with('>')
}

fn is_choice(tree: &Expr) -> bool {
    matches!(tree, Expr::BinaryOp { op: BinaryOperator::Custom(word), .. } if word == "?")
}

fn is_or(tree: &Expr) -> bool {
    matches!(
        tree,
        Expr::BinaryOp {
            op: BinaryOperator::Or,
            ..
        }
    )
}

fn taken(tree: &mut Expr) -> Expr {
    std::mem::replace(tree, Expr::value(Value::Null))
}
