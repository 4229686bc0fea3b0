//! Random questions about a model.

use super::calendar::{self, Unit};
use super::filter::{Comparison, Filter};
use super::lookups;
use super::measures::{COUNT, Formula, Frame, MEASURES, Measure, PLAIN, TOTAL};
use super::world::{Cell, FIRST, TimeKind, World};
use ktx_test_support::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Measure(usize, Measure),
    /// A total divided by another table's count.
    Ratio(usize, usize),
    /// A total minus that of another table.
    Difference(usize, usize),
    /// A measure minus twice another table's count, plus one.
    Mixed(usize, Measure, usize),
    /// The sum of a number times that of a looked-up node.
    Product(usize, usize),
    /// The share of a table's total, optionally within a text dimension.
    Share(usize, Option<usize>),
    /// The rank by a table's total, likewise.
    Rank(usize, Option<usize>),
    /// A table's total next to the previous row's.
    RowBefore(usize, RowBeside),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowBeside {
    Previous,
    Change,
    Growth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Text(usize),
    Time(usize, Unit),
    Flag(usize),
    Number(usize),
    /// A computed column: the number is above 2.
    IsLarge(usize),
    Key {
        node: usize,
        column: usize,
        is_text: bool,
    },
}

impl Dimension {
    pub(super) fn node(self) -> usize {
        match self {
            Self::Text(node)
            | Self::Time(node, _)
            | Self::Flag(node)
            | Self::Number(node)
            | Self::Key { node, .. }
            | Self::IsLarge(node) => node,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) asked: Vec<Asked>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) filters: Vec<Filter>,
    /// Tables restricted to rows with the text `a`.
    pub(super) segments: Vec<usize>,
    /// If the question sets it.
    pub(super) include_empty: Option<bool>,
    pub(super) fill: bool,
    /// Column, whether descending, and row limit.
    pub(super) top: Option<(usize, bool, usize)>,
    pub(super) beside: Beside,
    /// The dimension with a limit per value.
    pub(super) per: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    Totals,
    Others,
}

impl Question {
    pub(super) fn random(world: &World, random: &mut Random) -> Self {
        let by_periods = random.chance(55);
        // Such questions name the bridge and its neighbors.
        let around = world.bridge.filter(|_| random.chance(50));
        let asked = asked(world, random, by_periods, around);
        let mut dimensions: Vec<Dimension> = Vec::new();
        // Prefers a node that everything requested can look up.
        let likely = match asked.first() {
            Some(
                Asked::Measure(table, _)
                | Asked::Ratio(table, _)
                | Asked::Difference(table, _)
                | Asked::Mixed(table, ..)
                | Asked::Product(table, _)
                | Asked::Share(table, _)
                | Asked::Rank(table, _)
                | Asked::RowBefore(table, _),
            ) => *table,
            None => 0,
        };
        let node = |random: &mut Random| match around {
            Some(around) if random.chance(60) => *random.pick(&around),
            _ if random.chance(75) => likely,
            _ => random.below(world.nodes.len()),
        };
        if (by_periods && !random.chance(4)) || random.chance(10) {
            let node = node(random);
            dimensions.push(Dimension::Time(
                node,
                told(world, node, unit(random, &asked)),
            ));
        }
        for _ in 0..random.below(3) {
            let one = if random.chance(4) {
                let node = node(random);
                Dimension::Time(node, told(world, node, *random.pick(&Unit::ALL)))
            } else {
                let node = node(random);
                match random.below(11) {
                    0 => Dimension::Flag(node),
                    1 => Dimension::Number(node),
                    2 => Dimension::IsLarge(node),
                    3 => key_dimension(world, random, node),
                    _ => Dimension::Text(node),
                }
            };
            if !dimensions.contains(&one) {
                dimensions.insert(random.below(dimensions.len() + 1), one);
            }
        }
        let filters = filters(world, random, &dimensions, &node);
        let mut segments = Vec::new();
        if random.chance(8) {
            segments.push(world.nodes.get(likely).map_or(0, |node| node.table));
        }
        let width = dimensions.len() + asked.len();
        let top = random
            .chance(12)
            .then(|| (random.below(width), random.chance(50), 1 + random.below(4)));
        let mut question = Self {
            asked,
            dimensions,
            filters,
            segments,
            include_empty: (!random.chance(25)).then(|| random.chance(70)),
            fill: by_periods && random.chance(25),
            top,
            beside: Beside::Nothing,
            per: None,
        };
        if random.chance(8) {
            question.asked = vec![Asked::Measure(likely, TOTAL), Asked::Measure(likely, COUNT)];
            let width = question.dimensions.len() + 2;
            question.top = Some((random.below(width), random.chance(50), 1 + random.below(3)));
        }
        if random.chance(35) || question.top.is_some() {
            question.beside = question.possible_beside();
        }
        if question.top.is_some() && !question.dimensions.is_empty() && random.chance(50) {
            question.per = Some(random.below(question.dimensions.len()));
        }
        question
    }

