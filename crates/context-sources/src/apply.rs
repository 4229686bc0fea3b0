//! Writes the facts of a source into manifest shards. Only values under the source's own writer key
//! change.

mod wire;

use std::collections::{BTreeMap, BTreeSet};

use ktx_project_store::{Change, ProjectPath};
use ktx_yaml::edit;
use serde_yaml::{Mapping, Value};

use crate::facts::{ColumnFacts, Facts, Reference, TableFacts, TableLocation, Writer};
use crate::folder::is_yaml;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pruning<'a> {
    /// Only if every file of the source could be read.
    Remove,
    RemoveUnlessSaid(&'a [Facts]),
    /// Facts of other sources under the same key are unknown.
    Keep,
}

impl<'a> Pruning<'a> {
    const fn others(self) -> &'a [Facts] {
        match self {
            Self::RemoveUnlessSaid(others) => others,
            Self::Remove | Self::Keep => &[],
        }
    }
}

#[derive(Debug, Default)]
pub struct FactChanges {
    pub changes: Vec<Change>,
    pub tables: usize,
    /// Tables that match no entry, or entries in several schemas.
    pub unknown: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("`{path}` cannot be read as YAML")]
    Unreadable { path: ProjectPath },
    #[error("`{path}:{line}` cannot be changed in place: {what}")]
    Obstacle {
        path: ProjectPath,
        line: usize,
        what: String,
    },
}

struct Shard<'a> {
    path: &'a ProjectPath,
    text: &'a str,
    old: Mapping,
    new: Mapping,
}

/// Writes facts about tables into the shards of a warehouse, or returns the first error and changes
/// none.
pub fn apply(
    facts: &Facts,
    shards: &BTreeMap<ProjectPath, Vec<u8>>,
    pruning: Pruning<'_>,
) -> Result<FactChanges, ApplyError> {
    let mut read: Vec<Shard<'_>> = shards
        .iter()
        .filter(|(path, _)| is_yaml(path.as_str()))
        .map(|(path, bytes)| shard(path, bytes))
        .collect::<Result<_, _>>()?;
    let mut applied = FactChanges::default();
    let places = places(&read);
    let (wanted, unknown) = match_tables(facts, &places);
    applied.unknown = unknown;
    applied.tables = wanted.values().filter(|table| !table.is_empty()).count();
    applied.unknown.sort();
    let prunes = pruning != Pruning::Keep && facts.is_complete;
    let others: Vec<_> = pruning
        .others()
        .iter()
        .map(|other| self::match_tables(other, &places).0)
        .collect();
    let references = references(facts, &places, &read);
    let told = FactWriter {
        writer: facts.writer,
        prunes,
        references: &references,
    };
    for (place, _) in &places {
        let table = wanted.get(place);
        if let Some(entry) = read
            .get_mut(place.0)
            .and_then(|shard| entry(&mut shard.new, &place.1))
        {
            let others: Vec<&TableFacts> = others
                .iter()
                .filter_map(|other| other.get(place).copied())
                .collect();
            match table {
                Some(table) => told.table(entry, table, &others),
                None if prunes => told.table(entry, &TableFacts::default(), &others),
                None => {}
            }
        }
    }
    for shard in read {
        if shard.old != shard.new {
            let text = edit(shard.text, &shard.old, &shard.new).map_err(|obstacle| {
                ApplyError::Obstacle {
                    path: shard.path.clone(),
                    line: obstacle.line,
                    what: obstacle.what.to_owned(),
                }
            })?;
            applied
                .changes
                .push(Change::write(shard.path.clone(), text));
        }
    }
    Ok(applied)
}

fn match_tables<'f, 'p>(
    facts: &'f Facts,
    places: &'p EntryNames,
) -> (BTreeMap<&'p EntryKey, &'f TableFacts>, Vec<String>) {
    let mut wanted: BTreeMap<&EntryKey, &TableFacts> = BTreeMap::new();
    let mut unknown = Vec::new();
    // Match tables with a known schema first: a table without one cannot be an entry that is
    // already matched.
    let (placed, mut unplaced): (Vec<_>, Vec<_>) = facts
        .tables
        .iter()
        .map(|table| (table.place(), table))
        .partition(|(place, _)| place.schema.is_some());
    for (place, table) in placed {
        match (
            matching_for(table, &place, places).as_slice(),
            place.loosened(),
        ) {
            ([], Some(loosened)) => unplaced.push((loosened, table)),
            (found, _) => take(found, table, &mut wanted, &mut unknown),
        }
    }
    for (place, table) in unplaced {
        let mut found = matching_for(table, &place, places);
        found.retain(|place| !wanted.contains_key(place));
        take(&found, table, &mut wanted, &mut unknown);
    }
    (wanted, unknown)
}

