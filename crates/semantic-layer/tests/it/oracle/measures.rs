//! The measures of every table of a random model, as YAML and by brute force.

use std::collections::{BTreeMap, BTreeSet};

use super::calendar::{self, At, Start, Unit};
use super::world::Row;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Count,
    Total,
    Kinds,
    Top,
    OnlyA,
    Mean,
    Share,
    Large,
    SumOfA,
    Middle,
    Flagged,
    Average,
    Lowest,
    /// The interpolated 90th percentile.
    High,
    /// Distinct numbers of rows with the text `a`.
    KindsOfA,
    Halves,
    /// Twice the sum over flagged rows.
    Twice,
    /// Half of (large rows minus four): not NULL or 0 over no rows.
    Score,
    /// Ten minus the flagged rows.
    Left,
    /// The sum at the last moment of each text.
    Balance,
    /// The sum at the first moment.
    Opening,
}

/// The periods that count, relative to the group's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Own,
    All,
    Last(i64, Unit),
    ToDate(Unit),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Formula {
    Of(Base),
    Over(Base, Span),
    Earlier(Base, Span, i64, Unit),
    Change(Base, i64, Unit),
    Growth(Base, i64, Unit),
    /// The value of the first period of a unit.
    AtStart(Base, Unit),
    /// Shifted twice, the second distance first.
    Twice(Base, [(i64, Unit); 2]),
}

/// An index into [`MEASURES`].
pub(super) type Measure = usize;

pub(super) const COUNT: Measure = 0;
pub(super) const TOTAL: Measure = 1;
/// Measures that need no time dimension.
pub(super) const PLAIN: usize = 21;