    fn possible_beside(&self) -> Beside {
        let is_plain = |asked: &Asked| match *asked {
            Asked::Measure(_, measure) | Asked::Mixed(_, measure, _) => measure < PLAIN,
            Asked::Share(_, within) | Asked::Rank(_, within) => self.within(within).is_none(),
            Asked::RowBefore(..) => false,
            _ => true,
        };
        let adds_up = |asked: &Asked| matches!(asked, Asked::Measure(_, measure) if [COUNT, TOTAL].contains(measure));
        if self.dimensions.is_empty() {
            Beside::Nothing
        } else if self.top.is_none() && !self.fill && self.asked.iter().all(is_plain) {
            Beside::Totals
        } else if self.top.is_some() && self.asked.iter().all(adds_up) {
            Beside::Others
        } else {
            Beside::Nothing
        }
    }

    /// For the totals by the first dimensions.
    pub(super) fn of_totals(&self, kept: usize) -> Self {
        let is_of_rows = |filter: &&Filter| {
            !matches!(filter, Filter::MeasureAbove(..) | Filter::EitherAbove(..))
        };
        Self {
            dimensions: self.dimensions.iter().take(kept).copied().collect(),
            filters: self.filters.iter().filter(is_of_rows).copied().collect(),
            beside: Beside::Nothing,
            per: None,
            ..self.clone()
        }
    }

    /// Unless the question requests the first rows by a measure.
    pub(super) fn adds_members(&self) -> bool {
        let is_ranking = |(column, ..): (usize, bool, usize)| column >= self.dimensions.len();
        let usual = !self.top.is_some_and(is_ranking);
        self.include_empty.unwrap_or(usual)
    }

    /// `None` unless the dimension is a text.
    pub(super) fn within(&self, at: Option<usize>) -> Option<usize> {
        at.filter(|at| matches!(self.dimensions.get(*at), Some(Dimension::Text(_))))
    }

    pub(super) fn nodes(&self) -> Vec<usize> {
        let dimensions = self.dimensions.iter().map(|one| one.node());
        let filters = self.filters.iter().flat_map(|filter| filter.nodes());
        dimensions.chain(filters).collect()
    }

    pub(super) fn names_hidden(&self, world: &World) -> bool {
        let dimensions = self.dimensions.iter().filter_map(|one| match *one {
            Dimension::Key { node, column, .. } => Some((node, column)),
            _ => None,
        });
        let filters = self.filters.iter().filter_map(|filter| match *filter {
            Filter::Key(node, column, _) => Some((node, column)),
            _ => None,
        });
        let mut named = dimensions.chain(filters);
        named.any(|(node, column)| world.table_of(node).columns[column].is_hidden)
    }

    /// Tests a total without any requested value.
    pub(super) fn tests_totals(&self) -> bool {
        let homes = self.asked.iter().map(|asked| match *asked {
            Asked::Measure(table, _)
            | Asked::Product(table, _)
            | Asked::Share(table, _)
            | Asked::Rank(table, _)
            | Asked::RowBefore(table, _) => [table, table],
            Asked::Ratio(left, right)
            | Asked::Difference(left, right)
            | Asked::Mixed(left, _, right) => [left, right],
        });
        let homes: Vec<[usize; 2]> = homes.collect();
        let is_apart = |filter: &Filter| {
            let tested = match *filter {
                Filter::MeasureAbove(table, ..) => [table, table],
                Filter::EitherAbove(one, other, _) => [one, other],
                _ => return false,
            };
            homes
                .iter()
                .any(|own| !own.iter().any(|home| tested.contains(home)))
        };
        self.dimensions.is_empty() && self.filters.iter().any(is_apart)
    }

