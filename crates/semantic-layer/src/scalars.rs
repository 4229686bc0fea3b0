//! Scalar trees over atoms, made ready for SQL: real division, missing sides as 0.

use std::ops::ControlFlow;

use ktx_warehouse::Dialect;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value, VisitMut, VisitorMut,
};

use crate::ColumnType;
use crate::bound;
use crate::graph::NodeId;
use crate::planner::atoms::Atom;
use crate::sql_text::real_type;

/// Gives a scalar tree the contract's arithmetic: `/` divides real numbers and answers NULL on a
/// zero divisor; where an operator joins values of different homes, a missing side counts as 0.
pub(crate) fn finish(tree: &Expr, atoms: &[Atom], dialect: Dialect) -> Expr {
    let mut tree = tree.clone();
    let mut arithmetic = Arithmetic { atoms, dialect };
    let flow = VisitMut::visit(&mut tree, &mut arithmetic);
    debug_assert!(flow.is_continue());
    let flow = VisitMut::visit(&mut tree, &mut SingleParentheses);
    debug_assert!(flow.is_continue());
    tree
}

struct Arithmetic<'a> {
    atoms: &'a [Atom],
    dialect: Dialect,
}

impl Arithmetic<'_> {
    /// The homes of the atoms in a tree, each once.
    fn homes(&self, tree: &Expr) -> Vec<NodeId> {
        let mut homes: Vec<NodeId> = bound::atoms(tree)
            .iter()
            .filter_map(|at| self.atoms.get(*at))
            .map(|atom| atom.home)
            .collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    }

    /// Whether every atom of a tree is a number.
    fn is_numeric(&self, tree: &Expr) -> bool {
        let kinds = bound::atoms(tree)
            .into_iter()
            .map(|at| self.atoms.get(at).and_then(|atom| atom.kind));
        kinds
            .into_iter()
            .all(|kind| kind == Some(ColumnType::Number))
    }

    /// PostgreSQL rounds to places only what is exact.
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

    /// One side of an operator that joins several homes.
    fn side(&self, side: &mut Expr) {
        if self.homes(side).len() == 1 && self.is_numeric(side) {
            *side = call("COALESCE", vec![side.clone(), digit("0")]);
        }
    }

    /// One side of a sum over several homes: each term of it is a side of its own, so that the order of
    /// the terms does not change the sum. A measure that stands in the place of its name is one term.
    fn terms(&self, side: &mut Expr) {
        if self.homes(side).len() != 1 {
            return;
        }
        match side {
            Expr::BinaryOp { left, op, right } if is_additive(op) => {
                self.terms(left);
                self.terms(right);
            }
            Expr::Nested(inner) if !matches!(**inner, Expr::Nested(_)) => self.terms(inner),
            _ => self.side(side),
        }
    }
}

impl VisitorMut for Arithmetic<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = tree {
            self.round(function);
            return ControlFlow::Continue(());
        }
        let joins_homes = self.homes(tree).len() > 1;
        let Expr::BinaryOp { left, op, right } = tree else {
            return ControlFlow::Continue(());
        };
        let is_arithmetic = matches!(
            op,
            BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::MyIntegerDivide
                | BinaryOperator::DuckIntegerDivide
        );
        if joins_homes && is_additive(op) {
            self.terms(left);
            self.terms(right);
        } else if joins_homes && is_arithmetic {
            self.side(left);
            self.side(right);
        }
        let is_division = matches!(
            op,
            BinaryOperator::Divide
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

const fn is_additive(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Plus | BinaryOperator::Minus)
}

/// Takes away the second parentheses of [`whole`] values.
///
/// [`whole`]: crate::expression::whole
struct SingleParentheses;

impl VisitorMut for SingleParentheses {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if let Expr::Nested(outer) = tree
            && matches!(**outer, Expr::Nested(_))
        {
            let inner = std::mem::replace(&mut **outer, Expr::value(Value::Null));
            *tree = inner;
        }
        ControlFlow::Continue(())
    }
}

/// A number as it is written.
pub(crate) fn digit(text: &str) -> Expr {
    Expr::value(Value::Placeholder(text.to_owned()))
}

/// A function call.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments
        .into_iter()
        .map(|tree| FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    })
}

/// A value as a real number.
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

/// `CAST(value AS name)`.
fn cast(value: Expr, name: &str) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value),
        data_type: DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new()),
        format: None,
    }
}
