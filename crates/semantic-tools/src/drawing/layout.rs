//! Positions boxes in layers, with few crossings and whole pixels.

use std::collections::BTreeMap;

use super::model::Model;
use ktx_semantic_layer::graph::NodeId;

pub(super) const BOX_HEIGHT: i32 = 64;
pub(super) const MARGIN: i32 = 24;
const LAYER_GAP: i32 = 120;
const BOX_GAP: i32 = 28;
/// The height of a join that passes through a layer.
const PASSAGE: i32 = 12;
const SWEEPS: usize = 8;
const NARROWEST: i32 = 130;
pub(super) const LONGEST_TEXT: usize = 42;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    /// True if it starts at the join's `to` side.
    pub(super) is_turned: bool,
    /// At the edges of layers, left to right.
    pub(super) points: Vec<(i32, i32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) areas: Vec<Area>,
    pub(super) ways: Vec<Way>,
    pub(super) width: i32,
    pub(super) height: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Node(NodeId),
    Passage(usize, usize),
}

struct Link {
    left: NodeId,
    right: NodeId,
    is_turned: bool,
}

fn text_width(text: &str) -> i32 {
    let letters = text.chars().take(LONGEST_TEXT);
    letters
        .map(|letter| if letter.is_ascii() { 8 } else { 14 })
        .sum()
}

pub(super) fn content(model: &Model<'_>, node: NodeId) -> String {
    let Some(node) = model.nodes.get(node) else {
        return String::new();
    };
    if node.is_role {
        return format!("role of {}", node.source.name);
    }
    let counted = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let measures = node.source.measures.len();
    let columns = counted(node.source.columns.len(), "column");
    match measures {
        0 => columns,
        measures => format!("{columns}, {}", counted(measures, "measure")),
    }
}

pub(super) fn grain(model: &Model<'_>, node: NodeId) -> String {
    let source = model.nodes.get(node).map(|node| node.source);
    source.map_or_else(String::new, |source| {
        format!("one row per {}", source.grain.join(", "))
    })
}

pub(super) fn layout(model: &Model<'_>) -> Layout {
    let links = directed(model);
    let layer_of = layers(model, &links);
    let mut slots = slots(model, &links, &layer_of);
    let neighbours = neighbours(&links, &layer_of);
    order(&mut slots, &neighbours);
    place(model, &links, &layer_of, &slots)
}

/// Reverses joins that close a cycle.
fn directed(model: &Model<'_>) -> Vec<Link> {
    let mut states: BTreeMap<NodeId, Visit> = BTreeMap::new();
    let mut turned: Vec<bool> = vec![false; model.lines.len()];
    for start in model.by_name() {
        visit(model, start, &mut states, &mut turned);
    }
    let link = |(line, is_turned): (&super::model::Line, bool)| {
        let (left, right) = if is_turned {
            (line.to, line.from)
        } else {
            (line.from, line.to)
        };
        Link {
            left,
            right,
            is_turned,
        }
    };
    model.lines.iter().zip(turned).map(link).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Open,
    Done,
}

/// Not recursive, because chains of joins can be long.
fn visit(
    model: &Model<'_>,
    start: NodeId,
    states: &mut BTreeMap<NodeId, Visit>,
    turned: &mut [bool],
) {
    if states.contains_key(&start) {
        return;
    }
    states.insert(start, Visit::Open);
    let mut stack = vec![(start, 0)];
    while let Some((node, next)) = stack.pop() {
        let found = model
            .lines
            .iter()
            .enumerate()
            .skip(next)
            .find(|(_, line)| line.from == node);
        let Some((at, line)) = found else {
            states.insert(node, Visit::Done);
            continue;
        };
        stack.push((node, at + 1));
        match states.get(&line.to) {
            None => {
                states.insert(line.to, Visit::Open);
                stack.push((line.to, 0));
            }
            Some(Visit::Open) => {
                if let Some(turned) = turned.get_mut(at) {
                    *turned = true;
                }
            }
            Some(Visit::Done) => {}
        }
    }
}

