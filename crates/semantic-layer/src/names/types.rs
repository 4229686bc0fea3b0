//! Infers the types of bound trees.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use crate::model::authored::ColumnType;
use crate::model::resolved::column_type;
use crate::names::aggregates::arguments;
use crate::names::{Names, bound};

pub(crate) fn of(tree: &Expr, names: Names<'_>) -> Option<ColumnType> {
    if let Some((node, column)) = bound::column_of(tree) {
        let source = names.source(node).ok()?;
        return source.column(column).map(|(_, column)| column.kind);
    }
    match tree {
        Expr::Nested(inner) => of(inner, names),
        Expr::Value(value) => match &value.value {
            Value::Number(..) => Some(ColumnType::Number),
            Value::Boolean(_) => Some(ColumnType::Boolean),
            Value::Placeholder(text) if text.starts_with(['\'', 'N']) => Some(ColumnType::String),
            _ => None,
        },
        Expr::BinaryOp { op, left, right } => match op {
            BinaryOperator::Plus | BinaryOperator::Minus => {
                let is_number = |side: &Expr| of(side, names) == Some(ColumnType::Number);
                (is_number(left) && is_number(right)).then_some(ColumnType::Number)
            }
            BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::MyIntegerDivide
            | BinaryOperator::DuckIntegerDivide => Some(ColumnType::Number),
            BinaryOperator::StringConcat => Some(ColumnType::String),
            _ if is_predicate(tree) => Some(ColumnType::Boolean),
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => of(expr, names),
        Expr::Case {
            conditions,
            else_result,
            ..
        } => conditions
            .iter()
            .map(|when| &when.result)
            .chain(else_result.as_deref())
            .find_map(|result| of(result, names)),
        Expr::Cast { data_type, .. } => Some(column_type(&data_type.to_string())),
        Expr::Extract { .. } | Expr::Floor { .. } | Expr::Ceil { .. } => Some(ColumnType::Number),
        Expr::Substring { .. } | Expr::Trim { .. } => Some(ColumnType::String),
        Expr::Function(call) => match call.name.to_string().to_ascii_lowercase().as_str() {
            "coalesce" | "nullif" | "ifnull" | "greatest" | "least" | "nvl" => arguments(call)
                .into_iter()
                .find_map(|argument| of(argument, names)),
            "upper" | "lower" | "concat" | "substr" | "replace" | "strftime" => {
                Some(ColumnType::String)
            }
            "abs" | "round" | "length" | "mod" | "power" | "pow" | "sqrt" | "ln" | "log"
            | "log2" | "log10" | "exp" | "sign" | "datediff" | "date_diff" | "datediff_big"
            | "timestampdiff" | "julianday" | "unixepoch" => Some(ColumnType::Number),
            _ => None,
        },
        tree if is_predicate(tree) => Some(ColumnType::Boolean),
        _ => None,
    }
}

pub(crate) fn is_predicate(tree: &Expr) -> bool {
    match tree {
        Expr::Nested(inner) => is_predicate(inner),
        Expr::BinaryOp {
            op: BinaryOperator::Custom(words),
            ..
        } => matches!(
            words.as_str(),
            "GLOB"
                | "NOT GLOB"
                | "NOT MATCH"
                | "SOUNDS LIKE"
                | "^@"
                | "&&"
                | "IN"
                | "NOT IN"
                | "GLOBAL IN"
                | "GLOBAL NOT IN"
        ),
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And
                | BinaryOperator::Or
                | BinaryOperator::Xor
                | BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
                | BinaryOperator::Spaceship
                | BinaryOperator::Match
                | BinaryOperator::Regexp
        ),
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::SimilarTo { .. }
        | Expr::RLike { .. } => true,
        _ => false,
    }
}
