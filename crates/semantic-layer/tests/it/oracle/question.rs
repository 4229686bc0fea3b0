//! Random questions about a model.

use serde_json::{Value, json};

use super::calendar::{self, Unit};
use super::filter::{Comparison, Filter};
use super::lookups;
use super::measures::{COUNT, Formula, Frame, MEASURES, Measure, PLAIN, TOTAL};
use super::random::Random;
use super::world::{FIRST, TimeKind, World};

/// What is asked for in one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A measure of a table.
    Measure(usize, Measure),
    /// The total of one table over the count of another.
    Ratio(usize, usize),
    /// The total of one table less that of another.
    Difference(usize, usize),
    /// The sum over a table's rows of their number times that of a node that they look up.
    Product(usize, usize),
}

/// What rows are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    /// The text of a node.
    Text(usize),
    /// The time of a node, cut.
    Time(usize, Unit),
    /// The flag of a node.
    Flag(usize),
    /// The number of a node.
    Number(usize),
    /// Whether the number of a node is above 2, which a computed column says.
    IsLarge(usize),
}

impl Dimension {
    pub(super) fn node(self) -> usize {
        match self {
            Self::Text(node)
            | Self::Time(node, _)
            | Self::Flag(node)
            | Self::Number(node)
            | Self::IsLarge(node) => node,
        }
    }
}

/// A question to a world.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) asked: Vec<Asked>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) filters: Vec<Filter>,
    /// Tables whose measures see rows with the text `a` only.
    pub(super) segments: Vec<usize>,
    pub(super) include_empty: bool,
    pub(super) fill: bool,
    /// The column that rows are ordered by, downwards or not, and how many are wanted.
    pub(super) top: Option<(usize, bool, usize)>,
}