/// One more than the rightmost node that looks this one up.
fn layers(model: &Model<'_>, links: &[Link]) -> Vec<usize> {
    let count = model.nodes.len();
    let mut layers = vec![0; count];
    let mut open: Vec<usize> = vec![0; count];
    for link in links {
        if let Some(open) = open.get_mut(link.right) {
            *open += 1;
        }
    }
    let mut ready: Vec<NodeId> = (0..count)
        .filter(|node| open.get(*node) == Some(&0))
        .collect();
    while let Some(node) = ready.pop() {
        let own = layers.get(node).copied().unwrap_or_default();
        for link in links.iter().filter(|link| link.left == node) {
            if let Some(layer) = layers.get_mut(link.right) {
                *layer = (*layer).max(own + 1);
            }
            if let Some(open) = open.get_mut(link.right) {
                *open -= 1;
                if *open == 0 {
                    ready.push(link.right);
                }
            }
        }
    }
    layers
}

fn layer(layer_of: &[usize], node: NodeId) -> usize {
    layer_of.get(node).copied().unwrap_or_default()
}

fn slots(model: &Model<'_>, links: &[Link], layer_of: &[usize]) -> Vec<Vec<Slot>> {
    let depth = layer_of.iter().max().map_or(0, |last| last + 1);
    let mut slots: Vec<Vec<Slot>> = vec![Vec::new(); depth];
    let is_joined = |node: &NodeId| {
        links
            .iter()
            .any(|link| link.left == *node || link.right == *node)
    };
    let (joined, alone): (Vec<NodeId>, Vec<NodeId>) =
        model.by_name().into_iter().partition(is_joined);
    for node in joined.into_iter().chain(alone) {
        if let Some(slots) = slots.get_mut(layer(layer_of, node)) {
            slots.push(Slot::Node(node));
        }
    }
    for (at, link) in links.iter().enumerate() {
        for passed in layer(layer_of, link.left) + 1..layer(layer_of, link.right) {
            if let Some(slots) = slots.get_mut(passed) {
                slots.push(Slot::Passage(at, passed));
            }
        }
    }
    slots
}

fn chain(at: usize, link: &Link, layer_of: &[usize]) -> Vec<Slot> {
    let passages = layer(layer_of, link.left) + 1..layer(layer_of, link.right);
    let mut chain = vec![Slot::Node(link.left)];
    chain.extend(passages.map(|passed| Slot::Passage(at, passed)));
    chain.push(Slot::Node(link.right));
    chain
}

type Neighbours = BTreeMap<Slot, (Vec<Slot>, Vec<Slot>)>;

fn neighbours(links: &[Link], layer_of: &[usize]) -> Neighbours {
    let mut all = Neighbours::new();
    for (at, link) in links.iter().enumerate() {
        let chain = chain(at, link, layer_of);
        for (left, right) in chain.iter().zip(chain.iter().skip(1)) {
            all.entry(*left).or_default().1.push(*right);
            all.entry(*right).or_default().0.push(*left);
        }
    }
    all
}

/// By the mean position of each slot's neighbors.
fn order(slots: &mut [Vec<Slot>], neighbours: &Neighbours) {
    let depth = slots.len();
    for sweep in 0..SWEEPS {
        let is_forth = sweep % 2 == 0;
        let layers: Vec<usize> = if is_forth {
            (1..depth).collect()
        } else {
            (0..depth.saturating_sub(1)).rev().collect()
        };
        for at in layers {
            let fixed = if is_forth { at - 1 } else { at + 1 };
            let places: BTreeMap<Slot, usize> = slots
                .get(fixed)
                .into_iter()
                .flatten()
                .enumerate()
                .map(|(place, slot)| (*slot, place))
                .collect();
            let middle = |slot: &Slot, own: usize| -> usize {
                let sides = neighbours.get(slot);
                let sides = sides.map(|(left, right)| if is_forth { left } else { right });
                let found: Vec<usize> = sides
                    .into_iter()
                    .flatten()
                    .filter_map(|slot| places.get(slot).copied())
                    .collect();
                // Thousandths allow integer arithmetic.
                match found.len() {
                    0 => own * 1000,
                    count => found.iter().sum::<usize>() * 1000 / count,
                }
            };
            if let Some(layer) = slots.get_mut(at) {
                let mut keyed: Vec<(usize, Slot)> = layer
                    .iter()
                    .enumerate()
                    .map(|(own, slot)| (middle(slot, own), *slot))
                    .collect();
                keyed.sort_by_key(|(middle, _)| *middle);
                *layer = keyed.into_iter().map(|(_, slot)| slot).collect();
            }
        }
    }
}

