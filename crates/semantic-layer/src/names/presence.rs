//! Computed columns of looked-up rows: NULL without a row, even if their expression turns NULLs
//! into values.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Ident, UnaryOperator, VisitorMut};

use crate::catalog::graph::NodeId;
use crate::names::bound;
use crate::sql::expression::nested;

/// Leaves a tree unchanged that is NULL without a row anyway.
pub(crate) fn guarded(node: NodeId, tree: Expr) -> Expr {
    if is_null_of_nulls(&tree) || bound::columns(&tree).is_empty() {
        return tree;
    }
    let row = vec![Ident::new(bound::marker(node)), Ident::new(bound::ROW)];
    only_where(Expr::CompoundIdentifier(row), tree)
}

fn only_where(key: Expr, tree: Expr) -> Expr {
    let when = CaseWhen {
        condition: Expr::IsNotNull(Box::new(key)),
        result: tree,
    };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![when],
        else_result: None,
    }
}

/// Nodes without a join key always have a row.
pub(crate) fn resolved(tree: &Expr, keys: &BTreeMap<NodeId, Expr>) -> Expr {
    let mut tree = tree.clone();
    let flow = ktx_sql::visit_mut(&mut tree, &mut Guards { keys });
    debug_assert!(flow.is_continue());
    tree
}

struct Guards<'a> {
    keys: &'a BTreeMap<NodeId, Expr>,
}

impl VisitorMut for Guards<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Expr::Case { conditions, .. } = tree
            && let [when] = conditions.as_slice()
            && let Expr::IsNotNull(row) = &when.condition
            && let Some(node) = bound::row_of(row)
        {
            *tree = match self.keys.get(&node) {
                Some(key) => only_where(key.clone(), when.result.clone()),
                None => nested(when.result.clone()),
            };
        }
        ControlFlow::Continue(())
    }
}

fn is_null_of_nulls(tree: &Expr) -> bool {
    match tree {
        Expr::CompoundIdentifier(_) => true,
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::Extract { expr: inner, .. }
        | Expr::Substring { expr: inner, .. }
        | Expr::Trim { expr: inner, .. }
        | Expr::Like { expr: inner, .. }
        | Expr::InList { expr: inner, .. }
        | Expr::Between { expr: inner, .. } => is_null_of_nulls(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Not | UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => is_null_of_nulls(expr),
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::And | BinaryOperator::Or => {
                is_null_of_nulls(left) && is_null_of_nulls(right)
            }
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::StringConcat
            | BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => is_null_of_nulls(left) || is_null_of_nulls(right),
            _ => false,
        },
        Expr::Function(call) => {
            let strict = " upper lower length substr substring trim abs round floor ceil ceiling date_trunc strftime replace ";
            let name = format!(" {} ", call.name.to_string().to_ascii_lowercase());
            strict.contains(&name)
                && crate::names::aggregates::arguments(call)
                    .into_iter()
                    .any(is_null_of_nulls)
        }
        Expr::Case {
            operand: None,
            conditions,
            else_result: None,
            ..
        } => conditions
            .iter()
            .all(|when| is_null_of_nulls(&when.condition) || is_null_of_nulls(&when.result)),
        _ => false,
    }
}
