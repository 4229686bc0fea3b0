//! Learns key words: if `shain_bangou` numbers `shain` and `shiten_bangou` numbers `shiten`, then
//! `bangou` marks a key.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::facts::{ColumnFacts, TableFacts};
use crate::names::entity::{ColumnName, GLUED, KeyMark, entity_match};
use crate::names::lexicon::{ATTRIBUTES, GLUED_ENDINGS, MEASURES, STRONG_KEYS};
use crate::names::words::word_likeness;
use crate::profile::value::sentinel_hashes;
use crate::weights as w;

#[derive(Default)]
struct KeyTally {
    tables: BTreeSet<usize>,
    right: usize,
    wrong: usize,
}

pub(crate) fn learned_keys(tables: &[TableFacts<'_>]) -> BTreeSet<String> {
    let mut named = TableWords::of(tables);
    let ignored = sentinel_hashes();
    let mut seen: BTreeMap<String, KeyTally> = BTreeMap::new();
    for (at, table) in tables.iter().enumerate() {
        for column in table.columns.iter().filter(|column| column.can_be_child()) {
            for (word, rest) in splits(&column.name.words) {
                for found in named.tables(tables, &rest) {
                    let copy = tables.get(found).map(|table| table.name.layer);
                    if copy != Some(table.name.layer) {
                        continue;
                    }
                    let Some(right) = holds_keys(tables, (at, column), found, &ignored) else {
                        continue;
                    };
                    let seen = seen.entry(word.clone()).or_default();
                    seen.right += usize::from(right);
                    seen.wrong += usize::from(!right);
                    if right {
                        seen.tables.insert(found);
                    }
                }
            }
        }
    }
    for (word, bare) in bare_keys(tables) {
        let seen = seen.entry(word).or_default();
        seen.tables.extend(&bare.tables);
        seen.right += bare.right;
        seen.wrong += bare.wrong;
    }
    let learned = seen
        .into_iter()
        .filter(|(_, seen)| {
            seen.tables.len() >= w::LEARNED_TABLES.size()
                && seen.wrong * w::LEARNED_WRONG.size() <= seen.right
        })
        .map(|(word, _)| word);
    learned.chain(common_keys(tables)).collect()
}

/// Names of the first columns of several tables.
fn bare_keys(tables: &[TableFacts<'_>]) -> BTreeMap<String, KeyTally> {
    let mut seen: BTreeMap<String, KeyTally> = BTreeMap::new();
    for (at, table) in tables.iter().enumerate() {
        for (place, column) in table.columns.iter().enumerate() {
            let [word] = column.name.words.as_slice() else {
                continue;
            };
            let filled = column.profile.is_some_and(|profile| profile.values > 1);
            if !filled || !column.name.telling || !may_mark(word) {
                continue;
            }
            let seen = seen.entry(word.clone()).or_default();
            if place == 0 && table.primary == Some(0) {
                seen.right += 1;
                seen.tables.insert(at);
            } else {
                seen.wrong += 1;
            }
        }
    }
    seen
}

/// Such as `rec_id`. A table with that name rules it out: then the others extend its rows.
fn common_keys(tables: &[TableFacts<'_>]) -> BTreeSet<String> {
    let mut seen: BTreeMap<&[String], KeyTally> = BTreeMap::new();
    let mut keyed = 0;
    for (at, table) in tables.iter().enumerate() {
        keyed += usize::from(table.primary.is_some());
        for (place, column) in table.columns.iter().enumerate() {
            let words = column.name.words.as_slice();
            let telling = column.name.mark == KeyMark::Strong && column.name.telling;
            if words.len() < 2 || !telling || column.name.is_bare_key() {
                continue;
            }
            let seen = seen.entry(words).or_default();
            if table.primary == Some(place) {
                seen.right += 1;
                seen.tables.insert(at);
            } else {
                seen.wrong += 1;
            }
        }
    }
    let is_table = |words: &[String]| {
        let named = ColumnName::read(&words.join("_"), None, &BTreeSet::new());
        let mut all = tables.iter().flat_map(|table| &table.name.words);
        all.any(|word| {
            named
                .base()
                .iter()
                .any(|own| word_likeness(own, word) > w::SAME_WORD.get())
        })
    };
    seen.into_iter()
        .filter(|(_, seen)| {
            seen.tables.len() >= w::LEARNED_TABLES.size()
                && w::share(seen.tables.len(), keyed) >= w::LEARNED_COMMON.get()
        })
        .filter(|(words, seen)| {
            seen.wrong * w::LEARNED_WRONG.size() <= seen.right && !is_table(words)
        })
        .map(|(words, _)| words.join(" "))
        .collect()
}

fn splits(words: &[String]) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    if let [word] = words {
        let glued = GLUED_ENDINGS
            .iter()
            .find_map(|ending| Some((ending, word.strip_suffix(ending)?)));
        found.extend(
            glued.map(|(ending, stem)| (format!("{GLUED}{ending}"), vec![stem.to_owned()])),
        );
    }
    if let [first, rest @ ..] = words {
        found.push((first.clone(), rest.to_vec()));
    }
    if let [rest @ .., last] = words {
        found.push((last.clone(), rest.to_vec()));
    }
    found.retain(|(word, rest)| !rest.is_empty() && may_mark(word));
    found
}

fn may_mark(word: &str) -> bool {
    word.len() >= w::LEARNED_LETTERS.size()
        && !word.bytes().any(|byte| byte.is_ascii_digit())
        && !STRONG_KEYS.contains(&word)
        && !ATTRIBUTES.contains(&word)
        && (!MEASURES.contains(&word) || word == "seq")
}

/// Returns `None` if unknown.
fn holds_keys(
    tables: &[TableFacts<'_>],
    (own, column): (usize, &ColumnFacts<'_>),
    found: usize,
    ignored: &[u64],
) -> Option<bool> {
    let child = column.profile.filter(|profile| profile.values > 1)?;
    if own == found {
        return Some(child.uniqueness() >= w::KEY_REPEATS.get() && column.key > 0.0);
    }
    let table = tables.get(found)?;
    let parent = table.columns.get(table.primary?)?;
    if !column.family.comparable(parent.family) {
        return Some(false);
    }
    let keys = parent.profile.filter(|profile| profile.sketch.complete)?;
    let contained = child.sketch.containment_in(&keys.sketch, ignored)?;
    Some(contained.distinct.max(contained.rows) >= w::LEARNED_CONTAINED.get())
}

struct TableWords {
    by_letter: HashMap<char, Vec<usize>>,
    known: HashMap<Vec<String>, Vec<usize>>,
}

impl TableWords {
    fn of(tables: &[TableFacts<'_>]) -> Self {
        let mut by_letter: HashMap<char, Vec<usize>> = HashMap::new();
        for (at, table) in tables.iter().enumerate() {
            let first = table
                .name
                .words
                .first()
                .and_then(|word| word.chars().next());
            if let Some(letter) = first.filter(|_| table.name.telling) {
                by_letter.entry(letter).or_default().push(at);
            }
        }
        Self {
            by_letter,
            known: HashMap::new(),
        }
    }

    fn tables(&mut self, tables: &[TableFacts<'_>], words: &[String]) -> Vec<usize> {
        if let Some(known) = self.known.get(words) {
            return known.clone();
        }
        let letter = words.first().and_then(|word| word.chars().next());
        let bucket = letter.and_then(|letter| self.by_letter.get(&letter));
        let found: Vec<usize> = bucket
            .into_iter()
            .flatten()
            .copied()
            .filter(|at| {
                tables.get(*at).is_some_and(|table| {
                    table.name.words.len() == words.len()
                        && entity_match(words, &table.name.words) >= w::LEARNED_LIKENESS.get()
                })
            })
            .collect();
        self.known.insert(words.to_vec(), found.clone());
        found
    }
}
