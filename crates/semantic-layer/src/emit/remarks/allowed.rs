//! The values that pass a predicate that compares one expression with constants.

use sqlparser::ast::{BinaryOperator, Expr, Value};

use crate::sql::expression::conjuncts;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Constant {
    Null,
    Text(String),
    Number(f64),
    Truth(bool),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Allowed {
    Only(Vec<Constant>),
    Except(Vec<Constant>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Test {
    pub(super) operand: Expr,
    pub(super) allowed: Allowed,
}

pub(super) fn tests(tree: &Expr) -> Vec<Test> {
    let clauses = conjuncts(tree.clone());
    clauses.iter().filter_map(test).collect()
}

fn test(clause: &Expr) -> Option<Test> {
    let (operand, allowed) = match clause {
        Expr::Nested(inner) => return test(inner),
        Expr::BinaryOp { left, op, right } => {
            let (operand, value) = match (constant(left), constant(right)) {
                (None, Some(value)) => (left, value),
                (Some(value), None) => (right, value),
                _ => return None,
            };
            let allowed = match op {
                _ if value == Constant::Null => return None,
                BinaryOperator::Eq => Allowed::Only(vec![value]),
                BinaryOperator::NotEq => Allowed::Except(vec![value, Constant::Null]),
                _ => return None,
            };
            (operand, allowed)
        }
        Expr::InList {
            expr,
            list,
            negated,
        } => {
            let values: Option<Vec<Constant>> = list.iter().map(constant).collect();
            let mut values = values.filter(|values| !values.contains(&Constant::Null))?;
            if *negated {
                values.push(Constant::Null);
                (expr, Allowed::Except(values))
            } else {
                (expr, Allowed::Only(values))
            }
        }
        Expr::IsNull(operand) => (operand, Allowed::Only(vec![Constant::Null])),
        Expr::IsNotNull(operand) => (operand, Allowed::Except(vec![Constant::Null])),
        _ => return None,
    };
    Some(Test {
        operand: unwrapped(operand).clone(),
        allowed,
    })
}

fn unwrapped(tree: &Expr) -> &Expr {
    match tree {
        Expr::Nested(inner) => unwrapped(inner),
        tree => tree,
    }
}

fn constant(tree: &Expr) -> Option<Constant> {
    let Expr::Value(value) = unwrapped(tree) else {
        return None;
    };
    match &value.value {
        Value::Null => Some(Constant::Null),
        Value::Boolean(truth) => Some(Constant::Truth(*truth)),
        Value::Number(digits, _) => digits.parse().ok().map(Constant::Number),
        // Texts with escapes are ignored.
        Value::Placeholder(text) => {
            let inner = text.strip_prefix('N').unwrap_or(text);
            let inner = inner.strip_prefix('\'')?.strip_suffix('\'')?;
            (!inner.contains('\\')).then(|| Constant::Text(inner.replace("''", "'")))
        }
        _ => None,
    }
}

impl Constant {
    /// Some warehouses ignore case and convert types.
    fn may_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => {
                one.trim_end().to_lowercase() == other.trim_end().to_lowercase()
            }
            (Self::Null, other) | (other, Self::Null) => *other == Self::Null,
            (Self::Number(_), Self::Number(_)) | (Self::Truth(_), Self::Truth(_)) => self == other,
            _ => true,
        }
    }
}

impl Allowed {
    pub(super) fn values(&self) -> &[Constant] {
        match self {
            Self::Only(values) | Self::Except(values) => values,
        }
    }

    pub(super) fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Only(one), Self::Only(other)) => !one
                .iter()
                .any(|value| other.iter().any(|known| value.may_equal(known))),
            (Self::Only(only), Self::Except(gone)) | (Self::Except(gone), Self::Only(only)) => {
                only.iter().all(|value| gone.contains(value))
            }
            (Self::Except(_), Self::Except(_)) => false,
        }
    }
}
