//! Plans the order of entries after an edit: existing ones keep theirs, new ones follow their
//! predecessor.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_yaml::{Mapping, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditStep {
    /// Positions before and after.
    Old {
        old: usize,
        new: usize,
    },
    New(usize),
}

/// An entry with the same `table` under another key was renamed.
pub(super) fn plan_keys(old: &Mapping, new: &Mapping) -> Vec<EditStep> {
    let mut places: HashMap<&Value, usize> = HashMap::new();
    let mut gone: HashMap<&str, usize> = HashMap::new();
    for (at, (key, value)) in old.iter().enumerate() {
        places.insert(key, at);
        if !new.contains_key(key)
            && let Some(table) = table_of(value)
        {
            gone.insert(table, at);
        }
    }
    let mut kept: BTreeMap<usize, usize> = BTreeMap::new();
    let mut behind: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    let mut last = None;
    for (nth, (key, value)) in new.iter().enumerate() {
        let renamed = || gone.remove(table_of(value)?);
        match places.get(key).copied().or_else(renamed) {
            Some(at) => {
                kept.insert(at, nth);
                last = Some(at);
            }
            None => behind.entry(last).or_default().push(nth),
        }
    }
    let mut steps: Vec<EditStep> = Vec::with_capacity(new.len());
    let mut add = |steps: &mut Vec<EditStep>, place: Option<usize>| {
        let new = behind.remove(&place).unwrap_or_default();
        steps.extend(new.into_iter().map(EditStep::New));
    };
    add(&mut steps, None);
    for (old, new) in kept {
        steps.push(EditStep::Old { old, new });
        add(&mut steps, Some(old));
    }
    steps
}

fn table_of(entry: &Value) -> Option<&str> {
    entry.get("table").and_then(Value::as_str)
}

pub(super) fn plan_items(old: &[Value], new: &[Value]) -> Vec<EditStep> {
    let mut places: HashMap<ItemIdentity<'_>, VecDeque<usize>> = HashMap::new();
    for (at, item) in old.iter().enumerate() {
        places
            .entry(ItemIdentity::of(item))
            .or_default()
            .push_back(at);
    }
    let mut steps = Vec::with_capacity(new.len());
    for (nth, item) in new.iter().enumerate() {
        let place = places.get_mut(&ItemIdentity::of(item));
        let old = place.and_then(VecDeque::pop_front);
        steps.push(old.map_or(EditStep::New(nth), |old| EditStep::Old { old, new: nth }));
    }
    steps
}

/// What makes an item the same after an edit.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ItemIdentity<'v> {
    Name(&'v str),
    /// The condition without white space.
    Join(&'v str, String),
    Sides(&'v Value, &'v Value),
    Value(&'v Value),
}

impl<'v> ItemIdentity<'v> {
    fn of(item: &'v Value) -> Self {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        match (text("name"), text("to"), text("on")) {
            (Some(name), ..) => Self::Name(name),
            (None, Some(to), Some(on)) => Self::Join(to, on.split_whitespace().collect()),
            _ => match (item.get("from"), item.get("to")) {
                (Some(from), Some(to)) => Self::Sides(from, to),
                _ => Self::Value(item),
            },
        }
    }
}

/// Returns the intended value with its keys in their old order.
pub(super) fn in_old_order(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Mapping(old), Value::Mapping(new)) => {
            let (before, after): (Vec<_>, Vec<_>) = (old.iter().collect(), new.iter().collect());
            let entry = |step: EditStep| match step {
                EditStep::New(nth) => after
                    .get(nth)
                    .map(|(key, value)| ((*key).clone(), (*value).clone())),
                EditStep::Old { old, new } => {
                    let ((_, old), (key, new)) = (before.get(old)?, after.get(new)?);
                    Some(((*key).clone(), in_old_order(old, new)))
                }
            };
            Value::Mapping(plan_keys(old, new).into_iter().filter_map(entry).collect())
        }
        (Value::Sequence(old), Value::Sequence(new)) => {
            let item = |step: EditStep| match step {
                EditStep::New(nth) => new.get(nth).cloned(),
                EditStep::Old { old: at, new: nth } => {
                    Some(in_old_order(old.get(at)?, new.get(nth)?))
                }
            };
            Value::Sequence(plan_items(old, new).into_iter().filter_map(item).collect())
        }
        (_, new) => new.clone(),
    }
}