impl Question {
    pub(super) fn random(world: &World, random: &mut Random) -> Self {
        let by_periods = random.chance(55);
        let asked = asked(world, random, by_periods);
        let mut dimensions: Vec<Dimension> = Vec::new();
        // A node that everything asked for can look up is worth more than an honest choice.
        let likely = match asked.first() {
            Some(
                Asked::Measure(table, _)
                | Asked::Ratio(table, _)
                | Asked::Difference(table, _)
                | Asked::Product(table, _),
            ) => *table,
            None => 0,
        };
        let node = |random: &mut Random| {
            if random.chance(75) {
                likely
            } else {
                random.below(world.nodes.len())
            }
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
                match random.below(10) {
                    0 => Dimension::Flag(node),
                    1 => Dimension::Number(node),
                    2 => Dimension::IsLarge(node),
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
        Self {
            asked,
            dimensions,
            filters,
            segments,
            include_empty: random.chance(70),
            fill: by_periods && random.chance(25),
            top,
        }
    }

    /// The measures of tables that are asked for or filtered by.
    pub(super) fn measures(&self) -> Vec<(usize, Measure)> {
        let asked = self.asked.iter().flat_map(|asked| match *asked {
            Asked::Measure(table, measure) => vec![(table, measure)],
            Asked::Ratio(left, right) | Asked::Difference(left, right) => {
                vec![(left, COUNT), (right, COUNT)]
            }
            Asked::Product(table, _) => vec![(table, COUNT)],
        });
        let filters = self.filters.iter().flat_map(|filter| match *filter {
            Filter::MeasureAbove(table, measure, _) => vec![(table, measure)],
            Filter::EitherAbove(one, other, _) => vec![(one, TOTAL), (other, TOTAL)],
            _ => Vec::new(),
        });
        asked.chain(filters).collect()
    }

    /// The frames of the measures of a table.
    pub(super) fn frames(&self, table: usize) -> Vec<Frame> {
        let own = self.measures().into_iter().filter(|(own, _)| *own == table);
        own.flat_map(|(_, measure)| formula(measure).frames())
            .collect()
    }

    /// What a column of the answer is called in an order: dimensions, then what was asked.
    fn column(&self, world: &World, column: usize) -> String {
        let node = |node: usize| world.nodes.get(node).map_or("", |node| node.name.as_str());
        match self.dimensions.get(column) {
            Some(Dimension::Text(one)) => format!("{}.txt", node(*one)),
            Some(Dimension::Flag(one)) => format!("{}.flag", node(*one)),
            Some(Dimension::Number(one)) => format!("{}.num", node(*one)),
            Some(Dimension::IsLarge(one)) => format!("{}.is_large", node(*one)),
            Some(Dimension::Time(one, unit)) => format!("{}.at:{}", node(*one), unit.name()),
            None => {
                let at = column - self.dimensions.len();
                match self.asked.get(at) {
                    Some(Asked::Measure(table, measure)) => {
                        format!("t{table}.{}", measure_name(*measure))
                    }
                    _ => format!("m{at}"),
                }
            }
        }
    }

    /// The question as a query.
    pub(super) fn json(&self, world: &World) -> Value {
        let name =
            |node: usize| -> &str { world.nodes.get(node).map_or("", |node| node.name.as_str()) };
        let measures = self.asked.iter().enumerate().map(|(at, asked)| match asked {
            Asked::Measure(table, measure) => json!(format!("t{table}.{}", measure_name(*measure))),
            Asked::Ratio(left, right) => {
                json!({"expr": format!("t{left}.total / t{right}.cnt"), "name": format!("m{at}")})
            }
            Asked::Difference(left, right) => {
                json!({"expr": format!("t{left}.total - t{right}.total"), "name": format!("m{at}")})
            }
            Asked::Product(table, node) => json!({
                "expr": format!("sum({}.num * t{table}.num)", name(*node)), "name": format!("m{at}"),
            }),
        });
        let dimensions = self.dimensions.iter().map(|dimension| match dimension {
            Dimension::Text(node) => json!(format!("{}.txt", name(*node))),
            Dimension::Flag(node) => json!(format!("{}.flag", name(*node))),
            Dimension::Number(node) => json!(format!("{}.num", name(*node))),
            Dimension::IsLarge(node) => json!(format!("{}.is_large", name(*node))),
            Dimension::Time(node, unit) => {
                json!({"field": format!("{}.at", name(*node)), "granularity": unit.name()})
            }
        });
        let filters = self.filters.iter().map(|filter| match filter {
            Filter::Text(node, text) => format!("{}.txt = '{text}'", name(*node)),
            Filter::Above(node, number) => format!("{}.num > {number}", name(*node)),
            Filter::Time(node, comparison, day) => {
                let sign = match comparison {
                    Comparison::From => ">=",
                    Comparison::After => ">",
                    Comparison::Before => "<",
                    Comparison::To => "<=",
                };
                // Every other day is a literal with a type.
                let date = if day % 2 == 0 { "DATE " } else { "" };
                format!("{}.at {sign} {date}'{}'", name(*node), calendar::text(*day))
            }
            Filter::TimeOrText(node, day) => format!(
                "{node}.at >= '{}' or {node}.txt = 'a'",
                calendar::text(*day),
                node = name(*node)
            ),
            Filter::Lacks(node) => format!("{}.lacks = 'none'", name(*node)),
            Filter::Flag(node, true) => format!("{}.flag", name(*node)),
            Filter::Flag(node, false) => format!("{}.flag = false", name(*node)),
            Filter::NotText(node, text) => format!("not ({}.txt = '{text}')", name(*node)),
            Filter::NoTextOr(one, other, number) => format!(
                "{}.txt is null or {}.num > {number}",
                name(*one),
                name(*other)
            ),
            Filter::MeasureAbove(table, measure, number) => {
                format!("t{table}.{} > {number}", measure_name(*measure))
            }
            Filter::EitherAbove(one, other, number) => {
                format!("t{one}.total > {number} or t{other}.total > {number}")
            }
        });
        let segments = self.segments.iter().map(|table| format!("t{table}.of_a"));
        let mut query = json!({
            "measures": measures.collect::<Vec<_>>(),
            "dimensions": dimensions.collect::<Vec<_>>(),
            "filters": filters.collect::<Vec<_>>(),
            "include_empty": self.include_empty,
            "fill": self.fill,
            "limit": self.top.map_or(1_000_000, |(_, _, count)| count),
        });
        let fields = query.as_object_mut().expect("an object");
        if !self.segments.is_empty() {
            fields.insert("segments".to_owned(), json!(segments.collect::<Vec<_>>()));
        }
        if let Some((column, downwards, _)) = self.top {
            let direction = if downwards { "desc" } else { "asc" };
            let field = self.column(world, column);
            let order = json!([{"field": field, "direction": direction}]);
            fields.insert("order_by".to_owned(), order);
        }
        query
    }
}

/// The unit that a node's times tell apart: dates have no hours to ask for.
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

/// A unit that mostly fits what is asked for.
fn unit(random: &mut Random, asked: &[Asked]) -> Unit {
    let longer: Vec<Unit> = asked
        .iter()
        .flat_map(|asked| match *asked {
            Asked::Measure(_, measure) => formula(measure).frames(),
            Asked::Ratio(..) | Asked::Difference(..) | Asked::Product(..) => Vec::new(),
        })
        .flat_map(Frame::units)
        .collect();
    let fitting = Unit::ALL
        .into_iter()
        .filter(|unit| longer.iter().all(|longer| unit.fits(*longer)));
    let fitting: Vec<Unit> = fitting.collect();
    if random.chance(90) {
        *random.pick(&fitting)
    } else {
        *random.pick(&Unit::ALL)
    }
}

/// The meaning of a measure.
pub(super) fn formula(measure: Measure) -> Formula {
    MEASURES.get(measure).expect("a measure").2
}

fn measure_name(measure: Measure) -> &'static str {
    MEASURES.get(measure).expect("a measure").0
}

fn measure(random: &mut Random, by_periods: bool) -> Measure {
    if by_periods && random.chance(65) {
        PLAIN + random.below(MEASURES.len() - PLAIN)
    } else {
        random.below(PLAIN)
    }
}

fn asked(world: &World, random: &mut Random, by_periods: bool) -> Vec<Asked> {
    let first = random.below(world.tables.len());
    let table = |random: &mut Random| {
        if random.chance(70) {
            first
        } else {
            random.below(world.tables.len())
        }
    };
    let mut asked: Vec<Asked> = Vec::new();
    for _ in 0..=random.below(3) {
        let one = match random.below(10) {
            0 => Asked::Ratio(table(random), table(random)),
            1 => Asked::Difference(table(random), table(random)),
            2 => {
                let table = table(random);
                looked_up(world, random, table).map_or(Asked::Measure(table, COUNT), |node| {
                    Asked::Product(table, node)
                })
            }
            _ => Asked::Measure(table(random), measure(random, by_periods)),
        };
        if !asked.contains(&one) {
            asked.push(one);
        }
    }
    asked
}

/// A node that a key of a table leads to, and from which nothing leads back: where two nodes look up
/// each other, either may be the home of what names both.
fn looked_up(world: &World, random: &mut Random, table: usize) -> Option<usize> {
    let keys = &world.tables.get(table)?.keys;
    let node = keys.get(random.below(keys.len().max(1)))?.node;
    (!lookups::reaches(world, node, table)).then_some(node)
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
            0..3 => Filter::Lacks(node),
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