pub(super) const MEASURES: [(&str, &str, Formula); 46] = [
    ("cnt", "expr: count(*)", Formula::Of(Base::Count)),
    ("total", "expr: sum(num)", Formula::Of(Base::Total)),
    (
        "kinds",
        "expr: count(distinct txt)",
        Formula::Of(Base::Kinds),
    ),
    ("top", "expr: max(num)", Formula::Of(Base::Top)),
    (
        "only_a",
        "expr: sum(num), filter: txt = 'a'",
        Formula::Of(Base::OnlyA),
    ),
    ("mean", "expr: total / cnt", Formula::Of(Base::Mean)),
    (
        "share",
        "ratio: {numerator: only_a, denominator: total}",
        Formula::Of(Base::Share),
    ),
    ("large", "expr: count_if(num > 2)", Formula::Of(Base::Large)),
    (
        "sum_of_a",
        "expr: \"sum_if(num, txt = 'a')\"",
        Formula::Of(Base::SumOfA),
    ),
    ("middle", "expr: median(num)", Formula::Of(Base::Middle)),
    (
        "balance",
        "expr: sum(num), semi_additive: {dimension: at, at: last, per: [txt]}",
        Formula::Of(Base::Balance),
    ),
    (
        "opening",
        "expr: sum(num), semi_additive: {dimension: at, at: first, per: []}",
        Formula::Of(Base::Opening),
    ),
    (
        "flagged",
        "expr: count_if(flag)",
        Formula::Of(Base::Flagged),
    ),
    ("average", "expr: avg(num)", Formula::Of(Base::Average)),
    ("lowest", "expr: min(num)", Formula::Of(Base::Lowest)),
    (
        "high",
        "expr: \"percentile(num, 0.9)\"",
        Formula::Of(Base::High),
    ),
    (
        "kinds_of_a",
        "expr: \"count_distinct_if(num, txt = 'a')\"",
        Formula::Of(Base::KindsOfA),
    ),
    ("halves", "expr: sum(num / 2.0)", Formula::Of(Base::Halves)),
    (
        "twice",
        "expr: 2 * sum(num), filter: flag",
        Formula::Of(Base::Twice),
    ),
    ("score", "expr: (large - 4) / 2", Formula::Of(Base::Score)),
    ("left_of_ten", "expr: 10 - flagged", Formula::Of(Base::Left)),
    (
        "all_high",
        "cumulative: {measure: high}",
        Formula::Over(Base::High, Span::All),
    ),
    (
        "days_average",
        "cumulative: {measure: average, window: {count: 10, unit: day}}",
        Formula::Over(Base::Average, Span::Last(10, Unit::Day)),
    ),
    (
        "all_total",
        "cumulative: {measure: total}",
        Formula::Over(Base::Total, Span::All),
    ),
    (
        "all_cnt",
        "cumulative: {measure: cnt, window: unbounded}",
        Formula::Over(Base::Count, Span::All),
    ),
    (
        "all_kinds",
        "cumulative: {measure: kinds}",
        Formula::Over(Base::Kinds, Span::All),
    ),
    (
        "all_middle",
        "cumulative: {measure: middle}",
        Formula::Over(Base::Middle, Span::All),
    ),
    (
        "all_balance",
        "cumulative: {measure: balance}",
        Formula::Over(Base::Balance, Span::All),
    ),
    (
        "all_mean",
        "cumulative: {measure: mean}",
        Formula::Over(Base::Mean, Span::All),
    ),
    (
        "days_total",
        "cumulative: {measure: total, window: {count: 10, unit: day}}",
        Formula::Over(Base::Total, Span::Last(10, Unit::Day)),
    ),
    (
        "months_cnt",
        "cumulative: {measure: cnt, window: {count: 2, unit: month}}",
        Formula::Over(Base::Count, Span::Last(2, Unit::Month)),
    ),
    (
        "weeks_top",
        "cumulative: {measure: top, window: {count: 3, unit: week}}",
        Formula::Over(Base::Top, Span::Last(3, Unit::Week)),
    ),
    (
        "year_total",
        "cumulative: {measure: total, window: {to_date: year}}",
        Formula::Over(Base::Total, Span::ToDate(Unit::Year)),
    ),
    (
        "month_kinds",
        "cumulative: {measure: kinds, window: {to_date: month}}",
        Formula::Over(Base::Kinds, Span::ToDate(Unit::Month)),
    ),
    (
        "last_month",
        "compare: {measure: total, unit: month, as: value}",
        Formula::Earlier(Base::Total, Span::Own, 1, Unit::Month),
    ),
    (
        "change",
        "compare: {measure: cnt, offset: 1, unit: quarter, as: difference}",
        Formula::Change(Base::Count, 1, Unit::Quarter),
    ),
    (
        "growth",
        "compare: {measure: total, offset: 2, unit: month, as: ratio}",
        Formula::Growth(Base::Total, 2, Unit::Month),
    ),
    (
        "last_balance",
        "compare: {measure: balance, offset: 1, unit: week, as: value}",
        Formula::Earlier(Base::Balance, Span::Own, 1, Unit::Week),
    ),
    (
        "last_months_cnt",
        "compare: {measure: months_cnt, offset: 1, unit: year, as: value}",
        Formula::Earlier(Base::Count, Span::Last(2, Unit::Month), 1, Unit::Year),
    ),
    (
        "weeks_total",
        "cumulative: {measure: total, window: {count: 2, unit: week}}",
        Formula::Over(Base::Total, Span::Last(2, Unit::Week)),
    ),
    (
        "days_kinds",
        "cumulative: {measure: kinds, window: {count: 7, unit: day}}",
        Formula::Over(Base::Kinds, Span::Last(7, Unit::Day)),
    ),
    (
        "week_earlier",
        "compare: {measure: total, offset: 7, unit: day, as: value}",
        Formula::Earlier(Base::Total, Span::Own, 7, Unit::Day),
    ),
    (
        "days_earlier",
        "compare: {measure: days_total, offset: 1, unit: month, as: value}",
        Formula::Earlier(Base::Total, Span::Last(10, Unit::Day), 1, Unit::Month),
    ),
    (
        "at_start",
        "compare: {measure: total, offset_to_grain: quarter, as: value}",
        Formula::AtStart(Base::Total, Unit::Quarter),
    ),
    (
        "two_earlier",
        "compare: {measure: last_month, offset: 1, unit: quarter, as: value}",
        Formula::Twice(Base::Total, [(1, Unit::Month), (1, Unit::Quarter)]),
    ),
    (
        "month_to_date_before",
        "compare: {measure: month_kinds, offset: 3, unit: day, as: value}",
        Formula::Earlier(Base::Kinds, Span::ToDate(Unit::Month), 3, Unit::Day),
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) span: Span,
    /// Distances back, in order.
    pub(super) back: [Option<(i64, Unit)>; 2],
    /// The unit to whose first period the value belongs.
    pub(super) start: Option<Unit>,
}

impl Frame {
    pub(super) fn is_own(self) -> bool {
        self.span == Span::Own && self.back == [None, None] && self.start.is_none()
    }

