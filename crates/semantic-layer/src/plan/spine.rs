//! The spine: all periods between two bounds of the filters on time.

use jiff::civil::{Date, DateTime};
use jiff::{ToSpan as _, Unit};
use sqlparser::ast::{BinaryOperator, Expr, Value};

use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;

/// Maximum filled periods.
const LONGEST: i64 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spine {
    /// A date, with a time of day for shorter periods.
    pub(crate) first: String,
    pub(crate) count: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instants {
    Days,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Unbounded,
    Empty,
    TooLong(i64),
}

impl Problem {
    pub(super) fn error(self, field: &str) -> QueryError {
        match self {
            Self::Unbounded => {
                let message = format!(
                    "`fill` needs the first and the last period: filter `{field}` from a date and to a date, both written out"
                );
                QueryError::new(ErrorKind::UnboundedFill, message)
                    .about(field)
                    .suggest([format!(
                        "{field} >= '2025-01-01' AND {field} < '2026-01-01'"
                    )])
            }
            Self::Empty => {
                let message = format!("the filters on `{field}` leave no period to fill");
                QueryError::new(ErrorKind::UnboundedFill, message).about(field)
            }
            Self::TooLong(count) => {
                let message = format!(
                    "`fill` would make {count} periods of `{field}`, more than {LONGEST}; ask for fewer or longer ones"
                );
                QueryError::new(ErrorKind::FillTooLong, message).about(field)
            }
        }
    }
}

#[derive(Default)]
struct Range {
    first: Option<DateTime>,
    last: Option<DateTime>,
}

impl Range {
    fn from(&mut self, at: DateTime) {
        self.first = Some(self.first.map_or(at, |known| known.max(at)));
    }

    fn to(&mut self, at: DateTime) {
        self.last = Some(self.last.map_or(at, |known| known.min(at)));
    }
}

pub(super) fn between(
    time: &Expr,
    filters: &[&Expr],
    unit: Granularity,
    instants: Instants,
) -> Result<Spine, Problem> {
    let mut range = Range::default();
    for filter in filters {
        read(time, filter, instants, &mut range);
    }
    let (Some(first), Some(last)) = (range.first, range.last) else {
        return Err(Problem::Unbounded);
    };
    let first = start(first, unit).ok_or(Problem::Empty)?;
    let last = start(last, unit).ok_or(Problem::Empty)?;
    let count = steps(first, last, unit) + 1;
    match count {
        ..=0 => Err(Problem::Empty),
        1..=LONGEST => Ok(Spine {
            first: if unit <= Granularity::Day {
                first.date().to_string()
            } else {
                first.strftime("%Y-%m-%d %H:%M:%S").to_string()
            },
            count,
        }),
        _ => Err(Problem::TooLong(count)),
    }
}

fn read(time: &Expr, filter: &Expr, instants: Instants, range: &mut Range) {
    match filter {
        Expr::Nested(inner) => read(time, inner, instants, range),
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } if is_same(time, expr) && !is_symmetric(low) => {
            if let Some(low) = instant(low) {
                range.from(low);
            }
            if let Some(high) = instant(high) {
                range.to(high);
            }
        }
        Expr::BinaryOp { left, op, right } => {
            let found = if is_same(time, left) {
                instant(right).map(|at| (op.clone(), at))
            } else if is_same(time, right) {
                instant(left).map(|at| (turned(op), at))
            } else {
                None
            };
            if let Some((op, at)) = found {
                compared(&op, at, instants, range);
            }
        }
        _ => {}
    }
}

/// `BETWEEN SYMMETRIC` takes its bounds in any order.
fn is_symmetric(low: &Expr) -> bool {
    matches!(low, Expr::Prefixed { .. })
}

fn compared(op: &BinaryOperator, at: DateTime, instants: Instants, range: &mut Range) {
    match op {
        BinaryOperator::GtEq => range.from(at),
        BinaryOperator::LtEq => range.to(at),
        BinaryOperator::Eq => {
            range.from(at);
            range.to(at);
        }
        BinaryOperator::Gt => {
            // After a date comes the next day; a later time can be in the same period.
            let next = match instants {
                Instants::Days => at.checked_add(1.day()).unwrap_or(at),
                Instants::Any => at,
            };
            range.from(next);
        }
        BinaryOperator::Lt => range.to(at.checked_sub(1.microsecond()).unwrap_or(at)),
        _ => {}
    }
}

fn turned(op: &BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        op => op.clone(),
    }
}

fn unwrapped(tree: &Expr) -> &Expr {
    match tree {
        Expr::Nested(inner) => unwrapped(inner),
        tree => tree,
    }
}

fn is_same(time: &Expr, tree: &Expr) -> bool {
    unwrapped(time) == unwrapped(tree)
}

/// Without a UTC offset.
fn instant(tree: &Expr) -> Option<DateTime> {
    let text = match tree {
        Expr::Nested(inner) => return instant(inner),
        Expr::Cast { expr, .. } => return instant(expr),
        Expr::TypedString(typed) => &typed.value.value,
        Expr::Value(value) => &value.value,
        _ => return None,
    };
    // Quoted, with a leading `N` for SQL Server.
    let (Value::Placeholder(text) | Value::SingleQuotedString(text)) = text else {
        return None;
    };
    let text = text.trim_start_matches('N').trim_matches('\'').trim();
    let date: Option<Date> = text.parse().ok().filter(|_| text.len() <= 10);
    match date {
        Some(date) => Some(date.at(0, 0, 0, 0)),
        None => text.parse().ok(),
    }
}

/// Weeks start on Monday.
fn start(at: DateTime, unit: Granularity) -> Option<DateTime> {
    let date = at.date();
    let midnight = |date: Date| date.at(0, 0, 0, 0);
    let cut = |date: Result<Date, jiff::Error>| date.ok().map(midnight);
    match unit {
        Granularity::Year => cut(Date::new(date.year(), 1, 1)),
        Granularity::Quarter => cut(Date::new(date.year(), (date.month() - 1) / 3 * 3 + 1, 1)),
        Granularity::Month => cut(Date::new(date.year(), date.month(), 1)),
        Granularity::Week => {
            let back = i64::from(date.weekday().to_monday_zero_offset());
            cut(date.checked_sub(back.days()))
        }
        Granularity::Day => Some(midnight(date)),
        Granularity::Hour => Some(date.at(at.hour(), 0, 0, 0)),
        Granularity::Minute => Some(date.at(at.hour(), at.minute(), 0, 0)),
    }
}

fn steps(first: DateTime, last: DateTime, unit: Granularity) -> i64 {
    let months = |at: DateTime| i64::from(at.year()) * 12 + i64::from(at.month());
    let apart = |unit: Unit| {
        first.until((unit, last)).map_or(0, |span| match unit {
            Unit::Day => i64::from(span.get_days()),
            _ => span.get_minutes(),
        })
    };
    match unit {
        Granularity::Year => (months(last) - months(first)) / 12,
        Granularity::Quarter => (months(last) - months(first)) / 3,
        Granularity::Month => months(last) - months(first),
        Granularity::Week => apart(Unit::Day) / 7,
        Granularity::Day => apart(Unit::Day),
        Granularity::Hour => apart(Unit::Minute) / 60,
        Granularity::Minute => apart(Unit::Minute),
    }
}

#[cfg(test)]
mod tests;
