//! Shrinks a failing model and question by removing parts.

use super::filter::Filter;
use super::question::{Asked, Beside, Dimension, Question};
use super::world::{Declared, Form, World};

pub(super) type Case = (World, Question);

pub(super) type Check<'a> = &'a mut dyn FnMut(&World, &Question) -> Option<String>;

pub(super) fn smallest(mut case: Case, check: Check<'_>) -> Case {
    while let Some(smaller) = smaller(&case)
        .into_iter()
        .find(|(world, question)| check(world, question).is_some())
    {
        case = smaller;
    }
    case
}

fn smaller((world, question): &Case) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    cases.extend(without_last_table(world, question));
    if !is_plain(world) {
        cases.push((plain(world), question.clone()));
    }
    let mut asked_less = |change: &dyn Fn(&mut Question)| {
        let mut less = question.clone();
        change(&mut less);
        cases.push((world.clone(), less));
    };
    for at in 0..question.filters.len() {
        asked_less(&|less| {
            less.filters.remove(at);
        });
    }
    for at in 0..question.dimensions.len() {
        asked_less(&|less| {
            less.dimensions.remove(at);
            less.top = None;
            less.per = None;
            if less.beside == Beside::Others {
                less.beside = Beside::Nothing;
            }
        });
    }
    for at in 0..question.asked.len().min(question.asked.len() * 2 - 2) {
        asked_less(&|less| {
            less.asked.remove(at);
            less.top = None;
            less.per = None;
            if less.beside == Beside::Others {
                less.beside = Beside::Nothing;
            }
        });
    }
    if question.beside != Beside::Nothing {
        asked_less(&|less| less.beside = Beside::Nothing);
    }
    if question.per.is_some() {
        asked_less(&|less| less.per = None);
    } else if question.top.is_some() && question.beside != Beside::Others {
        asked_less(&|less| less.top = None);
    }
    if !question.segments.is_empty() {
        asked_less(&|less| less.segments.clear());
    }
    if question.fill {
        asked_less(&|less| less.fill = false);
    }
    if question.include_empty != Some(false) {
        asked_less(&|less| less.include_empty = Some(false));
    }
    for (table, own) in world.tables.iter().enumerate() {
        for row in 0..own.rows.len() {
            let mut less = world.clone();
            less.tables[table].rows.remove(row);
            cases.push((less, question.clone()));
        }
        for key in 0..own.keys.len() {
            cases.extend(without_key(world, question, table, key));
        }
        for column in 0..own.columns.len() {
            cases.extend(without_column(world, question, table, column));
        }
        for part in 0..own.grain.len() {
            cases.extend(without_part(world, table, part).map(|less| (less, question.clone())));
        }
    }
    cases
}

/// Tables are nodes of their own number.
fn named(question: &Question) -> Vec<usize> {
    let asked = question.asked.iter().flat_map(|asked| match *asked {
        Asked::Measure(table, _)
        | Asked::Share(table, _)
        | Asked::Rank(table, _)
        | Asked::RowBefore(table, _) => vec![table],
        Asked::Ratio(left, right)
        | Asked::Mixed(left, _, right)
        | Asked::Difference(left, right)
        | Asked::Product(left, right) => {
            vec![left, right]
        }
    });
    let filters = question.filters.iter().flat_map(|filter| match *filter {
        Filter::MeasureAbove(node, ..) => vec![node],
        Filter::EitherAbove(one, other, _) => vec![one, other],
        filter => filter.nodes(),
    });
    let dimensions = question.dimensions.iter().map(|one| one.node());
    let segments = question.segments.iter().copied();
    asked
        .chain(filters)
        .chain(dimensions)
        .chain(segments)
        .collect()
}

