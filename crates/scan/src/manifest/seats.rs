//! Assigns each table's entry to a file.
//!
//! An entry stays in its file; a later table gets its own. So two people who scan different new
//! tables write different files.

use std::collections::BTreeMap;

use ktx_manifest::parse;
use ktx_manifest::place;
use ktx_manifest::{Placement, is_own_file};
use ktx_vocabulary::TableRef;
use serde_yaml::{Mapping, Value};

use crate::manifest::joins::{FoundJoin, Way, stands};
use crate::wire::TableArtifact;

#[derive(Debug, Default)]
pub(crate) struct Seats {
    entries: BTreeMap<String, Vec<(String, Mapping)>>,
    paths: BTreeMap<TableRef, String>,
}

impl Seats {
    pub(crate) fn new(
        (shards, folder): (&BTreeMap<String, Vec<u8>>, &str),
        places: &BTreeMap<TableRef, Placement>,
        known: &BTreeMap<TableRef, TableArtifact>,
    ) -> Self {
        let mut seats = Self::default();
        let mut unreadable = Vec::new();
        for (path, bytes) in shards {
            let parsed = std::str::from_utf8(bytes).ok().map(parse);
            match parsed {
                Some(Ok(shard)) => seats.add(path, &shard),
                _ => unreadable.push(path),
            }
        }
        for (table, placement) in places {
            let shard = format!("{folder}/{}", placement.file);
            let path = match seats.of(table, placement, &shard) {
                Some((path, _)) if is_own_file(path) => path.clone(),
                Some(_) => shard,
                None if known.is_empty() || known.contains_key(table) => shard,
                // The entry can be in the unreadable shard.
                None if unreadable.contains(&&shard) => shard,
                None => format!("{folder}/{}", placement.own_file),
            };
            seats.paths.insert(table.clone(), path);
        }
        seats
    }

    fn add(&mut self, path: &str, shard: &Mapping) {
        let tables = shard.get("tables").and_then(Value::as_mapping);
        for (key, entry) in tables.into_iter().flatten() {
            let (Some(key), Some(entry)) = (key.as_str(), entry.as_mapping()) else {
                continue;
            };
            let place = match entry.get("table").and_then(Value::as_str) {
                Some(place) => place.to_owned(),
                None => unplaced(path, key),
            };
            let known = self.entries.entry(place).or_default();
            known.push((path.to_owned(), entry.clone()));
        }
    }

    fn of(
        &self,
        table: &TableRef,
        placement: &Placement,
        path: &str,
    ) -> Option<&(String, Mapping)> {
        let by_place = self.entries.get(&place::written(table));
        // Older versions did not quote names.
        let known = by_place
            .or_else(|| self.entries.get(&table.to_string()))
            .or_else(|| self.entries.get(&unplaced(path, &placement.key)))?;
        let here = known.iter().find(|(at, _)| at == path);
        here.or_else(|| known.iter().find(|(at, _)| is_own_file(at)))
            .or_else(|| known.first())
    }

    pub(crate) fn path(&self, table: &TableRef) -> Option<&String> {
        self.paths.get(table)
    }

    pub(crate) fn holds(
        &self,
        (table, own): (&TableRef, &Placement),
        found: &FoundJoin,
        far: &Placement,
    ) -> bool {
        let here = self.seat(table, own);
        let there = self.seat(&found.far, far);
        if stands(here.entry, &found.join.to, &found.join.on) {
            return true;
        }
        match found.way {
            Way::Forth => {
                let is_there = there.is_own && stands(there.entry, &own.source, &found.mirror);
                let is_theirs = here.entry.is_some() && there.entry.is_none() && there.is_own;
                !is_there && !is_theirs
            }
            Way::Back => here.entry.is_none() || !there.is_own,
        }
    }

    fn seat(&self, table: &TableRef, placement: &Placement) -> Seat<'_> {
        let path = self.paths.get(table);
        let is_own = path.is_some_and(|path| is_own_file(path));
        let known = path.and_then(|path| self.of(table, placement, path));
        Seat {
            entry: known.map(|(_, entry)| entry),
            is_own,
        }
    }
}

struct Seat<'a> {
    entry: Option<&'a Mapping>,
    is_own: bool,
}

fn unplaced(path: &str, key: &str) -> String {
    format!("{path}#{key}")
}
