//! SQL Server has no truth values: converts between predicates and numbers by position.

use ktx_sql::Dialect;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
};

use crate::model::authored::ColumnType;
use crate::names::{Names, types};
use crate::sql::build::digit;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// After WHERE, ON or WHEN.
    Condition,
    Value,
}

pub(crate) fn placed(tree: &Expr, place: Place, names: Names<'_>) -> Expr {
    if names.dialect != Dialect::SqlServer {
        return tree.clone();
    }
    match place {
        Place::Condition => condition(tree, names),
        Place::Value => value(tree, names),
    }
}

fn boxed(tree: Expr) -> Box<Expr> {
    Box::new(tree)
}

fn condition(tree: &Expr, names: Names<'_>) -> Expr {
    match tree {
        Expr::Nested(inner) => Expr::Nested(boxed(condition(inner, names))),
        Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::And | BinaryOperator::Or),
            right,
        } => Expr::BinaryOp {
            left: boxed(condition(left, names)),
            op: op.clone(),
            right: boxed(condition(right, names)),
        },
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr,
        } => Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: boxed(condition(expr, names)),
        },
        Expr::IsTrue(inner) => is_known(value(inner, names), "1"),
        Expr::IsFalse(inner) => is_known(value(inner, names), "0"),
        Expr::IsNotTrue(inner) => not(is_known(value(inner, names), "1")),
        Expr::IsNotFalse(inner) => not(is_known(value(inner, names), "0")),
        Expr::IsUnknown(inner) => Expr::IsNull(boxed(value(inner, names))),
        Expr::IsNotUnknown(inner) => Expr::IsNotNull(boxed(value(inner, names))),
        tree if types::is_predicate(tree) => operands(tree, names),
        tree if types::of(tree, names) == Some(ColumnType::Boolean) => {
            equals(value(tree, names), "1")
        }
        tree => tree.clone(),
    }
}

fn equals(left: Expr, right: &str) -> Expr {
    Expr::BinaryOp {
        left: boxed(left),
        op: BinaryOperator::Eq,
        right: boxed(digit(right)),
    }
}

/// Never unknown, so its negation holds for NULL.
fn is_known(left: Expr, right: &str) -> Expr {
    let is_there = Expr::IsNotNull(boxed(left.clone()));
    Expr::Nested(boxed(Expr::BinaryOp {
        left: boxed(equals(left, right)),
        op: BinaryOperator::And,
        right: boxed(is_there),
    }))
}

fn not(tree: Expr) -> Expr {
    Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: boxed(tree),
    }
}

fn operands(tree: &Expr, names: Names<'_>) -> Expr {
    let fixed = |tree: &Expr| boxed(value(tree, names));
    match tree {
        Expr::BinaryOp { left, op, right } => Expr::BinaryOp {
            left: fixed(left),
            op: op.clone(),
            right: fixed(right),
        },
        Expr::IsNull(inner) => Expr::IsNull(fixed(inner)),
        Expr::IsNotNull(inner) => Expr::IsNotNull(fixed(inner)),
        Expr::InList {
            expr,
            list,
            negated,
        } => Expr::InList {
            expr: fixed(expr),
            list: list.iter().map(|item| value(item, names)).collect(),
            negated: *negated,
        },
        tree => tree.clone(),
    }
}

fn value(tree: &Expr, names: Names<'_>) -> Expr {
    match tree {
        tree if types::is_predicate(tree) => {
            let truth = condition(tree, names);
            let not = not(crate::sql::expression::nested(truth.clone()));
            let when = |condition, text| CaseWhen {
                condition,
                result: digit(text),
            };
            Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![when(truth, "1"), when(not, "0")],
                else_result: None,
            }
        }
        Expr::Nested(inner) => Expr::Nested(boxed(value(inner, names))),
        Expr::BinaryOp { left, op, right } => Expr::BinaryOp {
            left: boxed(value(left, names)),
            op: op.clone(),
            right: boxed(value(right, names)),
        },
        Expr::Case {
            case_token,
            end_token,
            operand,
            conditions,
            else_result,
        } => Expr::Case {
            case_token: case_token.clone(),
            end_token: end_token.clone(),
            operand: operand.as_ref().map(|operand| boxed(value(operand, names))),
            conditions: conditions
                .iter()
                .map(|when| CaseWhen {
                    condition: match operand {
                        None => condition(&when.condition, names),
                        Some(_) => value(&when.condition, names),
                    },
                    result: value(&when.result, names),
                })
                .collect(),
            else_result: else_result
                .as_ref()
                .map(|result| boxed(value(result, names))),
        },
        Expr::Function(call) => {
            let mut call = call.clone();
            let is_choice = call.name.to_string().eq_ignore_ascii_case("iif");
            if let FunctionArguments::List(list) = &mut call.args {
                for (at, argument) in list.args.iter_mut().enumerate() {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument {
                        *tree = if is_choice && at == 0 {
                            condition(tree, names)
                        } else {
                            value(tree, names)
                        };
                    }
                }
            }
            Expr::Function(call)
        }
        tree => tree.clone(),
    }
}
