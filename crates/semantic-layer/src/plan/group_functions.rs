//! Functions that compare the groups of an answer, such as `share` and `rank`.
//!
//! Each call becomes a marker, which the outer SELECT writes as a window function; functions over
//! periods become frames.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, VisitorMut,
};

use super::atoms::{Atom, Evaluator};
use super::formulas::binary;
use super::frames::{self, Shift};
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::names::aggregates::{self, Call};
use crate::names::bound;
use crate::names::constants::is_overall;
use crate::sql::expression::{nested, reference};

/// Starts a marker's name; no parsed name contains it.
const CALL: char = '\u{5}';

pub(crate) const NAMES: [&str; 9] = [
    "share",
    "rank",
    "running_total",
    "previous",
    "change",
    "growth",
    "previous_row",
    "row_change",
    "row_growth",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupWindow {
    pub(crate) function: WindowFunction,
    /// Groups are compared within their values.
    pub(crate) within: Vec<usize>,
    pub(crate) along: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowFunction {
    Share,
    Rank,
    RunningTotal,
    PreviousRow,
}

impl WindowFunction {
    pub(super) const fn adds(self) -> bool {
        matches!(self, Self::Share | Self::RunningTotal)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Previous,
    Change,
    Growth,
}

pub(super) fn is_group_function(call: &Function) -> bool {
    let name = aggregates::name_of(call).to_ascii_lowercase();
    call.over.is_none() && call.within_group.is_empty() && NAMES.contains(&name.as_str())
}

pub(super) fn is_marker(call: &Function) -> bool {
    let name = call.name.0.first().and_then(ObjectNamePart::as_ident);
    name.is_some_and(|name| name.value.starts_with(CALL))
}

pub(crate) fn window_of(tree: &Expr) -> Option<(usize, &Expr)> {
    let Expr::Function(call) = tree else {
        return None;
    };
    let name = call.name.0.first()?.as_ident()?;
    let number = name.value.strip_prefix(CALL)?.parse().ok()?;
    Some((number, only_argument(call)?))
}

fn only_argument(call: &Function) -> Option<&Expr> {
    match aggregates::arguments(call).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

pub(crate) fn has_window(tree: &Expr) -> bool {
    let flow = ktx_sql::visit_expressions(tree, |part| match window_of(part) {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    });
    flow.is_break()
}

/// A source's measures do not know their groups.
pub(super) fn refuse(tree: &Expr) -> Result<(), QueryError> {
    let flow = ktx_sql::visit_expressions(tree, |part| match part {
        Expr::Function(call) if is_group_function(call) || is_overall(call) => {
            ControlFlow::Break(call.to_string())
        }
        _ => ControlFlow::Continue(()),
    });
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(call) => {
            let message =
                format!("`{call}` is about the groups of an answer: it goes into a query");
            Err(QueryError::new(ErrorKind::WindowFunction, message).about(call))
        }
    }
}

impl Evaluator<'_> {
    pub(super) fn mark_group_functions(&mut self, tree: &mut Expr) -> Result<(), QueryError> {
        let mut marking = Marking {
            evaluator: self,
            depth: 0,
        };
        match ktx_sql::visit_mut(tree, &mut marking) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    pub(super) fn settle_group_functions(&mut self, tree: &mut Expr) -> Result<(), QueryError> {
        let mut settling = Settling { evaluator: self };
        match ktx_sql::visit_mut(tree, &mut settling) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn marked(&mut self, call: &Function) -> Result<Expr, QueryError> {
        let name = aggregates::name_of(call).to_ascii_lowercase();
        let FunctionArguments::List(list) = &call.args else {
            return Err(malformed(&name));
        };
        let mut arguments = list.args.iter().map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => Ok(tree),
            _ => Err(malformed(&name)),
        });
        let measure = arguments.next().ok_or_else(|| malformed(&name))??.clone();
        let within: Vec<usize> = arguments
            .map(|argument| self.dimension(argument?, &name))
            .collect::<Result<_, _>>()?;
        let function = match name.as_str() {
            "share" => WindowFunction::Share,
            "rank" => WindowFunction::Rank,
            "running_total" => WindowFunction::RunningTotal,
            "previous_row" | "row_change" | "row_growth" => WindowFunction::PreviousRow,
            _ if within.is_empty() => return Ok(marker(&name, measure)),
            _ => return Err(malformed(&name)),
        };
        let (within, along) = match function {
            WindowFunction::RunningTotal | WindowFunction::PreviousRow if within.is_empty() => {
                let along = self.only_time(&name)?;
                let others = (0..self.dimensions.len()).filter(|at| *at != along);
                (others.collect(), Some(along))
            }
            WindowFunction::RunningTotal | WindowFunction::PreviousRow => {
                return Err(malformed(&name));
            }
            WindowFunction::Share | WindowFunction::Rank => (within, None),
        };
        let window = GroupWindow {
            function,
            within,
            along,
        };
        let known = self.windows.iter().position(|known| *known == window);
        let number = known.unwrap_or(self.windows.len());
        if known.is_none() {
            self.windows.push(window);
        }
        let found = marker(&number.to_string(), measure.clone());
        let change = |found| nested(binary(measure, BinaryOperator::Minus, found));
        Ok(match name.as_str() {
            "row_change" => change(found),
            "row_growth" => nested(binary(change(found.clone()), BinaryOperator::Divide, found)),
            _ => found,
        })
    }

    fn dimension(&self, tree: &Expr, function: &str) -> Result<usize, QueryError> {
        let shown = tree.to_string();
        let parts = reference(tree).unwrap_or_default();
        let wanted = parts.join(".");
        let mut found = self
            .dimensions
            .iter()
            .enumerate()
            .filter(|(_, dimension)| dimension.is_called(self.names, &wanted));
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (first, _) => {
                let known = self.dimensions.iter().map(|one| one.reference.clone());
                let message = match first {
                    None => {
                        format!(
                            "`{function}` names `{shown}`, which is not a dimension of the query"
                        )
                    }
                    Some(_) => format!("`{function}` names `{shown}`, which two dimensions show"),
                };
                Err(QueryError::new(ErrorKind::NotADimension, message)
                    .about(shown)
                    .suggest(known))
            }
        }
    }

    fn only_time(&self, function: &str) -> Result<usize, QueryError> {
        let mut times = self
            .dimensions
            .iter()
            .enumerate()
            .filter(|(_, dimension)| dimension.unit.is_some());
        match (times.next(), times.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => {
                let message = format!(
                    "`{function}` goes along a time dimension, and the query has none with a granularity"
                );
                Err(QueryError::new(ErrorKind::NoTimeDimension, message).about(function))
            }
            (Some((_, one)), Some((_, other))) => {
                let message = format!(
                    "`{function}` goes along one time dimension, and the query has two: `{}` and `{}`",
                    one.reference, other.reference
                );
                Err(QueryError::new(ErrorKind::AmbiguousTimeDimension, message).about(function))
            }
        }
    }

    fn beside(&mut self, beside: Beside, measure: Expr) -> Result<Expr, QueryError> {
        let units = self.dimensions.iter().filter_map(|one| one.unit);
        let unit = units.min().unwrap_or(Granularity::Month);
        let before = self.framed(measure.clone(), &|frame| {
            frames::moved(frame, Shift::Back(1, unit))
        })?;
        if beside == Beside::Previous {
            return Ok(before);
        }
        let now = self.framed(measure, &|frame| Ok(frames::whole(frame)))?;
        let change = binary(now, BinaryOperator::Minus, before.clone());
        Ok(match beside {
            Beside::Growth => nested(binary(change, BinaryOperator::Divide, before)),
            Beside::Previous | Beside::Change => nested(change),
        })
    }

    fn check_window(&self, number: usize, measure: &Expr) -> Result<(), QueryError> {
        let Some(window) = self.windows.get(number) else {
            return Ok(());
        };
        let name = match window.function {
            WindowFunction::Share => "share",
            WindowFunction::Rank => "rank",
            WindowFunction::RunningTotal => "running_total",
            WindowFunction::PreviousRow => "previous_row",
        };
        if has_window(measure) {
            let message = format!("`{name}` cannot go over another function of this kind");
            return Err(QueryError::new(ErrorKind::WindowFunction, message).about(name));
        }
        if bound::atoms(measure).is_empty() {
            let message = format!("`{name}` compares the values of a measure, and none is given");
            return Err(QueryError::new(ErrorKind::NotAMeasure, message).about(name));
        }
        if window.function.adds() && !self.adds_up(measure) {
            let message = format!(
                "`{name}` adds up the groups of the answer, and these values do not add up to a total: it goes with \
                 counts and sums, and with their sums and differences"
            );
            return Err(QueryError::new(ErrorKind::NotAdditive, message).about(name));
        }
        Ok(())
    }

    /// True if groups add up to the value of all rows.
    fn adds_up(&self, tree: &Expr) -> bool {
        match tree {
            Expr::Nested(inner) => self.adds_up(inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus,
                right,
            } => self.adds_up(left) && self.adds_up(right),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Multiply | BinaryOperator::Divide,
                right,
            } if matches!(**right, Expr::Value(_)) => self.adds_up(left),
            tree => bound::atom_of(tree)
                .and_then(|at| self.atoms.get(at))
                .is_some_and(is_additive),
        }
    }
}

