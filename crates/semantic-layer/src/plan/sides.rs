//! Values of several sources in one expression: a missing side counts as 0.

use std::ops::{ControlFlow, Range};

use ktx_sql::Dialect;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Function, Value, Visitor, VisitorMut};

use crate::catalog::graph::NodeId;
use crate::model::authored::ColumnType;
use crate::names::aggregates::arguments;
use crate::names::{Names, bound, types};
use crate::plan::atoms::Atom;
use crate::plan::{Part, Planned};
use crate::sql::build::{call, digit};

/// Part marks, never values, show whether a group has rows. Constants, divisions by zero and values
/// of a single source do not change. Tests for NULL and `coalesce` see the NULL.
pub(crate) fn count_missing(tree: &mut Expr, planned: &Planned<'_>) {
    let mut sides = Sides {
        atoms: &planned.atoms,
        parts: &planned.parts,
        names: planned.names,
        open: Vec::new(),
    };
    if sides.homes(tree).len() < 2 {
        return;
    }
    let flow = ktx_sql::visit_mut(tree, &mut sides);
    debug_assert!(flow.is_continue());
}

const ALL: Range<usize> = 0..usize::MAX;
const NONE: Range<usize> = 0..0;

struct Open {
    is_side: bool,
    beside: Range<usize>,
    next: usize,
}

struct Sides<'a> {
    atoms: &'a [Atom],
    parts: &'a [Part],
    names: Names<'a>,
    open: Vec<Open>,
}

impl Sides<'_> {
    fn homes(&self, tree: &Expr) -> Vec<NodeId> {
        let atoms = bound::atoms(tree);
        let mut homes: Vec<NodeId> = atoms
            .iter()
            .filter_map(|at| self.atoms.get(*at))
            .map(|atom| atom.home)
            .collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    }

    fn kind(&self, tree: &Expr) -> Option<ColumnType> {
        let mut tree = tree.clone();
        let mut numbers = Numbers(self.atoms);
        let flow = ktx_sql::visit_mut(&mut tree, &mut numbers);
        debug_assert!(flow.is_continue());
        types::of(&tree, self.names)
    }

    fn opened(&self, tree: &Expr, is_beside: bool) -> Open {
        let homes = self.homes(tree).len();
        let open = |is_side, beside| Open {
            is_side,
            beside,
            next: 0,
        };
        let joins = homes > 1 && joins(tree, self.names.dialect);
        if !is_beside && !joins {
            return open(false, NONE);
        }
        if homes == 1 && (bound::atom_of(tree).is_some() || is_whole(tree)) {
            match self.kind(tree) {
                Some(ColumnType::Number) => return open(true, NONE),
                Some(ColumnType::String | ColumnType::Time) => return open(false, NONE),
                Some(ColumnType::Boolean) | None => {}
            }
        }
        open(false, counted(tree))
    }

    /// A divisor can be NULL although the source has rows; that NULL stays.
    fn or_zero(&self, side: &Expr) -> Expr {
        let known = if divides(side) {
            side.clone()
        } else {
            call("COALESCE", vec![side.clone(), digit("0")])
        };
        if bound::atom_of(side).is_some() {
            return known;
        }
        let used = bound::atoms(side);
        let parts = self.parts.iter().enumerate();
        let parts = parts.filter(|(_, part)| part.atoms.iter().any(|atom| used.contains(atom)));
        let is_missing = |(at, _)| Expr::IsNull(Box::new(bound::mark(at)));
        let and = |one, other| Expr::BinaryOp {
            left: Box::new(one),
            op: BinaryOperator::And,
            right: Box::new(other),
        };
        let Some(condition) = parts.map(is_missing).reduce(and) else {
            return known;
        };
        Expr::Case {
            case_token: AttachedToken::empty(),
            end_token: AttachedToken::empty(),
            operand: None,
            conditions: vec![CaseWhen {
                condition,
                result: digit("0"),
            }],
            else_result: Some(Box::new(known)),
        }
    }
}