/// Returns the entries at a place. A table without facts matches no entry of an unknown schema.
fn matching_for<'p>(
    table: &TableFacts,
    place: &TableLocation,
    places: &'p EntryNames,
) -> Vec<&'p EntryKey> {
    let bare = if table.is_empty() {
        BareEntries::Skip
    } else {
        BareEntries::Match
    };
    matching(place, bare, places)
}

fn take<'f, 'p>(
    found: &[&'p EntryKey],
    table: &'f TableFacts,
    wanted: &mut BTreeMap<&'p EntryKey, &'f TableFacts>,
    unknown: &mut Vec<String>,
) {
    match found {
        [place] => {
            wanted.entry(place).or_insert(table);
        }
        _ if table.is_empty() => {}
        found => unknown.push(name(table, found.len())),
    }
}

fn shard<'a>(path: &'a ProjectPath, bytes: &'a [u8]) -> Result<Shard<'a>, ApplyError> {
    let unreadable = || ApplyError::Unreadable { path: path.clone() };
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable())?;
    let old = match serde_yaml::from_str(text) {
        Ok(Value::Mapping(map)) => map,
        Ok(Value::Null) => Mapping::new(),
        _ => return Err(unreadable()),
    };
    Ok(Shard {
        path,
        text,
        new: old.clone(),
        old,
    })
}

type EntryNames = Vec<(EntryKey, Vec<String>)>;

type EntryKey = (usize, String);

fn places(shards: &[Shard<'_>]) -> EntryNames {
    let mut places = Vec::new();
    for (index, shard) in shards.iter().enumerate() {
        let tables = shard.old.get("tables").and_then(Value::as_mapping);
        for (key, entry) in tables.into_iter().flatten() {
            let place = entry.as_mapping().and_then(|entry| entry.get("table"));
            let Some(key) = key.as_str() else { continue };
            let name = place.and_then(Value::as_str).unwrap_or(key);
            places.push(((index, key.to_owned()), parts(name)));
        }
    }
    places
}

fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut closing = None;
    for letter in name.chars() {
        match (closing, letter) {
            (Some(end), letter) if letter == end => closing = None,
            (None, '"' | '`') => closing = Some(letter),
            (None, '[') => closing = Some(']'),
            (None, '.') => parts.push(String::new()),
            (_, letter) => {
                if let Some(part) = parts.last_mut() {
                    part.extend(letter.to_lowercase());
                }
            }
        }
    }
    parts
}

fn references<'f>(
    facts: &'f Facts,
    places: &EntryNames,
    shards: &[Shard<'_>],
) -> BTreeMap<&'f Reference, Value> {
    let columns = facts.tables.iter().flat_map(|table| &table.columns);
    let references = columns.filter_map(|column| column.references.as_ref());
    let written = references.filter_map(|reference| {
        let mut found = matching(&reference.table, BareEntries::Match, places);
        if let (true, Some(loosened)) = (found.is_empty(), reference.table.loosened()) {
            found = matching(&loosened, BareEntries::Match, places);
        }
        let [(shard, key)] = found.as_slice() else {
            return None;
        };
        let tables = shards.get(*shard)?.old.get("tables")?.as_mapping()?;
        let entry = tables.get(key.as_str())?.as_mapping()?;
        let table = entry.get("table").and_then(Value::as_str).unwrap_or(key);
        let mut names = entry.get("columns")?.as_sequence()?.iter();
        let wanted = reference.column.to_lowercase();
        let column = names.find_map(|column| {
            let name = column.as_mapping()?.get("name")?.as_str()?;
            (name.to_lowercase() == wanted).then_some(name)
        })?;
        let pair = [("table", table), ("column", column)];
        let pair = pair.map(|(key, text)| (Value::from(key), Value::from(text)));
        Some((reference, Value::Mapping(Mapping::from_iter(pair))))
    });
    written.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BareEntries {
    Match,
    Skip,
}

fn matching<'p>(
    table: &TableLocation,
    bare: BareEntries,
    places: &'p EntryNames,
) -> Vec<&'p EntryKey> {
    let name = table.name.to_lowercase();
    let schema = table.schema.as_ref().map(|schema| schema.to_lowercase());
    let is_same = |parts: &[String]| match parts {
        [own] => *own == name && bare == BareEntries::Match,
        [outer @ .., around, own] => {
            let wanted = table.database.as_ref().map(|name| name.to_lowercase());
            let is_there = wanted
                .zip(outer.last())
                .is_none_or(|(wanted, outer)| wanted == *outer);
            let is_around = schema.as_ref().is_none_or(|schema| schema == around);
            *own == name && is_around && is_there
        }
        [] => false,
    };
    let found = places.iter().filter(|(_, parts)| is_same(parts));
    found.map(|(place, _)| place).collect()
}

fn name(table: &TableFacts, found: usize) -> String {
    let name = match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.clone(),
    };
    if found > 1 {
        format!("{name} (in {found} schemas)")
    } else {
        name
    }
}

fn list_of(texts: &[String]) -> Option<Value> {
    let list = texts.iter().map(|text| Value::from(text.as_str()));
    (!texts.is_empty()).then(|| Value::Sequence(list.collect()))
}