    /// Requires periods, or days up to the end of a period.
    pub(super) fn goes_with(self, unit: Unit) -> bool {
        let all = self.units();
        if all.iter().all(|longer| unit.fits(*longer)) {
            return true;
        }
        let days = [Unit::Day, Unit::Week];
        let calendar = [Unit::Month, Unit::Quarter, Unit::Year];
        self.start.is_none()
            && match unit {
                Unit::Week => all.iter().all(|own| days.contains(own)),
                Unit::Month | Unit::Quarter | Unit::Year => all
                    .iter()
                    .all(|own| days.contains(own) || calendar.contains(own)),
                Unit::Day | Unit::Hour | Unit::Minute => false,
            }
    }

    /// Days that end with the last day of the group's period.
    fn holds_day(self, day: i64, group: Start, unit: Unit) -> bool {
        let next = calendar::earlier(group, -1, unit);
        let mut moves: Vec<(i64, Unit)> = self.back.into_iter().flatten().collect();
        let moved = |from: Start, moves: &[(i64, Unit)]| {
            let is_by_days = |unit: Unit| matches!(unit, Unit::Day | Unit::Week);
            let by_months = moves.iter().filter(|(_, unit)| !is_by_days(*unit));
            let by_days = moves.iter().filter(|(_, unit)| is_by_days(*unit));
            by_months.chain(by_days).fold(from, |at, (count, unit)| {
                calendar::earlier(at, *count, *unit)
            })
        };
        let end = moved(next, &moves);
        let first = match self.span {
            Span::All => i64::MIN,
            Span::Own => moved(group, &moves).0,
            Span::Last(count, unit) => {
                moves.push((count, unit));
                moved(next, &moves).0
            }
            Span::ToDate(unit) => {
                let last = At {
                    day: end.0 - 1,
                    minute: None,
                };
                calendar::start(last, unit).0
            }
        };
        day >= first && day < end.0
    }

    pub(super) fn holds(self, at: At, group: Start, unit: Unit) -> bool {
        if !self.units().iter().all(|longer| unit.fits(*longer)) {
            return self.holds_day(at.day, group, unit);
        }
        let row = calendar::start(at, unit);
        let moves = self.back.into_iter().flatten();
        let mut end = moves.fold(group, |at, (count, unit)| {
            calendar::earlier(at, count, unit)
        });
        if let Some(longer) = self.start {
            let (day, minute) = end;
            let at = At {
                day,
                minute: Some(minute),
            };
            end = calendar::start(at, longer);
        }
        match self.span {
            Span::Own => row == end,
            Span::All => row <= end,
            Span::Last(count, unit) => row <= end && row > calendar::earlier(end, count, unit),
            Span::ToDate(unit) => {
                let (day, minute) = end;
                let at = At {
                    day,
                    minute: Some(minute),
                };
                row <= end && row >= calendar::start(at, unit)
            }
        }
    }

    pub(super) fn units(self) -> Vec<Unit> {
        let span = match self.span {
            Span::Last(_, unit) | Span::ToDate(unit) => Some(unit),
            Span::Own | Span::All => None,
        };
        span.into_iter()
            .chain(self.back.into_iter().flatten().map(|(_, unit)| unit))
            .chain(self.start)
            .collect()
    }
}

impl Formula {
    pub(super) fn frames(self) -> Vec<Frame> {
        let frame = |span, back: Option<(i64, Unit)>| Frame {
            span,
            back: [back, None],
            start: None,
        };
        match self {
            Self::Of(_) => Vec::new(),
            Self::Over(_, span) => vec![frame(span, None)],
            Self::Earlier(_, span, count, unit) => vec![frame(span, Some((count, unit)))],
            Self::Change(_, count, unit) | Self::Growth(_, count, unit) => vec![
                frame(Span::Own, None),
                frame(Span::Own, Some((count, unit))),
            ],
            Self::AtStart(_, unit) => vec![Frame {
                start: Some(unit),
                ..frame(Span::Own, None)
            }],
            // The outer comparison moves first.
            Self::Twice(_, [inner, outer]) => vec![Frame {
                back: [Some(outer), Some(inner)],
                ..frame(Span::Own, None)
            }],
        }
    }

    /// Then a group with rows can have no value.
    pub(super) fn divides(self) -> bool {
        match self {
            Self::Of(base)
            | Self::Over(base, _)
            | Self::Earlier(base, ..)
            | Self::AtStart(base, _)
            | Self::Twice(base, _) => {
                matches!(base, Base::Mean | Base::Share | Base::Score)
            }
            Self::Change(..) => false,
            Self::Growth(..) => true,
        }
    }

