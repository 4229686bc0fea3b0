//! Frames: the rows of an atom, relative to the period of its group.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, VisitorMut};

use super::atoms::Atom;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::names::bound;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Frame {
    pub(crate) span: Span,
    pub(crate) shifts: Shifts,
}

/// Maximum nested comparisons.
const MOST_SHIFTS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Shifts([Option<Shift>; MOST_SHIFTS]);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shift {
    /// Units earlier.
    Back(u32, Granularity),
    /// To the first period of the containing unit.
    ToStart(Granularity),
}

impl Shift {
    const fn unit(self) -> Granularity {
        match self {
            Self::Back(_, unit) | Self::ToStart(unit) => unit,
        }
    }
}

impl Shifts {
    pub(crate) fn is_empty(self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Shift> {
        self.0.into_iter().flatten()
    }

    /// Prepends a move; `None` if there are too many.
    fn after(self, first: Shift) -> Option<Self> {
        let mut all = [None; MOST_SHIFTS];
        let moves = std::iter::once(first).chain(self.iter());
        let mut moves = moves.fuse();
        for place in &mut all {
            *place = moves.next();
        }
        moves.next().is_none().then_some(Self(all))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Periods,
    /// By days: the frame ends with the last day of each period.
    Days,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Span {
    #[default]
    Filtered,
    /// The whole period, without filters on time.
    Whole,
    ToDate(Granularity),
    Last(u32, Granularity),
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
        span.into_iter().chain(self.shifts.iter().map(Shift::unit))
    }

    /// `None` if the frame does not begin and end with periods or days of this unit.
    pub(crate) fn reading(self, unit: Granularity) -> Option<Reading> {
        if self.units().all(|longer| unit.divides(longer)) {
            return Some(Reading::Periods);
        }
        // Months cannot move the end of a week.
        let is_movable = |longer: Granularity| {
            longer <= Granularity::Day && (unit != Granularity::Week || longer >= Granularity::Week)
        };
        let has_start = self
            .shifts
            .iter()
            .any(|shift| matches!(shift, Shift::ToStart(_)));
        let is_by_days = unit < Granularity::Day && !has_start && self.units().all(is_movable);
        is_by_days.then_some(Reading::Days)
    }

    pub(crate) fn words(self) -> String {
        let span = match self.span {
            Span::Filtered | Span::Whole => None,
            Span::Unbounded => Some("over all periods up to this one".to_owned()),
            Span::Last(count, unit) => Some(format!("over the last {}", counted(count, unit))),
            Span::ToDate(unit) => Some(format!("over the {} to date", unit.name())),
        };
        let shifts = self.shifts.iter().map(|shift| match shift {
            Shift::Back(count, unit) => format!("{} earlier", counted(count, unit)),
            Shift::ToStart(unit) => format!("at the start of the {}", unit.name()),
        });
        let words: Vec<String> = span.into_iter().chain(shifts).collect();
        if words.is_empty() && !self.is_plain() {
            return "over whole periods".to_owned();
        }
        words.join(", ")
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
    match ktx_sql::visit_mut(tree, &mut Replacing { change }) {
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
            shifts: Shifts::default(),
        });
    }
    Err(nested("a window"))
}

pub(super) fn moved(frame: Frame, shift: Shift) -> Result<Frame, QueryError> {
    let Some(shifts) = frame.shifts.after(shift) else {
        let message = format!("comparisons of comparisons go {MOST_SHIFTS} deep at most");
        return Err(QueryError::new(ErrorKind::BadWindow, message));
    };
    Ok(Frame {
        shifts,
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

/// A whole period is the group's own rows unless a filter cuts periods.
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
        let is_whole = atom.frame.span == Span::Whole && atom.frame.shifts.is_empty();
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