fn is_additive(atom: &Atom) -> bool {
    let is_sum = match &atom.call {
        Call::Rows => true,
        Call::Percentile { .. } => false,
        Call::Function(function) => {
            let name = aggregates::name_of(function).to_ascii_lowercase();
            ["sum", "count"].contains(&name.as_str()) && !aggregates::is_distinct(function)
        }
    };
    is_sum && atom.frame.is_plain() && atom.snapshot.is_none()
}

fn malformed(name: &str) -> QueryError {
    let usage = match name {
        "share" | "rank" => {
            format!(
                "`{name}(measure)`, or `{name}(measure, dimension)` within each value of a dimension"
            )
        }
        _ => format!("`{name}(measure)`"),
    };
    let message = format!("`{name}` is written {usage}");
    QueryError::new(ErrorKind::InvalidQuery, message).about(name)
}

fn marker(name: &str, measure: Expr) -> Expr {
    let call = crate::sql::build::call("marker", vec![measure]);
    match call {
        Expr::Function(mut function) => {
            function.name = ObjectName::from(vec![Ident::new(format!("{CALL}{name}"))]);
            Expr::Function(function)
        }
        other => other,
    }
}

struct Marking<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    /// Number of open aggregates: within one, a name is a function of rows.
    depth: usize,
}

