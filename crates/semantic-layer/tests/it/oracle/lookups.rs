//! Look-ups by brute force.

use super::world::{Row, World};

#[derive(Clone, Copy)]
pub(super) enum Step {
    /// To the row that a key names.
    Along { from: usize, key: usize, to: usize },
    /// To the only row whose unique key names this one.
    Against { from: usize, key: usize, to: usize },
}

/// Only steps that do not multiply rows.
fn steps(world: &World, from: usize) -> Vec<Step> {
    let node = &world.nodes[from];
    let mut steps = Vec::new();
    if !node.is_role {
        for (key, declared) in world.tables[node.table].keys.iter().enumerate() {
            steps.push(Step::Along {
                from: node.table,
                key,
                to: declared.node,
            });
        }
    }
    for (table, theirs) in world.tables.iter().enumerate() {
        for (key, declared) in theirs.keys.iter().enumerate() {
            if declared.node == from && declared.is_unique {
                steps.push(Step::Against {
                    from: node.table,
                    key,
                    to: table,
                });
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

/// `None` if there is no path or the shortest is not unique.
pub(super) fn path(world: &World, from: usize, to: usize) -> Option<Vec<Step>> {
    let mut all = Vec::new();
    paths(world, from, to, &mut Vec::new(), &mut Vec::new(), &mut all);
    let shortest = all.iter().map(Vec::len).min()?;
    let mut best = all.into_iter().filter(|path| path.len() == shortest);
    best.next().filter(|_| best.next().is_none())
}

pub(super) fn reaches(world: &World, from: usize, to: usize) -> bool {
    let mut all = Vec::new();
    paths(world, from, to, &mut Vec::new(), &mut Vec::new(), &mut all);
    !all.is_empty()
}

pub(super) fn is_composite(world: &World, table: usize, node: usize) -> bool {
    let steps = path(world, table, node).unwrap_or_default();
    steps.into_iter().any(|step| {
        let (owner, key) = match step {
            Step::Along { from, key, .. } => (from, key),
            Step::Against { key, to, .. } => (world.nodes[to].table, key),
        };
        world.tables[owner].keys[key].columns.len() > 1
    })
}

pub(super) fn follow<'w>(world: &'w World, row: &'w Row, path: &[Step]) -> Option<&'w Row> {
    let mut row = row;
    for step in path {
        let found = &world.tables[world.nodes[target(*step)].table];
        let (near, far) = match *step {
            Step::Along { from, key, .. } => (&world.tables[from].keys[key].columns, &found.grain),
            Step::Against { from, key, .. } => {
                (&world.tables[from].grain, &found.keys[key].columns)
            }
        };
        let wanted = row.key(near)?;
        let is_it = |other: &&Row| other.key(far).as_ref() == Some(&wanted);
        row = found.rows.iter().find(is_it)?;
    }
    Some(row)
}
