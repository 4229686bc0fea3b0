//! Answers by brute force: each row of a home separately, each look-up by a full scan.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::calendar::{self, At, Start, Unit};
use super::filter::{Comparison, Filter};
use super::lookups::{Step, follow, path};
use super::measures::{COUNT, Frame, Measure, TOTAL, real};
use super::question::{Asked, Beside, Dimension, Question, RowBeside, formula};
use super::world::{Cell, Row, World};

pub(super) enum Expected {
    /// Dimensions, then values.
    Rows(Vec<Vec<Value>>),
    /// The acceptable kinds.
    Refusal(BTreeSet<&'static str>),
}

/// For columns that cannot be looked up.
const LOOKUPS: [&str; 8] = [
    "fanout",
    "asymmetric_dimensions",
    "no_join_path",
    "ambiguous_join_path",
    "filter_fanout",
    "filter_unreachable",
    "multi_source_measure",
    "multi_grain_measure",
];

const MOST_FILLED: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Null,
    Text(&'static str),
    Start(Start),
    Flag(bool),
    Number(u64),
}

type Tuple = Vec<Member>;

struct Placed<'w> {
    tuple: Tuple,
    row: &'w Row,
    at: Option<At>,
    /// All filters except those on the time axis.
    passes_rows: bool,
    /// The filters on the time axis.
    passes_time: bool,
}

/// Position, node and unit of the time dimension.
type Axis = (usize, usize, Unit);

struct Asking<'w> {
    world: &'w World,
    question: &'w Question,
    axis: Option<Axis>,
    has_time_filter: bool,
    homes: BTreeMap<usize, Vec<Placed<'w>>>,
}

/// `None` if a look-up is impossible.
fn placed<'w>(
    world: &'w World,
    question: &Question,
    axis: Option<Axis>,
    home: usize,
) -> Option<Vec<Placed<'w>>> {
    let dimensions: Vec<(Dimension, Vec<Step>)> = question
        .dimensions
        .iter()
        .map(|one| Some((*one, path(world, home, one.node())?)))
        .collect::<Option<_>>()?;
    let mut filters: Vec<(Vec<Vec<Step>>, Filter, bool)> = Vec::new();
    for filter in &question.filters {
        let nodes = filter.nodes();
        let Some(node) = nodes.first().copied() else {
            continue;
        };
        let on_axis =
            matches!(filter, Filter::Time(..)) && axis.is_some_and(|(_, own, _)| own == node);
        let paths = nodes.into_iter().map(|node| path(world, home, node));
        filters.push((paths.collect::<Option<_>>()?, *filter, on_axis));
    }
    let rows = world.tables[world.nodes[home].table].rows.iter();
    let placed = rows.map(|row| {
        let passing = |wanted: bool| {
            filters
                .iter()
                .filter(|(_, _, on_axis)| *on_axis == wanted)
                .all(|(paths, filter, _)| {
                    let seen = |at: usize| paths.get(at).and_then(|path| follow(world, row, path));
                    filter.passes(seen(0), seen(1))
                })
        };
        let member = |(dimension, path): &(Dimension, Vec<Step>)| {
            let seen = follow(world, row, path);
            match dimension {
                Dimension::Text(_) => seen.and_then(|row| row.text).map(Member::Text),
                Dimension::Flag(_) => seen.and_then(|row| row.flag).map(Member::Flag),
                Dimension::Number(_) => seen
                    .and_then(|row| row.number)
                    .map(|number| Member::Number(number.to_bits())),
                Dimension::Key { column, .. } => {
                    seen.and_then(|row| row.cells[*column])
                        .map(|cell| match cell {
                            Cell::Text(text) => Member::Text(text),
                            Cell::Integer(number) => Member::Number(real(number).to_bits()),
                        })
                }
                Dimension::IsLarge(_) => seen
                    .and_then(|row| row.number)
                    .map(|number| Member::Flag(number > 2.0)),
                Dimension::Time(_, unit) => seen
                    .and_then(|row| row.at)
                    .map(|at| Member::Start(calendar::start(at, *unit))),
            }
            .unwrap_or(Member::Null)
        };
        let on_axis = axis.and_then(|(at, ..)| dimensions.get(at));
        let seen = on_axis.and_then(|(_, path)| follow(world, row, path));
        Placed {
            at: seen.and_then(|row| row.at),
            tuple: dimensions.iter().map(member).collect(),
            row,
            passes_rows: passing(false),
            passes_time: passing(true),
        }
    });
    Some(placed.collect())
}