impl VisitorMut for Marking<'_, '_> {
    type Break = QueryError;

    fn pre_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        self.depth += usize::from(is_aggregate(tree));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        self.depth -= usize::from(is_aggregate(tree));
        if let Expr::Function(call) = tree
            && self.depth == 0
            && is_group_function(call)
        {
            match self.evaluator.marked(call) {
                Ok(marked) => *tree = marked,
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_aggregate(tree: &Expr) -> bool {
    matches!(tree, Expr::Function(call) if aggregates::is_aggregate(call))
}

struct Settling<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
}

impl VisitorMut for Settling<'_, '_> {
    type Break = QueryError;

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        if let Some((number, measure)) = window_of(tree) {
            return match self.evaluator.check_window(number, measure) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            };
        }
        let Some((beside, measure)) = beside_of(tree) else {
            return ControlFlow::Continue(());
        };
        match self.evaluator.beside(beside, measure.clone()) {
            Ok(written) => *tree = written,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

fn beside_of(tree: &Expr) -> Option<(Beside, &Expr)> {
    let Expr::Function(call) = tree else {
        return None;
    };
    let name = call.name.0.first()?.as_ident()?;
    let beside = match name.value.strip_prefix(CALL)? {
        "previous" => Beside::Previous,
        "change" => Beside::Change,
        "growth" => Beside::Growth,
        _ => return None,
    };
    Some((beside, only_argument(call)?))
}