    pub(super) fn measures(&self) -> Vec<(usize, Measure)> {
        let asked = self.asked.iter().flat_map(|asked| match *asked {
            Asked::Measure(table, measure) => vec![(table, measure)],
            Asked::Ratio(left, right) | Asked::Difference(left, right) => {
                vec![(left, COUNT), (right, COUNT)]
            }
            Asked::Mixed(left, measure, right) => vec![(left, measure), (right, COUNT)],
            Asked::Product(table, _) => vec![(table, COUNT)],
            Asked::Share(table, _) | Asked::Rank(table, _) | Asked::RowBefore(table, _) => {
                vec![(table, TOTAL)]
            }
        });
        let filters = self.filters.iter().flat_map(|filter| match *filter {
            Filter::MeasureAbove(table, measure, _) => vec![(table, measure)],
            Filter::EitherAbove(one, other, _) => vec![(one, TOTAL), (other, TOTAL)],
            _ => Vec::new(),
        });
        asked.chain(filters).collect()
    }

    pub(super) fn frames(&self, table: usize) -> Vec<Frame> {
        let own = self.measures().into_iter().filter(|(own, _)| *own == table);
        own.flat_map(|(_, measure)| formula(measure).frames())
            .collect()
    }
}

/// Dates have no hours.
fn told(world: &World, node: usize, unit: Unit) -> Unit {
    let table = world
        .nodes
        .get(node)
        .and_then(|node| world.tables.get(node.table));
    match table.map(|table| table.time) {
        Some(TimeKind::Date) if matches!(unit, Unit::Hour | Unit::Minute) => Unit::Day,
        _ => unit,
    }
}

/// A unit that usually fits the values.
fn unit(random: &mut Random, asked: &[Asked]) -> Unit {
    let frames: Vec<Frame> = asked
        .iter()
        .flat_map(|asked| match *asked {
            Asked::Measure(_, measure) | Asked::Mixed(_, measure, _) => formula(measure).frames(),
            Asked::Ratio(..)
            | Asked::Difference(..)
            | Asked::Product(..)
            | Asked::Share(..)
            | Asked::Rank(..)
            | Asked::RowBefore(..) => Vec::new(),
        })
        .collect();
    let fitting = Unit::ALL
        .into_iter()
        .filter(|unit| frames.iter().all(|frame| frame.goes_with(*unit)));
    let fitting: Vec<Unit> = fitting.collect();
    if random.chance(90) && !fitting.is_empty() {
        *random.pick(&fitting)
    } else {
        *random.pick(&Unit::ALL)
    }
}

pub(super) fn formula(measure: Measure) -> Formula {
    MEASURES.get(measure).expect("a measure").2
}

fn measure(random: &mut Random, by_periods: bool) -> Measure {
    if by_periods && random.chance(65) {
        PLAIN + random.below(MEASURES.len() - PLAIN)
    } else {
        random.below(PLAIN)
    }
}

