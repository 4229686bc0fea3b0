//! Ratios, windows, comparisons, snapshots.

use sqlparser::ast::{BinaryOperator, Expr};

use super::atoms::{Evaluator, InSource};
use super::frames::{self, Frame, Shift, Span};
use super::group_functions;
use crate::catalog::graph::NodeId;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::formula::{Comparison, Formula, Moment, Offset, Window};
use crate::names::aggregates::{self, Call};
use crate::names::{MeasureAt, Scope, bound};
use crate::sql::expression::{nested, whole};
use crate::sql::sql_text::table_parts;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SnapshotTrees {
    pub(crate) moment: Expr,
    pub(crate) at: Moment,
    /// Each combination has its own moment.
    pub(crate) per: Vec<Expr>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn formula(
        &mut self,
        at: MeasureAt<'a>,
        filters: Vec<Expr>,
    ) -> Result<Expr, QueryError> {
        match &at.measure.formula {
            Formula::Expression => {
                let snapshot = self.snapshot(at)?;
                let own = self.names.source(at.node)?;
                let tree = self.names.parse(&at.measure.expr, Some(own))?;
                self.in_source(tree, at, filters, snapshot)
            }
            Formula::Ratio {
                numerator,
                denominator,
            } => {
                let left = self.operand(at, numerator, &filters)?;
                let right = self.operand(at, denominator, &filters)?;
                Ok(binary(left, BinaryOperator::Divide, right))
            }
            Formula::Cumulative { measure, window } => {
                let span = match window {
                    Window::Unbounded => Span::Unbounded,
                    Window::Last { count, unit } => Span::Last(*count, *unit),
                    Window::ToDate(unit) => Span::ToDate(*unit),
                };
                let tree = self.operand(at, measure, &filters)?;
                self.framed(tree, &|frame| frames::windowed(frame, span))
            }
            Formula::Compare {
                measure,
                offset,
                answer,
            } => {
                let shift = match offset {
                    Offset::Units { count, unit } => Shift::Back(*count, *unit),
                    Offset::ToStart(unit) => Shift::ToStart(*unit),
                };
                let tree = self.operand(at, measure, &filters)?;
                let before = self.framed(tree.clone(), &|frame| frames::moved(frame, shift))?;
                let operator = match answer {
                    Comparison::Value => return Ok(before),
                    Comparison::Difference => BinaryOperator::Minus,
                    Comparison::Ratio => BinaryOperator::Divide,
                };
                let now = self.framed(tree, &|frame| Ok(frames::whole(frame)))?;
                Ok(binary(now, operator, before))
            }
        }
    }

    fn in_source(
        &mut self,
        tree: Expr,
        at: MeasureAt<'a>,
        filters: Vec<Expr>,
        snapshot: Option<SnapshotTrees>,
    ) -> Result<Expr, QueryError> {
        let dialect = self.names.dialect;
        group_functions::refuse(&tree)?;
        let mut meaning = InSource {
            evaluator: self,
            at,
            filters,
            snapshot,
        };
        let tree = bound::bind(tree, dialect, &mut meaning)?;
        self.settled(tree)
    }

    fn operand(
        &mut self,
        at: MeasureAt<'a>,
        text: &str,
        filters: &[Expr],
    ) -> Result<Expr, QueryError> {
        let source = self.names.source(at.node)?;
        let parts = table_parts(text);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let own = match parts.as_slice() {
            _ if source.measure(text.trim()).is_some() => source.measure(text.trim()),
            [name] => source.measure(name),
            [front @ .., name] if front.join(".") == source.name => source.measure(name),
            _ => None,
        };
        let found = match own {
            Some(measure) => Some(MeasureAt {
                node: at.node,
                measure,
            }),
            None if parts.len() > 1 => self.names.known_measure(&parts),
            None => None,
        };
        if let Some(found) = found {
            return self.predefined(found, filters);
        }
        let tree = self.names.parse(text, Some(source))?;
        self.in_source(tree, at, filters.to_vec(), None).map(whole)
    }

    pub(super) fn framed(
        &mut self,
        mut tree: Expr,
        change: &dyn Fn(Frame) -> Result<Frame, QueryError>,
    ) -> Result<Expr, QueryError> {
        let atoms = &mut self.atoms;
        frames::replace_atoms(&mut tree, &mut |number| {
            let Some(mut atom) = atoms.get(number).cloned() else {
                return Err(QueryError::new(
                    ErrorKind::InvalidQuery,
                    "an aggregate was lost",
                ));
            };
            atom.frame = change(atom.frame)?;
            Ok(frames::place(atoms, atom))
        })?;
        Ok(tree)
    }

    pub(super) fn check_snapshot(
        &mut self,
        call: &Call,
        home: NodeId,
        snapshot: &SnapshotTrees,
    ) -> Result<(), QueryError> {
        let is_possible = match call {
            Call::Rows => true,
            Call::Percentile { .. } => false,
            Call::Function(function) => {
                function.within_group.is_empty() && aggregates::arguments(function).len() == 1
            }
        };
        if !is_possible {
            let message =
                "`semi_additive` goes with counts and aggregates of one value, such as `sum`";
            return Err(QueryError::new(ErrorKind::BadSnapshot, message));
        }
        for tree in std::iter::once(&snapshot.moment).chain(&snapshot.per) {
            for node in bound::nodes(tree) {
                self.reachable_filter(home, node, "`semi_additive`")?;
            }
        }
        Ok(())
    }

    fn snapshot(&self, at: MeasureAt<'a>) -> Result<Option<SnapshotTrees>, QueryError> {
        let Some(snapshot) = &at.measure.snapshot else {
            return Ok(None);
        };
        let source = self.names.source(at.node)?;
        let column = |text: &str| {
            let parts = table_parts(text);
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            self.names.column(&parts, Scope::Source(at.node))
        };
        let per: Vec<&str> = if let Some(per) = &snapshot.per {
            per.iter().map(String::as_str).collect()
        } else {
            let is_moment = |entry: &&String| entry.eq_ignore_ascii_case(&snapshot.dimension);
            if !source.grain.iter().any(|entry| is_moment(&entry)) {
                let message = format!(
                    "`{}` is not in the grain of `{}`: `semi_additive` needs `per`, the columns that have a balance each",
                    snapshot.dimension, source.name
                );
                return Err(QueryError::new(ErrorKind::BadSnapshot, message)
                    .about(snapshot.dimension.as_str()));
            }
            let rest = source.grain.iter().filter(|entry| !is_moment(entry));
            rest.map(String::as_str).collect()
        };
        Ok(Some(SnapshotTrees {
            moment: column(&snapshot.dimension)?,
            at: snapshot.at,
            per: per.into_iter().map(column).collect::<Result<_, _>>()?,
        }))
    }
}

pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(nested(left)),
        op,
        right: Box::new(nested(right)),
    }
}