const fn slot_height(slot: Slot) -> i32 {
    match slot {
        Slot::Node(_) => BOX_HEIGHT,
        Slot::Passage(..) => PASSAGE,
    }
}

fn place(model: &Model<'_>, links: &[Link], layer_of: &[usize], slots: &[Vec<Slot>]) -> Layout {
    let widths: Vec<i32> = slots
        .iter()
        .map(|layer| layer_width(model, layer))
        .collect();
    let height_of = |layer: &Vec<Slot>| -> i32 {
        let own: i32 = layer.iter().map(|slot| slot_height(*slot) + BOX_GAP).sum();
        own - BOX_GAP
    };
    let tallest = slots.iter().map(height_of).max().unwrap_or_default();
    let mut middles: BTreeMap<Slot, i32> = BTreeMap::new();
    let mut lefts: Vec<i32> = Vec::new();
    let mut x = MARGIN;
    for (layer, width) in slots.iter().zip(&widths) {
        lefts.push(x);
        x += width + LAYER_GAP;
        let mut y = MARGIN + (tallest - height_of(layer)) / 2;
        for slot in layer {
            middles.insert(*slot, y + slot_height(*slot) / 2);
            y += slot_height(*slot) + BOX_GAP;
        }
    }
    let left = |at: usize| lefts.get(at).copied().unwrap_or_default();
    let width = |at: usize| widths.get(at).copied().unwrap_or_default();
    let middle = |slot: Slot| middles.get(&slot).copied().unwrap_or_default();
    let areas = (0..model.nodes.len()).map(|node| Area {
        x: left(layer(layer_of, node)),
        y: middle(Slot::Node(node)) - BOX_HEIGHT / 2,
        width: width(layer(layer_of, node)),
    });
    let ways = links.iter().enumerate().map(|(at, link)| {
        let (first, last) = (layer(layer_of, link.left), layer(layer_of, link.right));
        let mut points = vec![(
            left(first) + width(first),
            port(links, &middles, at, Side::Right),
        )];
        for passed in first + 1..last {
            let y = middle(Slot::Passage(at, passed));
            points.push((left(passed), y));
            points.push((left(passed) + width(passed), y));
        }
        points.push((left(last), port(links, &middles, at, Side::Left)));
        Way {
            is_turned: link.is_turned,
            points,
        }
    });
    Layout {
        areas: areas.collect(),
        ways: ways.collect(),
        width: (x - LAYER_GAP + MARGIN).max(2 * MARGIN),
        height: tallest.max(0) + 2 * MARGIN,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Spreads the joins of a side in the order of their other ends.
fn port(links: &[Link], middles: &BTreeMap<Slot, i32>, at: usize, side: Side) -> i32 {
    let ends = |link: &Link| match side {
        Side::Right => (link.left, link.right),
        Side::Left => (link.right, link.left),
    };
    let Some((own, _)) = links.get(at).map(ends) else {
        return 0;
    };
    let middle = |node: NodeId| middles.get(&Slot::Node(node)).copied().unwrap_or_default();
    let mut sharing: Vec<(i32, usize)> = links
        .iter()
        .enumerate()
        .filter(|(_, link)| ends(link).0 == own)
        .map(|(at, link)| (middle(ends(link).1), at))
        .collect();
    sharing.sort_unstable();
    let count = i32::try_from(sharing.len()).unwrap_or(i32::MAX);
    let place = sharing
        .iter()
        .position(|(_, other)| *other == at)
        .unwrap_or_default();
    let place = i32::try_from(place).unwrap_or_default();
    middle(own) - BOX_HEIGHT / 2 + BOX_HEIGHT * (place + 1) / (count + 1)
}

fn layer_width(model: &Model<'_>, layer: &[Slot]) -> i32 {
    let nodes = layer.iter().filter_map(|slot| match slot {
        Slot::Node(node) => Some(*node),
        Slot::Passage(..) => None,
    });
    let widest = nodes.map(|node| {
        let marked = if model.chasm(node).is_some() { 28 } else { 0 };
        let texts = [content(model, node), grain(model, node)];
        let small = texts.iter().map(|text| text_width(text) * 7 / 8).max();
        (text_width(model.name(node)) * 9 / 8 + marked).max(small.unwrap_or_default()) + 24
    });
    widest.max().unwrap_or_default().max(NARROWEST)
}
