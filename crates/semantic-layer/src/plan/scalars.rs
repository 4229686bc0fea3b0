//! Prepares scalar trees for SQL: real division, missing sides as 0.

use std::ops::ControlFlow;

use ktx_sql::Dialect;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, Value, VisitorMut,
};

use crate::plan::Planned;
use crate::plan::sides::count_missing;
use crate::sql::build::{call, digit};
use crate::sql::expression::nested;
use crate::sql::sql_text::real_type;

/// `/` returns NULL for a zero divisor; between homes, a missing side counts as 0.
pub(crate) fn finish(tree: &Expr, planned: &Planned<'_>) -> Expr {
    let mut tree = tree.clone();
    count_missing(&mut tree, planned);
    let mut arithmetic = Arithmetic {
        dialect: planned.names.dialect,
    };
    let flow = ktx_sql::visit_mut(&mut tree, &mut arithmetic);
    debug_assert!(flow.is_continue());
    let flow = ktx_sql::visit_mut(&mut tree, &mut SingleParentheses);
    debug_assert!(flow.is_continue());
    tree
}

struct Arithmetic {
    dialect: Dialect,
}

impl Arithmetic {
    /// PostgreSQL rounds only exact numbers to decimal places.
    fn round(&self, function: &mut Function) {
        let is_round = function.name.to_string().eq_ignore_ascii_case("round");
        let FunctionArguments::List(list) = &mut function.args else {
            return;
        };
        if self.dialect == Dialect::Postgres
            && is_round
            && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value)), _] =
                list.args.as_mut_slice()
        {
            *value = cast(value.clone(), "NUMERIC");
        }
    }
}

impl VisitorMut for Arithmetic {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = tree {
            self.round(function);
            return ControlFlow::Continue(());
        }
        let Expr::BinaryOp { left, op, right } = tree else {
            return ControlFlow::Continue(());
        };
        let is_division = matches!(
            op,
            BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::MyIntegerDivide
                | BinaryOperator::DuckIntegerDivide
        );
        if *op == BinaryOperator::Divide {
            **left = real((**left).clone(), self.dialect);
        }
        if is_division {
            **right = call("NULLIF", vec![(**right).clone(), digit("0")]);
        }
        ControlFlow::Continue(())
    }
}

/// Removes the second pair of parentheses of [`whole`] values.
///
/// [`whole`]: crate::sql::expression::whole
struct SingleParentheses;

impl VisitorMut for SingleParentheses {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Expr::Nested(outer) = tree
            && let Expr::Nested(inner) = &mut **outer
        {
            let inner = std::mem::replace(&mut **inner, Expr::value(Value::Null));
            *tree = nested(inner);
        }
        ControlFlow::Continue(())
    }
}

fn real(value: Expr, dialect: Dialect) -> Expr {
    match dialect {
        Dialect::ClickHouse => call("toFloat64", vec![value]),
        Dialect::MySql | Dialect::MariaDb => Expr::Nested(Box::new(Expr::BinaryOp {
            left: Box::new(value),
            op: BinaryOperator::Multiply,
            right: Box::new(digit("1e0")),
        })),
        dialect => cast(value, real_type(dialect)),
    }
}

fn cast(value: Expr, name: &str) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value),
        data_type: DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new()),
        format: None,
    }
}
