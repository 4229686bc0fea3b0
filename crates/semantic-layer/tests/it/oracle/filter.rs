//! Predicates of random questions, and the rows that pass them.

use super::calendar::At;
use super::measures::{Measure, real};
use super::world::{Cell, Row};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    From,
    After,
    Before,
    To,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Text(usize, &'static str),
    Above(usize, i64),
    Time(usize, Comparison, i64),
    /// At or after a day, or the text is `a`.
    TimeOrText(usize, i64),
    /// No text at the first node, or the second's number is larger. NULL for unreached nodes.
    NoTextOr(usize, usize, i64),
    /// A row without a text, by a computed column.
    Lacks(usize),
    NotText(usize, &'static str),
    Flag(usize, bool),
    Key(usize, usize, Cell),
    MeasureAbove(usize, Measure, i64),
    EitherAbove(usize, usize, i64),
}

impl Filter {
    pub(super) fn nodes(self) -> Vec<usize> {
        match self {
            Self::Text(node, _)
            | Self::Lacks(node)
            | Self::NotText(node, _)
            | Self::Flag(node, _)
            | Self::Key(node, ..)
            | Self::Above(node, _)
            | Self::Time(node, ..)
            | Self::TimeOrText(node, _) => vec![node],
            Self::NoTextOr(one, other, _) => vec![one, other],
            Self::MeasureAbove(..) | Self::EitherAbove(..) => Vec::new(),
        }
    }

    pub(super) fn passes(self, seen: Option<&Row>, other: Option<&Row>) -> bool {
        match self {
            Self::Text(_, text) => seen.and_then(|row| row.text) == Some(text),
            Self::Above(_, number) => seen
                .and_then(|row| row.number)
                .is_some_and(|own| own > real(number)),
            Self::Time(_, comparison, day) => seen.and_then(|row| row.at).is_some_and(|at| {
                let day = At { day, minute: None };
                match comparison {
                    Comparison::From => at >= day,
                    Comparison::After => at > day,
                    Comparison::Before => at < day,
                    Comparison::To => at <= day,
                }
            }),
            Self::TimeOrText(node, day) => {
                Self::Time(node, Comparison::From, day).passes(seen, None)
                    || Self::Text(node, "a").passes(seen, None)
            }
            Self::Flag(_, flag) => seen.and_then(|row| row.flag) == Some(flag),
            Self::Key(_, column, cell) => seen.is_some_and(|row| row.cells[column] == Some(cell)),
            Self::Lacks(_) => seen.is_some_and(|row| row.text.is_none()),
            Self::NotText(_, text) => seen.and_then(|row| row.text).is_some_and(|own| own != text),
            Self::NoTextOr(_, node, number) => {
                seen.and_then(|row| row.text).is_none()
                    || Self::Above(node, number).passes(other, None)
            }
            Self::MeasureAbove(..) | Self::EitherAbove(..) => true,
        }
    }

    pub(super) fn moved(self, place: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Text(node, text) => Self::Text(place(node), text),
            Self::NotText(node, text) => Self::NotText(place(node), text),
            Self::Lacks(node) => Self::Lacks(place(node)),
            Self::Flag(node, flag) => Self::Flag(place(node), flag),
            Self::Key(node, column, cell) => Self::Key(place(node), column, cell),
            Self::Above(node, number) => Self::Above(place(node), number),
            Self::Time(node, sign, day) => Self::Time(place(node), sign, day),
            Self::TimeOrText(node, day) => Self::TimeOrText(place(node), day),
            Self::NoTextOr(one, other, number) => Self::NoTextOr(place(one), place(other), number),
            Self::MeasureAbove(table, measure, number) => {
                Self::MeasureAbove(place(table), measure, number)
            }
            Self::EitherAbove(one, other, number) => {
                Self::EitherAbove(place(one), place(other), number)
            }
        }
    }
}