fn axis(question: &Question, refused: &mut BTreeSet<&'static str>) -> Option<Axis> {
    let frames: Vec<Frame> = question
        .measures()
        .iter()
        .flat_map(|(_, measure)| formula(*measure).frames())
        .collect();
    if frames.is_empty() && !question.fill {
        return None;
    }
    let mut times = question.dimensions.iter().enumerate();
    let mut times = times.by_ref().filter_map(|(at, one)| match one {
        Dimension::Time(node, unit) => Some((at, *node, *unit)),
        _ => None,
    });
    let Some((at, node, unit)) = times.next() else {
        refused.insert("no_time_dimension");
        return None;
    };
    if times.next().is_some() {
        refused.insert("ambiguous_time_dimension");
    }
    if !frames.iter().all(|frame| frame.goes_with(unit)) {
        refused.insert("bad_window");
    }
    let mixed = |filter: &Filter| matches!(filter, Filter::TimeOrText(own, _) if *own == node);
    if !frames.is_empty() && question.filters.iter().any(mixed) {
        refused.insert("mixed_time_filter");
    }
    if question.fill {
        match spine(question, node, unit) {
            None => {
                refused.insert("unbounded_fill");
            }
            Some(all) if all.len() > MOST_FILLED => {
                refused.insert("fill_too_long");
            }
            Some(_) => {}
        }
    }
    Some((at, node, unit))
}

/// All periods between the bounds of the filters.
fn spine(question: &Question, node: usize, unit: Unit) -> Option<Vec<Start>> {
    let mut from: Option<i64> = None;
    let mut to: Option<i64> = None;
    for filter in &question.filters {
        match *filter {
            Filter::Time(own, Comparison::From | Comparison::After, day) if own == node => {
                from = from.max(Some(day));
            }
            Filter::Time(own, Comparison::Before, day) if own == node => {
                to = Some(to.map_or(day - 1, |known| known.min(day - 1)));
            }
            Filter::Time(own, Comparison::To, day) if own == node => {
                to = Some(to.map_or(day, |known| known.min(day)));
            }
            _ => {}
        }
    }
    // The last minute of the day before a bound counts, but only the midnight of an inclusive day.
    let to_start = to.map(|day| {
        let is_to = question
            .filters
            .contains(&Filter::Time(node, Comparison::To, day));
        let minute = if is_to { 0 } else { 23 * 60 + 59 };
        calendar::start(
            At {
                day,
                minute: Some(minute),
            },
            unit,
        )
    });
    let (from, last) = (from?, to_start?);
    let from = calendar::start(
        At {
            day: from,
            minute: None,
        },
        unit,
    );
    let mut all = calendar::between(from.0, to?, unit);
    all.retain(|start| *start >= from && *start <= last);
    (!all.is_empty()).then_some(all)
}