impl VisitorMut for Sides<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        let is_beside = self.open.last_mut().is_some_and(|parent| {
            parent.next += 1;
            parent.beside.contains(&(parent.next - 1))
        });
        let open = self.opened(tree, is_beside);
        self.open.push(open);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        if self.open.pop().is_some_and(|open| open.is_side) {
            *tree = self.or_zero(tree);
        }
        ControlFlow::Continue(())
    }
}

struct Numbers<'a>(&'a [Atom]);

impl VisitorMut for Numbers<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<()> {
        let atom = bound::atom_of(tree).and_then(|at| self.0.get(at));
        match atom.and_then(|atom| atom.kind) {
            Some(ColumnType::Number) => {
                *tree = Expr::value(Value::Number("0".to_owned(), false));
            }
            Some(ColumnType::String) => {
                *tree = Expr::value(Value::Placeholder("''".to_owned()));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// True for trees of [`crate::sql::expression::whole`].
fn is_whole(tree: &Expr) -> bool {
    matches!(tree, Expr::Nested(inner) if matches!(**inner, Expr::Nested(_)))
}

/// Conditions joined by AND and OR are independent.
fn joins(tree: &Expr, dialect: Dialect) -> bool {
    let is_mysql = matches!(dialect, Dialect::MySql | Dialect::MariaDb);
    match tree {
        Expr::BinaryOp {
            op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
            ..
        } => false,
        Expr::BinaryOp {
            op: BinaryOperator::StringConcat,
            ..
        } if is_mysql => false,
        Expr::Function(function) if is_about_null(function) => false,
        tree => {
            let mut operands = Operands { depth: 0, found: 0 };
            let flow = ktx_sql::visit(tree, &mut operands);
            debug_assert!(flow.is_continue());
            operands.found > 1
        }
    }
}

struct Operands {
    depth: usize,
    found: usize,
}

impl Visitor for Operands {
    type Break = ();

    fn pre_visit_expr(&mut self, tree: &Expr) -> ControlFlow<()> {
        self.found += usize::from(self.depth == 1 && !bound::atoms(tree).is_empty());
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

fn is_about_null(function: &Function) -> bool {
    let name = function.name.to_string().to_ascii_lowercase();
    let names = ["coalesce", "ifnull", "nvl", "nvl2", "isnull", "isnotnull"];
    names.contains(&name.as_str())
}

fn counted(tree: &Expr) -> Range<usize> {
    let Expr::Function(function) = tree else {
        let sees_null = match tree {
            Expr::IsNull(_) | Expr::IsNotNull(_) => true,
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                is_null(left) || is_null(right)
            }
            _ => false,
        };
        return if sees_null { NONE } else { ALL };
    };
    let count = arguments(function).len();
    let name = function.name.to_string().to_ascii_lowercase();
    match name.as_str() {
        // Used when all others are NULL.
        "coalesce" | "ifnull" | "nvl" => count.saturating_sub(1)..count,
        "isnull" if count > 1 => count - 1..count,
        "isnull" | "isnotnull" | "zeroifnull" => NONE,
        "nvl2" => 1..usize::MAX,
        // Not defined for 0.
        "ln" | "log" | "log2" | "log10" => NONE,
        "mod" | "fmod" | "pmod" | "div" => 0..1,
        _ => ALL,
    }
}

fn is_null(tree: &Expr) -> bool {
    matches!(tree, Expr::Value(value) if value.value == Value::Null)
}

fn divides(tree: &Expr) -> bool {
    let flow = ktx_sql::visit_expressions(tree, |part| match part {
        Expr::BinaryOp {
            op:
                BinaryOperator::Divide
                | BinaryOperator::Modulo
                | BinaryOperator::MyIntegerDivide
                | BinaryOperator::DuckIntegerDivide,
            ..
        } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    flow.is_break()
}
