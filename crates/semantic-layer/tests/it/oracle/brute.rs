//! Answers by brute force: every row of a home by itself, every look-up by scanning.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::world::{Asked, Filter, Measure, Question, Row, World};

/// What the right answer is.
pub(super) enum Expected {
    /// Rows: dimensions, then what was asked.
    Rows(Vec<Vec<Value>>),
    /// None: a refusal, and why.
    Refusal(&'static str),
}

/// One step of a look-up.
#[derive(Clone, Copy)]
enum Step {
    /// From a row to the row that its key names.
    Along { key: usize, to: usize },
    /// From a row to the only row whose unique key names it.
    Against { key: usize, to: usize },
}

/// The steps that lead from a node to others without multiplying rows.
fn steps(world: &World, from: usize) -> Vec<Step> {
    let node = &world.nodes[from];
    let mut steps = Vec::new();
    if !node.is_role {
        for (key, declared) in world.tables[node.table].keys.iter().enumerate() {
            steps.push(Step::Along {
                key,
                to: declared.node,
            });
        }
    }
    for (table, theirs) in world.tables.iter().enumerate() {
        for (key, declared) in theirs.keys.iter().enumerate() {
            if declared.node == from && declared.is_unique {
                steps.push(Step::Against { key, to: table });
            }
        }
    }
    steps
}

fn target(step: Step) -> usize {
    match step {
        Step::Along { to, .. } | Step::Against { to, .. } => to,
    }
}

/// All simple look-up paths from one node to another.
fn paths(
    world: &World,
    from: usize,
    to: usize,
    seen: &mut Vec<usize>,
    so_far: &mut Vec<Step>,
    all: &mut Vec<Vec<Step>>,
) {
    if from == to {
        all.push(so_far.clone());
        return;
    }
    seen.push(from);
    for step in steps(world, from) {
        if !seen.contains(&target(step)) {
            so_far.push(step);
            paths(world, target(step), to, seen, so_far, all);
            so_far.pop();
        }
    }
    seen.pop();
}

/// The only shortest path, if there is exactly one.
fn path(world: &World, from: usize, to: usize) -> Result<Vec<Step>, &'static str> {
    let mut all = Vec::new();
    paths(world, from, to, &mut Vec::new(), &mut Vec::new(), &mut all);
    let shortest = all
        .iter()
        .map(Vec::len)
        .min()
        .ok_or("it cannot be looked up")?;
    let mut best = all.into_iter().filter(|path| path.len() == shortest);
    match (best.next(), best.next()) {
        (Some(path), None) => Ok(path),
        _ => Err("two paths are equally short"),
    }
}

/// The row at the end of a path.
fn follow<'w>(world: &'w World, home: usize, row: &'w Row, path: &[Step]) -> Option<&'w Row> {
    let mut node = home;
    let mut row = Some(row);
    for step in path {
        row = match *step {
            Step::Along { key, to } => {
                let wanted = row.and_then(|row| row.keys[key]);
                wanted.and_then(|id| {
                    world.tables[world.nodes[to].table]
                        .rows
                        .iter()
                        .find(|row| row.id == id)
                })
            }
            Step::Against { key, to } => {
                let id = row.map(|row| row.id);
                id.and_then(|id| {
                    world.tables[world.nodes[to].table]
                        .rows
                        .iter()
                        .find(|row| row.keys[key] == Some(id))
                })
            }
        };
        node = target(*step);
    }
    debug_assert!(node < world.nodes.len());
    row
}

/// What is known of one table in one group.
#[derive(Default)]
struct Group {
    count: i64,
    numbers: Vec<i64>,
    numbers_of_a: Vec<i64>,
    texts: BTreeSet<&'static str>,
}

type Tuple = Vec<Option<&'static str>>;

