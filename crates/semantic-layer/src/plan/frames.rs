//! Frames: the rows of an atom, relative to the period of its group.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, VisitMut, VisitorMut};

use super::atoms::Atom;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::names::bound;

/// The rows of an atom, relative to the period of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Frame {
    pub(crate) span: Span,
    /// The distance between the end of the span and the period, in units.
    pub(crate) earlier: Option<(u32, Granularity)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Span {
    /// The rows of the group that pass every filter.
    #[default]
    Filtered,
    /// The whole period, regardless of filters on the time dimension.
    Whole,
    ToDate(Granularity),
    Last(u32, Granularity),
    /// All periods up to this one.
    Unbounded,
}

impl Frame {
    pub(crate) fn is_plain(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn units(self) -> impl Iterator<Item = Granularity> {
        let span = match self.span {
            Span::ToDate(unit) | Span::Last(_, unit) => Some(unit),
            Span::Filtered | Span::Whole | Span::Unbounded => None,
        };
        span.into_iter().chain(self.earlier.map(|(_, unit)| unit))
    }

    pub(crate) fn words(self) -> String {
        let span = match self.span {
            Span::Filtered | Span::Whole => None,
            Span::Unbounded => Some("over all periods up to this one".to_owned()),
            Span::Last(count, unit) => Some(format!("over the last {}", counted(count, unit))),
            Span::ToDate(unit) => Some(format!("over the {} to date", unit.name())),
        };
        let earlier = self
            .earlier
            .map(|(count, unit)| format!("{} earlier", counted(count, unit)));
        match (span, earlier) {
            (None, None) if self.is_plain() => String::new(),
            (None, None) => "over whole periods".to_owned(),
            (Some(words), None) | (None, Some(words)) => words,
            (Some(span), Some(earlier)) => format!("{span}, {earlier}"),
        }
    }
}

fn counted(count: u32, unit: Granularity) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {}{plural}", unit.name())
}

pub(super) fn replace_atoms(
    tree: &mut Expr,
    change: &mut dyn FnMut(usize) -> Result<usize, QueryError>,
) -> Result<(), QueryError> {
    match VisitMut::visit(tree, &mut Replacing { change }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Replacing<'a> {
    change: &'a mut dyn FnMut(usize) -> Result<usize, QueryError>,
}

impl VisitorMut for Replacing<'_> {
    type Break = QueryError;

    fn post_visit_expr(&mut self, tree: &mut Expr) -> ControlFlow<QueryError> {
        if let Some(number) = bound::atom_of(tree) {
            match (self.change)(number) {
                Ok(number) => *tree = bound::atom(number),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn place(atoms: &mut Vec<Atom>, atom: Atom) -> usize {
    atoms
        .iter()
        .position(|known| *known == atom)
        .unwrap_or_else(|| {
            atoms.push(atom);
            atoms.len() - 1
        })
}

pub(super) fn windowed(frame: Frame, span: Span) -> Result<Frame, QueryError> {
    if frame.is_plain() {
        return Ok(Frame {
            span,
            earlier: None,
        });
    }
    Err(nested("a window"))
}

pub(super) fn earlier(frame: Frame, count: u32, unit: Granularity) -> Result<Frame, QueryError> {
    if frame.earlier.is_some() {
        return Err(nested("a comparison"));
    }
    Ok(Frame {
        earlier: Some((count, unit)),
        ..whole(frame)
    })
}

pub(super) fn whole(frame: Frame) -> Frame {
    match frame.span {
        Span::Filtered => Frame {
            span: Span::Whole,
            ..frame
        },
        _ => frame,
    }
}

fn nested(what: &str) -> QueryError {
    let message = format!("{what} cannot go over a measure that looks at other periods itself");
    QueryError::new(ErrorKind::BadWindow, message)
}

/// Removes unused atoms and merges equal ones, keeping their order. A whole period is the group's
/// own rows unless a filter cuts periods.
pub(super) fn settle(
    atoms: Vec<Atom>,
    trees: Vec<&mut Expr>,
    cut: Periods,
) -> Result<Vec<Atom>, QueryError> {
    let mut used: Vec<usize> = trees.iter().flat_map(|tree| bound::atoms(tree)).collect();
    used.sort_unstable();
    let mut kept: Vec<Atom> = Vec::new();
    let mut numbers: Vec<Option<usize>> = Vec::new();
    for (number, mut atom) in atoms.into_iter().enumerate() {
        let is_whole = atom.frame.span == Span::Whole && atom.frame.earlier.is_none();
        if is_whole && cut == Periods::Whole {
            atom.frame = Frame::default();
        }
        let is_used = used.binary_search(&number).is_ok();
        numbers.push(is_used.then(|| place(&mut kept, atom)));
    }
    for tree in trees {
        replace_atoms(tree, &mut |number| {
            let lost = || QueryError::new(ErrorKind::InvalidQuery, "an aggregate was lost");
            numbers.get(number).copied().flatten().ok_or_else(lost)
        })?;
    }
    Ok(kept)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Periods {
    Whole,
    Cut,
}