fn without_node(world: &World, question: &Question, gone: usize) -> Option<Case> {
    if named(question).contains(&gone) {
        return None;
    }
    let place = |node: usize| if node > gone { node - 1 } else { node };
    let mut world = world.clone();
    world.nodes.remove(gone);
    for key in world.tables.iter_mut().flat_map(|table| &mut table.keys) {
        key.node = place(key.node);
    }
    let mut question = question.clone();
    for asked in &mut question.asked {
        *asked = match *asked {
            Asked::Measure(table, measure) => Asked::Measure(place(table), measure),
            Asked::Ratio(left, right) => Asked::Ratio(place(left), place(right)),
            Asked::Difference(left, right) => Asked::Difference(place(left), place(right)),
            Asked::Mixed(left, measure, right) => Asked::Mixed(place(left), measure, place(right)),
            Asked::Product(left, right) => Asked::Product(place(left), place(right)),
            Asked::Share(table, within) => Asked::Share(place(table), within),
            Asked::Rank(table, within) => Asked::Rank(place(table), within),
            Asked::RowBefore(table, beside) => Asked::RowBefore(place(table), beside),
        };
    }
    for dimension in &mut question.dimensions {
        *dimension = match *dimension {
            Dimension::Text(node) => Dimension::Text(place(node)),
            Dimension::Flag(node) => Dimension::Flag(place(node)),
            Dimension::Number(node) => Dimension::Number(place(node)),
            Dimension::IsLarge(node) => Dimension::IsLarge(place(node)),
            Dimension::Time(node, unit) => Dimension::Time(place(node), unit),
            Dimension::Key {
                node,
                column,
                is_text,
            } => Dimension::Key {
                node: place(node),
                column,
                is_text,
            },
        };
    }
    for filter in &mut question.filters {
        *filter = filter.moved(place);
    }
    for table in &mut question.segments {
        *table = place(*table);
    }
    Some((world, question))
}

fn without_key(world: &World, question: &Question, table: usize, key: usize) -> Option<Case> {
    let mut less = world.clone();
    let gone = less.tables[table].keys.remove(key);
    if world.nodes[gone.node].is_role {
        without_node(&less, question, gone.node)
    } else {
        Some((less, question.clone()))
    }
}

fn without_column(world: &World, question: &Question, table: usize, gone: usize) -> Option<Case> {
    let own = &world.tables[table];
    let is_of = |node: usize| world.nodes[node].table == table;
    let is_named = question.dimensions.iter().any(
        |one| matches!(*one, Dimension::Key { node, column, .. } if is_of(node) && column == gone),
    ) || question.filters.iter().any(
        |filter| matches!(*filter, Filter::Key(node, column, _) if is_of(node) && column == gone),
    );
    let mut keys = own.keys.iter();
    if is_named || own.grain.contains(&gone) || keys.any(|key| key.columns.contains(&gone)) {
        return None;
    }
    let place = |column: &mut usize| *column -= usize::from(*column > gone);
    let mut less = world.clone();
    let own = &mut less.tables[table];
    own.columns.remove(gone);
    own.grain.iter_mut().for_each(place);
    for key in &mut own.keys {
        key.columns.iter_mut().for_each(place);
    }
    for row in &mut own.rows {
        row.cells.remove(gone);
    }
    let mut question = question.clone();
    for one in &mut question.dimensions {
        if let Dimension::Key { node, column, .. } = one
            && is_of(*node)
        {
            place(column);
        }
    }
    for filter in &mut question.filters {
        if let Filter::Key(node, column, _) = filter
            && is_of(*node)
        {
            place(column);
        }
    }
    Some((less, question))
}

/// Keeps only grains that still identify rows.
fn without_part(world: &World, table: usize, part: usize) -> Option<World> {
    let mut less = world.clone();
    if world.tables[table].grain.len() == 1 {
        return None;
    }
    less.tables[table].grain.remove(part);
    for key in less.tables.iter_mut().flat_map(|one| &mut one.keys) {
        if key.target == table {
            key.columns.remove(part);
            key.form = Form::default();
        }
    }
    less.is_sound().then_some(less)
}

fn plain(world: &World) -> World {
    let mut plain = world.clone();
    for table in &mut plain.tables {
        for key in &mut table.keys {
            key.form = Form::default();
            key.declared = Declared::Here;
        }
        for column in &mut table.columns {
            column.is_hidden = false;
        }
    }
    plain
}

fn is_plain(world: &World) -> bool {
    world.tables.iter().all(|table| {
        let mut keys = table.keys.iter();
        keys.all(|key| key.form == Form::default() && key.declared == Declared::Here)
            && !table.columns.iter().any(|column| column.is_hidden)
    })
}

/// Only questions can name the last table.
fn without_last_table(world: &World, question: &Question) -> Option<Case> {
    let last = world.tables.len().checked_sub(1).filter(|last| *last > 0)?;
    let mut case = (world.clone(), question.clone());
    while !case.0.tables[last].keys.is_empty() {
        case = without_key(&case.0, &case.1, last, 0)?;
    }
    let is_target = |world: &World| {
        world
            .nodes
            .iter()
            .any(|node| node.is_role && node.table == last)
    };
    if is_target(&case.0) {
        return None;
    }
    case.0.tables.pop();
    without_node(&case.0, &case.1, last)
}