fn asked(
    world: &World,
    random: &mut Random,
    by_periods: bool,
    around: Option<[usize; 3]>,
) -> Vec<Asked> {
    let first = match around {
        Some(around) => *random.pick(&around),
        None => random.below(world.tables.len()),
    };
    let table = |random: &mut Random| match around {
        _ if random.chance(70) => first,
        Some(around) => *random.pick(&around),
        None => random.below(world.tables.len()),
    };
    let mut asked: Vec<Asked> = Vec::new();
    for _ in 0..=random.below(3) {
        let within = random.chance(50).then(|| random.below(3));
        let one = match random.below(14) {
            11 => Asked::Share(table(random), within),
            12 => Asked::Rank(table(random), within),
            13 => {
                let all = [RowBeside::Previous, RowBeside::Change, RowBeside::Growth];
                Asked::RowBefore(table(random), *random.pick(&all))
            }
            0 => Asked::Ratio(table(random), table(random)),
            1 => Asked::Difference(table(random), table(random)),
            2 => {
                let table = table(random);
                looked_up(world, random, table).map_or(Asked::Measure(table, COUNT), |node| {
                    Asked::Product(table, node)
                })
            }
            3..5 => Asked::Mixed(table(random), measure(random, by_periods), table(random)),
            _ => Asked::Measure(table(random), measure(random, by_periods)),
        };
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    asked
}

/// No path may lead back: otherwise either node can be the home of an expression over both.
fn looked_up(world: &World, random: &mut Random, table: usize) -> Option<usize> {
    let keys = &world.tables.get(table)?.keys;
    let node = keys.get(random.below(keys.len().max(1)))?.node;
    (!lookups::reaches(world, node, table)).then_some(node)
}

fn key_dimension(world: &World, random: &mut Random, node: usize) -> Dimension {
    let columns = &world.table_of(node).columns;
    let column = random.below(columns.len());
    Dimension::Key {
        node,
        column,
        is_text: columns[column].is_text,
    }
}

fn key_filter(world: &World, random: &mut Random, node: usize) -> Filter {
    let columns = &world.table_of(node).columns;
    let column = random.below(columns.len());
    let cell = if columns[column].is_text {
        Cell::Text("x")
    } else {
        Cell::Integer(1)
    };
    Filter::Key(node, column, cell)
}

fn filters(
    world: &World,
    random: &mut Random,
    dimensions: &[Dimension],
    some_node: &dyn Fn(&mut Random) -> usize,
) -> Vec<Filter> {
    let (year, month, day) = FIRST;
    let first = calendar::day(year, month, day);
    let some_day = |random: &mut Random, spread: usize| {
        first + i64::try_from(random.below(spread)).expect("a small number")
    };
    let mut filters: Vec<Filter> = Vec::new();
    if random.chance(35) {
        let node = some_node(random);
        filters.push(if random.chance(50) {
            Filter::Text(node, "a")
        } else {
            Filter::Above(node, 2)
        });
    }
    let axis = dimensions.iter().find_map(|one| match one {
        Dimension::Time(node, _) => Some(*node),
        _ => None,
    });
    if let Some(node) = axis.filter(|_| random.chance(60)) {
        let from = some_day(random, 60);
        let lower = if random.chance(80) {
            Comparison::From
        } else {
            Comparison::After
        };
        filters.push(Filter::Time(node, lower, from));
        if random.chance(90) {
            let upper = if random.chance(60) {
                Comparison::Before
            } else {
                Comparison::To
            };
            let to = from + i64::try_from(random.below(60)).expect("a small number");
            filters.push(Filter::Time(node, upper, to));
        }
    } else if random.chance(10) {
        let node = some_node(random);
        filters.push(Filter::Time(node, Comparison::From, some_day(random, 40)));
    }
    if random.chance(6) {
        let node = axis.unwrap_or_else(|| some_node(random));
        filters.push(Filter::TimeOrText(node, some_day(random, 40)));
    }
    if random.chance(12) {
        let node = some_node(random);
        filters.push(match random.below(10) {
            0..2 => Filter::Lacks(node),
            2 => key_filter(world, random, node),
            3..5 => Filter::Flag(node, random.chance(50)),
            5..7 => Filter::NotText(node, "b"),
            _ => Filter::NoTextOr(node, some_node(random), 2),
        });
    }
    if random.chance(15) {
        let node = some_node(random);
        let table = world.nodes.get(node).map_or(0, |node| node.table);
        let by_periods = axis.is_some() && random.chance(50);
        filters.push(Filter::MeasureAbove(table, measure(random, by_periods), 1));
    }
    if random.chance(5) {
        let table = |random: &mut Random| {
            let node = some_node(random);
            world.nodes.get(node).map_or(0, |node| node.table)
        };
        filters.push(Filter::EitherAbove(table(random), table(random), 3));
    }
    filters
}
