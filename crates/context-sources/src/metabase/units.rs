//! Groups the cards of a database and collection into units that fit.

use std::collections::{BTreeMap, BTreeSet};

use super::card::card_of;
use super::read::MetabaseCrawl;
use crate::snapshot::Unit;

const LONGEST: usize = 40_000;

const CARDS: usize = 20;

/// Orders cards by id, so that a new one changes only the last part.
pub fn units(crawl: &MetabaseCrawl, database: u64) -> Vec<Unit> {
    let mut collections: BTreeMap<Option<u64>, Vec<(u64, &String)>> = BTreeMap::new();
    for path in crawl.snapshot.files.keys() {
        if let Some((of, card)) = card_of(path)
            && of == database
        {
            let collection = crawl.collections.get(&card).copied().flatten();
            collections
                .entry(collection)
                .or_default()
                .push((card, path));
        }
    }
    let mut units = Vec::new();
    for (collection, mut cards) in collections {
        cards.sort_unstable();
        let parts = parts(crawl, &cards);
        let name = collection.map_or_else(|| "root".to_owned(), |id| id.to_string());
        let place = crawl.places.get(&collection);
        let place = place.map_or("Our analytics", String::as_str);
        let count = parts.len();
        for (index, files) in parts.into_iter().enumerate() {
            let (key, label) = if index == 0 {
                (String::new(), String::new())
            } else {
                (
                    format!("-part-{}", index + 1),
                    format!(" (part {} of {count})", index + 1),
                )
            };
            units.push(Unit {
                key: format!("metabase-db-{database}-col-{name}{key}"),
                label: Some(format!("{place}{label}")),
                dependencies: dependencies(crawl, &files),
                files,
                peers: Vec::new(),
                writes_sources: true,
                note: None,
            });
        }
    }
    units
}

fn parts(crawl: &MetabaseCrawl, cards: &[(u64, &String)]) -> Vec<Vec<String>> {
    let mut parts: Vec<Vec<String>> = Vec::new();
    let mut room = 0;
    for (_, path) in cards {
        let text = crawl.snapshot.files.get(*path);
        let length = text.map_or(0, |text| text.chars().count());
        let is_full = parts.last().is_none_or(|part| part.len() == CARDS) || length > room;
        if is_full {
            parts.push(Vec::new());
            room = LONGEST;
        }
        room = room.saturating_sub(length);
        if let Some(part) = parts.last_mut() {
            part.push((*path).clone());
        }
    }
    parts
}

fn dependencies(crawl: &MetabaseCrawl, files: &[String]) -> Vec<String> {
    let cards = files.iter().filter_map(|file| card_of(file));
    let referred = cards.flat_map(|(_, card)| crawl.references.get(&card).into_iter().flatten());
    let referred: BTreeSet<u64> = referred.copied().collect();
    let paths = crawl.snapshot.files.keys();
    paths
        .filter(|path| card_of(path).is_some_and(|(_, card)| referred.contains(&card)))
        .filter(|path| !files.contains(path))
        .cloned()
        .collect()
}
