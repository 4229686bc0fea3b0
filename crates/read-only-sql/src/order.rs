//! The order that a statement asks for.

use sqlparser::ast::{Expr, OrderByKind, Query, SetExpr, Statement, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SortKey {
    Column(String),
    /// From 1.
    Place(usize),
    All,
    Expression,
}

pub(super) fn order_of(statement: &Statement) -> Vec<SortKey> {
    match statement {
        Statement::Query(query) => of_query(query),
        _ => Vec::new(),
    }
}

fn of_query(query: &Query) -> Vec<SortKey> {
    match (&query.order_by, query.body.as_ref()) {
        (Some(order), _) => match &order.kind {
            OrderByKind::All(_) => vec![SortKey::All],
            OrderByKind::Expressions(keys) => keys.iter().map(|key| key_of(&key.expr)).collect(),
        },
        (None, SetExpr::Query(inner)) => of_query(inner),
        (None, _) => Vec::new(),
    }
}

fn key_of(key: &Expr) -> SortKey {
    match key {
        Expr::Identifier(name) => SortKey::Column(name.value.clone()),
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(name) => SortKey::Column(name.value.clone()),
            None => SortKey::Expression,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().map_or(SortKey::Expression, SortKey::Place),
            _ => SortKey::Expression,
        },
        _ => SortKey::Expression,
    }
}