    pub(super) fn value<'w>(self, over: &dyn Fn(Option<Frame>) -> Vec<&'w Row>) -> Option<f64> {
        let frames = self.frames();
        let at = |place: usize| over(frames.get(place).copied());
        match self {
            Self::Of(base) => base.over(&over(None)),
            Self::Over(base, _)
            | Self::Earlier(base, ..)
            | Self::AtStart(base, _)
            | Self::Twice(base, _) => base.over(&at(0)),
            Self::Change(base, ..) => Some(base.over(&at(0))? - base.over(&at(1))?),
            Self::Growth(base, ..) => {
                let before = base.over(&at(1)).filter(|before| *before != 0.0)?;
                Some(base.over(&at(0))? / before)
            }
        }
    }
}

pub(super) fn real(number: i64) -> f64 {
    f64::from(i32::try_from(number).expect("a small number"))
}

fn counted(number: usize) -> f64 {
    real(i64::try_from(number).expect("a small number"))
}

fn sum(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum())
}

fn percentile(numbers: &[f64], tenths: usize) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = tenths * sorted.len().checked_sub(1)?;
    let lower = *sorted.get(place / 10)?;
    let upper = sorted.get(place / 10 + 1).copied().unwrap_or(lower);
    Some(lower + (upper - lower) * counted(place % 10) / 10.0)
}

fn middle(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// Considers rows with a number and a moment.
fn at_one_moment(rows: &[&Row], last: bool) -> Option<f64> {
    let dated: Vec<(At, f64)> = rows
        .iter()
        .filter_map(|row| Some((row.at?, row.number?)))
        .collect();
    let moments = dated.iter().map(|(at, _)| *at);
    let moment = if last { moments.max() } else { moments.min() }?;
    let numbers: Vec<f64> = dated
        .iter()
        .filter_map(|(at, number)| (*at == moment).then_some(*number))
        .collect();
    sum(&numbers)
}

impl Base {
    pub(super) fn over(self, rows: &[&Row]) -> Option<f64> {
        let numbers: Vec<f64> = rows.iter().filter_map(|row| row.number).collect();
        let of_a: Vec<f64> = rows
            .iter()
            .filter(|row| row.text == Some("a"))
            .filter_map(|row| row.number)
            .collect();
        let texts: BTreeSet<&str> = rows.iter().filter_map(|row| row.text).collect();
        match self {
            Self::Count => Some(counted(rows.len())),
            Self::Total => sum(&numbers),
            Self::Kinds => Some(counted(texts.len())),
            Self::Top => numbers.iter().copied().max_by(f64::total_cmp),
            Self::OnlyA | Self::SumOfA => sum(&of_a),
            Self::Mean => sum(&numbers).map(|sum| sum / counted(rows.len())),
            Self::Share => {
                let total = sum(&numbers).filter(|total| *total != 0.0)?;
                Some(sum(&of_a)? / total)
            }
            Self::Large => Some(counted(
                numbers.iter().filter(|number| **number > 2.0).count(),
            )),
            Self::Middle => middle(&numbers),
            Self::Average => sum(&numbers).map(|sum| sum / counted(numbers.len())),
            Self::Lowest => numbers.iter().copied().min_by(f64::total_cmp),
            Self::High => percentile(&numbers, 9),
            Self::KindsOfA => {
                let kinds: BTreeSet<u64> = of_a.iter().map(|number| number.to_bits()).collect();
                Some(counted(kinds.len()))
            }
            Self::Halves => sum(&numbers).map(|sum| sum / 2.0),
            Self::Twice => {
                let flagged = rows.iter().filter(|row| row.flag == Some(true));
                let flagged: Vec<f64> = flagged.filter_map(|row| row.number).collect();
                sum(&flagged).map(|sum| sum * 2.0)
            }
            Self::Flagged => Some(counted(
                rows.iter().filter(|row| row.flag == Some(true)).count(),
            )),
            Self::Score => Self::Large.over(rows).map(|large| (large - 4.0) / 2.0),
            Self::Left => Self::Flagged.over(rows).map(|flagged| 10.0 - flagged),
            Self::Opening => at_one_moment(rows, false),
            Self::Balance => {
                let mut by_text: BTreeMap<Option<&str>, Vec<&Row>> = BTreeMap::new();
                for row in rows {
                    by_text.entry(row.text).or_default().push(row);
                }
                let balances: Vec<f64> = by_text
                    .values()
                    .filter_map(|rows| at_one_moment(rows, true))
                    .collect();
                (!balances.is_empty()).then(|| balances.iter().sum())
            }
        }
    }
}