impl<'w> Asking<'w> {
    fn rows(&self, table: usize, tuple: &Tuple, frame: Option<Frame>) -> Vec<&'w Row> {
        let Some(rows) = self.homes.get(&table) else {
            return Vec::new();
        };
        // Without a filter on time, whole periods are the group's own rows.
        let frame = frame.filter(|frame| self.has_time_filter || !frame.is_own());
        let is_seen = |placed: &&Placed<'w>| match (frame, self.axis) {
            (Some(frame), Some(axis)) => placed.passes_rows && in_frame(frame, axis, placed, tuple),
            _ => placed.passes_rows && placed.passes_time && placed.tuple == *tuple,
        };
        rows.iter()
            .filter(is_seen)
            .map(|placed| placed.row)
            .collect()
    }

    fn tuples(&self) -> BTreeSet<Tuple> {
        let question = self.question;
        let mut tuples: BTreeSet<Tuple> = BTreeSet::new();
        let passing = |rows: &[Placed<'_>]| -> Vec<Tuple> {
            let rows = rows.iter().filter(|one| one.passes_rows && one.passes_time);
            rows.map(|one| one.tuple.clone()).collect()
        };
        for rows in self.homes.values() {
            tuples.extend(passing(rows));
        }
        let nodes: BTreeSet<usize> = question.dimensions.iter().map(|one| one.node()).collect();
        if question.dimensions.is_empty() {
            tuples.insert(Vec::new());
        } else if question.adds_members()
            && nodes.len() == 1
            && let Some(rows) = nodes
                .first()
                .and_then(|own| placed(self.world, question, self.axis, *own))
        {
            tuples.extend(passing(&rows));
        }
        let Some((axis, node, unit)) = self.axis else {
            return tuples;
        };
        let spine = question.fill.then(|| spine(question, node, unit)).flatten();
        let occurring = tuples.iter().filter_map(|tuple| match tuple[axis] {
            Member::Start(start) => Some(start),
            _ => None,
        });
        let periods: BTreeSet<Start> = match &spine {
            Some(spine) => spine.iter().copied().collect(),
            None => occurring.collect(),
        };
        tuples.extend(self.framed((axis, node, unit), &periods));
        let mut others: BTreeSet<Tuple> = tuples
            .iter()
            .map(|tuple| in_period(tuple, axis, (0, 0)))
            .collect();
        if question.dimensions.len() == 1 {
            others.insert(vec![Member::Null]);
        }
        for period in spine.iter().flatten() {
            tuples.extend(others.iter().map(|tuple| in_period(tuple, axis, *period)));
        }
        tuples
    }

    fn framed(&self, axis: Axis, periods: &BTreeSet<Start>) -> BTreeSet<Tuple> {
        let mut tuples: BTreeSet<Tuple> = BTreeSet::new();
        for (table, rows) in &self.homes {
            for frame in self.question.frames(*table) {
                if frame.is_own() && !self.has_time_filter {
                    continue;
                }
                for row in rows.iter().filter(|row| row.passes_rows) {
                    for period in periods {
                        let tuple = in_period(&row.tuple, axis.0, *period);
                        if in_frame(frame, axis, row, &tuple) {
                            tuples.insert(tuple);
                        }
                    }
                }
            }
        }
        tuples
    }

    fn measure(&self, table: usize, measure: Measure, tuple: &Tuple) -> Option<f64> {
        formula(measure).value(&|frame| self.seen(table, tuple, frame))
    }

    fn seen(&self, table: usize, tuple: &Tuple, frame: Option<Frame>) -> Vec<&'w Row> {
        let mut rows = self.rows(table, tuple, frame);
        if self.question.segments.contains(&table) {
            rows.retain(|row| row.text == Some("a"));
        }
        rows
    }

    fn product(&self, table: usize, node: usize, tuple: &Tuple) -> Option<f64> {
        let path = path(self.world, table, node)?;
        let rows = self.seen(table, tuple, None);
        let products: Vec<f64> = rows
            .into_iter()
            .filter_map(|row| Some(row.number? * follow(self.world, row, &path)?.number?))
            .collect();
        (!products.is_empty()).then(|| products.iter().sum())
    }

    /// Between tables, a missing side counts as 0.
    fn value(&self, asked: Asked, tuple: &Tuple, all: &BTreeSet<Tuple>) -> Option<f64> {
        match asked {
            Asked::Measure(table, measure) => self.measure(table, measure, tuple),
            Asked::Ratio(left, right) => {
                let total = self.measure(left, TOTAL, tuple);
                let total = if left == right {
                    total
                } else {
                    Some(total.unwrap_or(0.0))
                };
                let count = self.measure(right, COUNT, tuple).unwrap_or(0.0);
                total.filter(|_| count != 0.0).map(|total| total / count)
            }
            Asked::Difference(left, right) if left == right => {
                self.measure(left, TOTAL, tuple).map(|_| 0.0)
            }
            Asked::Difference(left, right) => {
                let side = |table| self.measure(table, TOTAL, tuple).unwrap_or(0.0);
                Some(side(left) - side(right))
            }
            Asked::Mixed(left, measure, right) => {
                let value = self.measure(left, measure, tuple);
                let value = if left == right {
                    value
                } else if !self.has_rows(left, measure, tuple) {
                    Some(0.0)
                } else if formula(measure).divides() {
                    value
                } else {
                    Some(value.unwrap_or(0.0))
                };
                let count = self.measure(right, COUNT, tuple).unwrap_or(0.0);
                value.map(|value| value - 2.0 * count + 1.0)
            }
            Asked::Product(table, node) => self.product(table, node, tuple),
            Asked::Share(table, within) => {
                let own = self.measure(table, TOTAL, tuple)?;
                let others = self.beside(table, within, tuple, all);
                let total: f64 = others.iter().sum();
                (total != 0.0).then(|| own / total)
            }
            Asked::RowBefore(table, beside) => {
                let before = self.row_before(tuple, all);
                let before = before.and_then(|before| self.measure(table, TOTAL, before));
                let own = self.measure(table, TOTAL, tuple);
                match beside {
                    RowBeside::Previous => before,
                    RowBeside::Change => Some(own? - before?),
                    RowBeside::Growth => {
                        let before = before.filter(|before| *before != 0.0)?;
                        Some((own? - before) / before)
                    }
                }
            }
            Asked::Rank(table, within) => {
                let own = self.measure(table, TOTAL, tuple)?;
                let others = self.beside(table, within, tuple, all);
                let above = others.iter().filter(|other| **other > own).count();
                u32::try_from(above + 1).ok().map(f64::from)
            }
        }
    }

    /// The group with the latest earlier time and the same other dimensions.
    fn row_before<'t>(&self, tuple: &Tuple, all: &'t BTreeSet<Tuple>) -> Option<&'t Tuple> {
        let mut dimensions = self.question.dimensions.iter();
        let along = dimensions.position(|one| matches!(one, Dimension::Time(..)))?;
        let Member::Start(own) = tuple[along] else {
            return None;
        };
        let earlier = all.iter().filter_map(|other| match other[along] {
            Member::Start(start) if start < own && in_period(other, along, own) == *tuple => {
                Some((start, other))
            }
            _ => None,
        });
        earlier.max().map(|(_, other)| other)
    }

    /// Includes the group itself.
    fn beside(
        &self,
        table: usize,
        within: Option<usize>,
        tuple: &Tuple,
        all: &BTreeSet<Tuple>,
    ) -> Vec<f64> {
        let within = self.question.within(within);
        let is_beside = |other: &&Tuple| within.is_none_or(|at| other[at] == tuple[at]);
        let totals = all.iter().filter(is_beside);
        totals
            .filter_map(|other| self.measure(table, TOTAL, other))
            .collect()
    }

    fn has_rows(&self, table: usize, measure: Measure, tuple: &Tuple) -> bool {
        let frames = formula(measure).frames();
        let has = |frame| !self.rows(table, tuple, frame).is_empty();
        if frames.is_empty() {
            has(None)
        } else {
            frames.into_iter().any(|frame| has(Some(frame)))
        }
    }
}