/// The rows of a home that pass the filters, each with its dimension tuple.
fn rows_of<'w>(
    world: &'w World,
    question: &Question,
    home: usize,
) -> Result<Vec<(Tuple, &'w Row)>, &'static str> {
    let dimensions: Vec<Vec<Step>> = question
        .dimensions
        .iter()
        .map(|node| path(world, home, *node))
        .collect::<Result<_, _>>()?;
    let mut filters: Vec<(Vec<Step>, Filter)> = Vec::new();
    for filter in &question.filters {
        if let Filter::Text(node, _) | Filter::Above(node, _) = filter {
            filters.push((path(world, home, *node)?, *filter));
        }
    }
    let mut found = Vec::new();
    for row in &world.tables[world.nodes[home].table].rows {
        let passes = filters.iter().all(|(path, filter)| {
            let seen = follow(world, home, row, path);
            match filter {
                Filter::Text(_, text) => seen.and_then(|row| row.text) == Some(*text),
                Filter::Above(_, number) => seen
                    .and_then(|row| row.number)
                    .is_some_and(|own| own > *number),
                Filter::CountAbove(..) => true,
            }
        });
        if passes {
            let tuple = dimensions
                .iter()
                .map(|path| follow(world, home, row, path).and_then(|row| row.text))
                .collect();
            found.push((tuple, row));
        }
    }
    Ok(found)
}

fn sum(numbers: &[i64]) -> Option<f64> {
    let total: i64 = numbers.iter().sum();
    (!numbers.is_empty()).then(|| f64::from(i32::try_from(total).expect("a small number")))
}

fn real(number: i64) -> f64 {
    f64::from(i32::try_from(number).expect("a small number"))
}

fn measure(group: &Group, measure: Measure) -> Option<f64> {
    match measure {
        Measure::Count => Some(real(group.count)),
        Measure::Total => sum(&group.numbers),
        Measure::Kinds => Some(real(
            i64::try_from(group.texts.len()).expect("a small number"),
        )),
        Measure::Top => group.numbers.iter().max().map(|top| real(*top)),
        Measure::OnlyA => sum(&group.numbers_of_a),
        Measure::Mean => sum(&group.numbers)
            .filter(|_| group.count > 0)
            .map(|sum| sum / real(group.count)),
    }
}

/// The tables that a question has values from.
fn homes(question: &Question) -> BTreeSet<usize> {
    let mut homes = BTreeSet::new();
    for asked in &question.asked {
        match asked {
            Asked::Measure(table, _) => homes.extend([*table]),
            Asked::Ratio(left, right) | Asked::Difference(left, right) => {
                homes.extend([*left, *right]);
            }
        }
    }
    for filter in &question.filters {
        if let Filter::CountAbove(table, _) = filter {
            homes.insert(*table);
        }
    }
    homes
}

/// The right answer to a question.
pub(super) fn answer(world: &World, question: &Question) -> Expected {
    let mut groups: BTreeMap<usize, BTreeMap<Tuple, Group>> = BTreeMap::new();
    let mut tuples: BTreeSet<Tuple> = BTreeSet::new();
    for home in homes(question) {
        let rows = match rows_of(world, question, home) {
            Ok(rows) => rows,
            Err(why) => return Expected::Refusal(why),
        };
        let own = groups.entry(home).or_default();
        for (tuple, row) in rows {
            tuples.insert(tuple.clone());
            let group = own.entry(tuple).or_default();
            group.count += 1;
            group.numbers.extend(row.number);
            group
                .numbers_of_a
                .extend(row.number.filter(|_| row.text == Some("a")));
            group.texts.extend(row.text);
        }
    }
    if question.dimensions.is_empty() {
        tuples.insert(Vec::new());
    } else if question.include_empty
        && let [own] = question.dimensions.as_slice()
        && let Ok(rows) = rows_of(world, question, *own)
    {
        tuples.extend(rows.into_iter().map(|(tuple, _)| tuple));
    }
    let empty = Group::default();
    let group = |table: usize, tuple: &Tuple| {
        groups
            .get(&table)
            .and_then(|own| own.get(tuple))
            .unwrap_or(&empty)
    };
    let rows = tuples.iter().filter(|tuple| {
        question.filters.iter().all(|filter| match filter {
            Filter::CountAbove(table, number) => group(*table, tuple).count > *number,
            _ => true,
        })
    });
    let rows = rows.map(|tuple| {
        let mut row: Vec<Value> = tuple.iter().map(|text| json!(text)).collect();
        row.extend(
            question
                .asked
                .iter()
                .map(|asked| json!(value(*asked, &|table| group(table, tuple)))),
        );
        row
    });
    Expected::Rows(rows.collect())
}

/// The value of one column in one group: between different tables a missing side counts as 0.
fn value<'g>(asked: Asked, group: &dyn Fn(usize) -> &'g Group) -> Option<f64> {
    match asked {
        Asked::Measure(table, one) => measure(group(table), one),
        Asked::Ratio(left, right) => {
            let total = measure(group(left), Measure::Total);
            let total = if left == right {
                total
            } else {
                Some(total.unwrap_or(0.0))
            };
            let count = real(group(right).count);
            total.filter(|_| count != 0.0).map(|total| total / count)
        }
        Asked::Difference(left, right) if left == right => {
            measure(group(left), Measure::Total).map(|_| 0.0)
        }
        Asked::Difference(left, right) => {
            let side = |table| measure(group(table), Measure::Total).unwrap_or(0.0);
            Some(side(left) - side(right))
        }
    }
}
