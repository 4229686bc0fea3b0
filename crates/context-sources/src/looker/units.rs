//! Groups files into units: an explore, and the dashboards and looks that query it most.

use std::collections::BTreeMap;

use super::LookerCrawl;
use super::item::{Item, escaped};
use crate::snapshot::Unit;

const LONGEST: usize = 40_000;

const MOST: usize = 20;

const NOTE: &str = "The files are what Looker says about a warehouse. An explore joins the tables of views; `${TABLE}.x` is a column \
of the view's table, `${x}` and `${view.x}` are dimensions. A measure aggregates its `sql` by its `type`, only over rows that its \
`filters` let pass; `count` without `sql` counts rows. `always_filter` is a rule that people rely on. A query of a dashboard or look \
names fields of its explore; `calculations` belong to that query alone.";

/// Returns the units of each warehouse by name. `warehouses` maps Looker connections to warehouses.
pub fn units(
    crawl: &LookerCrawl,
    warehouses: &BTreeMap<String, String>,
) -> BTreeMap<String, Vec<Unit>> {
    let mut all: BTreeMap<String, Vec<Unit>> = BTreeMap::new();
    for warehouse in warehouses.values() {
        all.entry(warehouse.clone()).or_default();
    }
    for (item, explore) in &crawl.explores {
        let connection = explore.connection.as_ref();
        if let Some(warehouse) = connection.and_then(|name| warehouses.get(name)) {
            let units = explore_units(crawl, item, warehouse);
            all.entry(warehouse.clone()).or_default().extend(units);
        }
    }
    let mut groups: BTreeMap<(Option<Item>, bool), Vec<&Item>> = BTreeMap::new();
    for (item, content) in &crawl.contents {
        let mut counts: BTreeMap<Item, usize> = BTreeMap::new();
        for explore in content.queried_explores() {
            if crawl.explores.contains_key(&explore) {
                *counts.entry(explore).or_default() += 1;
            }
        }
        let most = counts.values().copied().max();
        let home = counts
            .into_iter()
            .find(|(_, count)| Some(*count) == most)
            .map(|(explore, _)| explore);
        let is_look = matches!(item, Item::Look(_));
        groups.entry((home, is_look)).or_default().push(item);
    }
    for ((home, is_look), mut items) in groups {
        items.sort_by_key(|item| item.place());
        let explore = home.as_ref().and_then(|home| crawl.explores.get(home));
        let connection = explore.and_then(|explore| explore.connection.as_ref());
        // Content without a query belongs to the first warehouse.
        let warehouse = match connection {
            Some(connection) => warehouses.get(connection),
            None => warehouses.values().min(),
        };
        if let Some(warehouse) = warehouse {
            let kind = if is_look { "looks" } else { "dashboards" };
            let units = content_units(crawl, kind, home.as_ref(), &items, warehouse);
            all.entry(warehouse.clone()).or_default().extend(units);
        }
    }
    all
}

pub fn scope(warehouse: &str) -> String {
    format!("looker.{warehouse}.")
}

fn unit_names(warehouse: &str, kind: &str, explore: Option<&Item>) -> (String, String) {
    let scope = scope(warehouse);
    match explore {
        Some(Item::Explore { model, explore }) => (
            format!("{scope}{kind}.{}.{}", escaped(model), escaped(explore)),
            format!("{model}.{explore}"),
        ),
        _ => (format!("{scope}{kind}"), "no explore".to_owned()),
    }
}

fn parts(crawl: &LookerCrawl, item: &Item) -> Vec<String> {
    let mut parts = Vec::new();
    loop {
        let part = item.part(parts.len() + 1);
        if !crawl.snapshot.files.contains_key(&part) {
            return parts;
        }
        parts.push(part);
    }
}

fn explore_units(crawl: &LookerCrawl, item: &Item, warehouse: &str) -> Vec<Unit> {
    let (key, name) = unit_names(warehouse, "explore", Some(item));
    let head = item.file();
    let parts = parts(crawl, item);
    if parts.is_empty() {
        return vec![unit(key, format!("explore {name}"), vec![head])];
    }
    let count = parts.len();
    let unit = |(index, part): (usize, String)| {
        let (key, label) = part_names(&key, &format!("explore {name}"), index, count);
        // Only the first unit writes the joins.
        if index == 0 {
            return unit(key, label, vec![head.clone(), part]);
        }
        Unit {
            dependencies: vec![head.clone()],
            ..unit(key, label, vec![part])
        }
    };
    parts.into_iter().enumerate().map(unit).collect()
}

/// Splits dashboards or looks by id, so that a new one changes only the last part.
fn content_units(
    crawl: &LookerCrawl,
    kind: &str,
    home: Option<&Item>,
    items: &[&Item],
    warehouse: &str,
) -> Vec<Unit> {
    let (key, name) = unit_names(warehouse, kind, home);
    let about: Vec<String> = home.map_or_else(Vec::new, |home| {
        let parts = parts(crawl, home).into_iter();
        std::iter::once(home.file()).chain(parts).collect()
    });
    let mut parts: Vec<Vec<&Item>> = Vec::new();
    let mut room = 0;
    for item in items {
        let text = crawl.snapshot.files.get(&item.file());
        let length = text.map_or(0, |text| text.chars().count());
        if parts.last().is_none_or(|part| part.len() == MOST) || length > room {
            parts.push(Vec::new());
            room = LONGEST;
        }
        room = room.saturating_sub(length);
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    let count = parts.len();
    let unit = |(index, part): (usize, Vec<&Item>)| {
        let titles = part.iter().filter_map(|item| crawl.contents.get(*item));
        let label = match titles.collect::<Vec<_>>().as_slice() {
            [only] => format!("{kind} of {name}: {}", only.title()),
            _ => format!("{kind} of {name}"),
        };
        let (key, label) = part_names(&key, &label, index, count);
        let files = part.iter().map(|item| item.file()).collect();
        // The explore is a peer, so that its changes do not repeat this unit.
        Unit {
            peers: about.clone(),
            writes_sources: home.is_some(),
            ..unit(key, label, files)
        }
    };
    parts.into_iter().enumerate().map(unit).collect()
}

fn part_names(key: &str, label: &str, index: usize, count: usize) -> (String, String) {
    let label = if count > 1 {
        format!("{label} (part {} of {count})", index + 1)
    } else {
        label.to_owned()
    };
    if index == 0 {
        (key.to_owned(), label)
    } else {
        (format!("{key}.part-{}", index + 1), label)
    }
}

fn unit(key: String, label: String, files: Vec<String>) -> Unit {
    Unit {
        key,
        label: Some(label),
        note: Some(NOTE),
        writes_sources: true,
        files,
        dependencies: Vec::new(),
        peers: Vec::new(),
    }
}