fn entry<'m>(shard: &'m mut Mapping, key: &str) -> Option<&'m mut Mapping> {
    let tables = shard.get_mut("tables").and_then(Value::as_mapping_mut)?;
    tables.get_mut(key).and_then(Value::as_mapping_mut)
}

#[derive(Clone, Copy)]
struct FactWriter<'a> {
    writer: Writer,
    prunes: bool,
    references: &'a BTreeMap<&'a Reference, Value>,
}

impl FactWriter<'_> {
    fn table(self, entry: &mut Mapping, table: &TableFacts, others: &[&TableFacts]) {
        let description = table
            .description
            .as_ref()
            .map(|text| Value::from(text.as_str()));
        self.unless_any(others, |other| other.description.is_some())
            .set(entry, "descriptions", description);
        self.circumstances(entry, table, others);
        let columns = entry.get_mut("columns").and_then(Value::as_sequence_mut);
        let mut said = BTreeSet::new();
        for column in columns
            .into_iter()
            .flatten()
            .filter_map(Value::as_mapping_mut)
        {
            let name = column
                .get("name")
                .and_then(Value::as_str)
                .map(str::to_lowercase);
            let Some(name) = name else { continue };
            let is_named = |facts: &&ColumnFacts| facts.name.to_lowercase() == name;
            let found = table.columns.iter().find(is_named);
            let others: Vec<&ColumnFacts> = others
                .iter()
                .filter_map(|other| other.columns.iter().find(is_named))
                .collect();
            let none = ColumnFacts::default();
            if said.insert(name.clone()) {
                self.column(column, found.unwrap_or(&none), &others);
            }
        }
    }

    fn circumstances(self, entry: &mut Mapping, table: &TableFacts, others: &[&TableFacts]) {
        self.unless_any(others, |other| !other.tags.is_empty()).set(
            entry,
            "tags",
            list_of(&table.tags),
        );
        self.unless_any(others, |other| !other.owners.is_empty())
            .set(entry, "owners", list_of(&table.owners));
        let freshness = table.freshness.as_ref().map(wire::freshness);
        self.unless_any(others, |other| other.freshness.is_some())
            .set(entry, "freshness", freshness);
        let exposures = table.exposures.iter().map(wire::exposure).collect();
        let exposures = (!table.exposures.is_empty()).then_some(Value::Sequence(exposures));
        self.unless_any(others, |other| !other.exposures.is_empty())
            .set(entry, "exposures", exposures);
    }

    fn column(self, column: &mut Mapping, facts: &ColumnFacts, others: &[&ColumnFacts]) {
        let description = facts
            .description
            .as_ref()
            .map(|text| Value::from(text.as_str()));
        self.unless_any(others, |other| other.description.is_some())
            .set(column, "descriptions", description);
        let mut constraints = Mapping::new();
        for (key, is_so) in [("not_null", facts.is_not_null), ("unique", facts.is_unique)] {
            if is_so {
                constraints.insert(key.into(), Value::Bool(true));
            }
        }
        let reference = facts.references.as_ref();
        if let Some(written) = reference.and_then(|reference| self.references.get(reference)) {
            constraints.insert("references".into(), written.clone());
        }
        let constraints = (!constraints.is_empty()).then_some(Value::Mapping(constraints));
        self.unless_any(others, |other| {
            other.is_not_null || other.is_unique || other.references.is_some()
        })
        .set(column, "constraints", constraints);
        let accepted = facts.accepted.as_ref().map(|values| {
            let values = values.iter().map(|value| Value::from(value.as_str()));
            Value::Sequence(values.collect())
        });
        self.unless_any(others, |other| other.accepted.is_some())
            .set(column, "enum_values", accepted);
    }

    fn unless_any<T>(self, others: &[&T], has_fact: impl Fn(&T) -> bool) -> Self {
        Self {
            prunes: self.prunes && !others.iter().any(|other| has_fact(other)),
            ..self
        }
    }

    fn set(self, entry: &mut Mapping, key: &str, value: Option<Value>) {
        let writer = self.writer.key();
        let is_there = entry.get(key).is_some_and(|value| !value.is_null());
        let by_writer = entry.get_mut(key).and_then(Value::as_mapping_mut);
        match (value, by_writer) {
            (Some(value), Some(by_writer)) => {
                by_writer.insert(writer.into(), value);
            }
            // The value is not a mapping by writer: a person wrote it, so it stays.
            (Some(_), None) if is_there => {}
            (Some(value), None) => {
                let by_writer = Mapping::from_iter([(Value::from(writer), value)]);
                entry.insert(key.into(), Value::Mapping(by_writer));
            }
            (None, Some(by_writer)) if self.prunes => {
                let was_ours = by_writer.shift_remove(writer).is_some();
                if was_ours && by_writer.is_empty() {
                    entry.shift_remove(key);
                }
            }
            (None, _) => {}
        }
    }
}