fn in_period(tuple: &Tuple, axis: usize, period: Start) -> Tuple {
    let mut tuple = tuple.clone();
    tuple[axis] = Member::Start(period);
    tuple
}

/// The other dimensions must be equal.
fn in_frame(frame: Frame, (axis, _, unit): Axis, row: &Placed<'_>, group: &Tuple) -> bool {
    let (Some(at), Member::Start(wanted)) = (row.at, group[axis]) else {
        return false;
    };
    let others = row.tuple.iter().zip(group).enumerate();
    let mut others = others.filter(|(at, _)| *at != axis);
    others.all(|(_, (own, wanted))| own == wanted) && frame.holds(at, wanted, unit)
}

pub(super) fn answer(world: &World, question: &Question) -> Expected {
    let mut refused: BTreeSet<&'static str> = BTreeSet::new();
    let axis = axis(question, &mut refused);
    let mut homes: BTreeMap<usize, Vec<Placed<'_>>> = BTreeMap::new();
    for (table, _) in question.measures() {
        match placed(world, question, axis, table) {
            Some(rows) => {
                homes.insert(table, rows);
            }
            None => refused.extend(LOOKUPS),
        }
    }
    for asked in &question.asked {
        if let Asked::Product(table, node) = *asked
            && path(world, table, node).is_none()
        {
            refused.extend(LOOKUPS);
        }
    }
    let times = question.dimensions.iter();
    let times = times.filter(|one| matches!(one, Dimension::Time(..)));
    let is_beside_rows = |asked: &Asked| matches!(asked, Asked::RowBefore(..));
    match (question.asked.iter().any(is_beside_rows), times.count()) {
        (true, 0) => {
            refused.insert("no_time_dimension");
        }
        (true, 2..) => {
            refused.insert("ambiguous_time_dimension");
        }
        _ => {}
    }
    if question.names_hidden(world) {
        refused.insert("hidden_column");
    }
    if question.tests_totals() {
        refused.insert("total_filter");
    }
    let is_used = |table: &usize| question.measures().iter().any(|(own, _)| own == table);
    if !question.segments.iter().all(is_used) {
        refused.insert("segment_no_measure");
    }
    if !refused.is_empty() {
        return Expected::Refusal(refused);
    }
    let on_axis = |filter: &Filter| matches!(filter, Filter::Time(node, ..) if axis.is_some_and(|(_, own, _)| own == *node));
    let asking = Asking {
        world,
        question,
        axis,
        has_time_filter: question.filters.iter().any(on_axis),
        homes,
    };
    let tuples = asking.tuples();
    let kept = tuples.iter().filter(|tuple| {
        question.filters.iter().all(|filter| match *filter {
            Filter::MeasureAbove(table, measure, number) => asking
                .measure(table, measure, tuple)
                .is_some_and(|value| value > real(number)),
            Filter::EitherAbove(one, other, number) => {
                let is_above = |table| {
                    let total = asking.measure(table, TOTAL, tuple);
                    total.is_some_and(|total| total > real(number))
                };
                is_above(one) || is_above(other)
            }
            _ => true,
        })
    });
    let rows = kept.map(|tuple| {
        let mut row: Vec<Value> = tuple
            .iter()
            .zip(&question.dimensions)
            .map(|(member, dimension)| match (member, dimension) {
                (Member::Text(text), _) => json!(text),
                (Member::Flag(flag), _) => json!(flag),
                (Member::Number(bits), _) => json!(f64::from_bits(*bits)),
                (Member::Start(start), Dimension::Time(_, unit)) => {
                    json!(calendar::spelled(*start, *unit))
                }
                _ => Value::Null,
            })
            .collect();
        let values = question.asked.iter();
        row.extend(values.map(|asked| json!(asking.value(*asked, tuple, &tuples))));
        row
    });
    let mut rows: Vec<Vec<Value>> = rows.collect();
    if question.beside == Beside::Totals {
        add_totals(world, question, &mut rows);
    }
    Expected::Rows(rows)
}

/// Each with its number of dimensions.
fn add_totals(world: &World, question: &Question, rows: &mut Vec<Vec<Value>>) {
    for row in &mut *rows {
        row.push(json!(0));
    }
    let count = question.dimensions.len();
    for kept in (0..count).rev() {
        let Expected::Rows(totals) = answer(world, &question.of_totals(kept)) else {
            panic!("a total is refused");
        };
        for total in totals {
            let (dimensions, values) = total.split_at(kept);
            let mut row = dimensions.to_vec();
            row.extend(std::iter::repeat_n(Value::Null, count - kept));
            row.extend(values.iter().cloned());
            row.push(json!(count - kept));
            rows.push(row);
        }
    }
}
