//! Finds tables and keys by words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::facts::Facts;
use crate::names::entity::entity_match;
use crate::names::lexicon::synonyms;
use crate::names::words::word_likeness;
use crate::types::ColumnId;
use crate::weights as w;

#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// By first letter.
    words: BTreeMap<char, BTreeMap<String, Vec<usize>>>,
    /// By the last three letters.
    endings: BTreeMap<String, BTreeSet<String>>,
    /// By initials.
    initials: BTreeMap<String, Vec<usize>>,
    /// By the last word that is not a key word.
    keys: BTreeMap<String, Vec<ColumnId>>,
    likenesses: HashMap<String, Vec<(usize, f64)>>,
}

impl NameIndex {
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let mut index = Self::default();
        for (at, table) in facts.tables.iter().enumerate() {
            if table.primary.is_none() || !table.included {
                continue;
            }
            for word in &table.name.words {
                index.add_word(word, at);
            }
            for word in table.name.whole.iter().skip(table.name.words.len()) {
                index.add_word(word, at);
            }
            if table.name.words.len() > 1 {
                index.add_word(&table.name.words.concat(), at);
                let letters: String = table
                    .name
                    .words
                    .iter()
                    .filter_map(|word| word.chars().next())
                    .collect();
                index.initials.entry(letters).or_default().push(at);
            }
        }
        for (at, key) in facts.keys() {
            for base in &key.name.bases {
                if let Some(last) = base.last() {
                    index.keys.entry(last.clone()).or_default().push(at);
                }
            }
        }
        index
    }

    fn add_word(&mut self, word: &str, table: usize) {
        let Some(first) = word.chars().next() else {
            return;
        };
        self.words
            .entry(first)
            .or_default()
            .entry(word.to_owned())
            .or_default()
            .push(table);
        self.endings
            .entry(ending(word))
            .or_default()
            .insert(word.to_owned());
    }

    /// With their likeness, best first.
    pub(crate) fn tables(
        &mut self,
        facts: &Facts<'_>,
        bases: &[Vec<String>],
        limit: usize,
    ) -> Vec<(usize, f64)> {
        let mut found: BTreeMap<usize, f64> = BTreeMap::new();
        for base in bases {
            let mut candidates: BTreeSet<usize> = BTreeSet::new();
            let joined = base.concat();
            for word in base.iter().chain((base.len() > 1).then_some(&joined)) {
                let likely = self.likely(word);
                candidates.extend(
                    likely
                        .iter()
                        .take(w::TABLES_OF_WORD.size())
                        .map(|(table, _)| *table),
                );
            }
            if let [word] = base.as_slice() {
                candidates.extend(self.initials.get(word).into_iter().flatten());
            }
            for table in candidates {
                let Some(facts) = facts.table(table) else {
                    continue;
                };
                let score = entity_match(base, &facts.name.words)
                    .max(entity_match(base, &facts.name.whole));
                if score >= w::VAGUE.get() {
                    let best = found.entry(table).or_insert(0.0);
                    *best = best.max(score);
                }
            }
        }
        let mut found: Vec<(usize, f64)> = found.into_iter().collect();
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found.truncate(limit);
        found
    }

    pub(crate) fn keys(&self, bases: &[Vec<String>], limit: usize) -> Vec<ColumnId> {
        let last = bases.iter().filter_map(|base| base.last());
        let found: BTreeSet<ColumnId> = last
            .filter_map(|word| self.keys.get(word))
            .flatten()
            .copied()
            .collect();
        found.into_iter().take(limit).collect()
    }

    fn likely(&mut self, word: &str) -> &[(usize, f64)] {
        if !self.likenesses.contains_key(word) {
            let found = self.compare(word);
            self.likenesses.insert(word.to_owned(), found);
        }
        self.likenesses
            .get(word)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    fn compare(&self, word: &str) -> Vec<(usize, f64)> {
        let mut found: BTreeMap<usize, f64> = BTreeMap::new();
        let mut note = |tables: &[usize], likeness: f64| {
            for table in tables {
                let best = found.entry(*table).or_insert(0.0);
                *best = best.max(likeness);
            }
        };
        let bucket = word.chars().next().and_then(|first| self.words.get(&first));
        for (other, tables) in bucket.into_iter().flatten() {
            let likeness = word_likeness(word, other);
            if likeness >= w::VAGUE.get() {
                note(tables, likeness);
            }
        }
        for other in synonyms(word) {
            let bucket = other
                .chars()
                .next()
                .and_then(|first| self.words.get(&first));
            for (form, tables) in bucket.into_iter().flatten() {
                if word_likeness(other, form) > w::SAME_WORD.get() {
                    note(tables, w::SYNONYM.get());
                }
            }
        }
        for other in self.endings.get(&ending(word)).into_iter().flatten() {
            let closes = other.len() >= w::COMPOUND_LETTERS.size()
                && word.ends_with(other.as_str())
                || word.len() >= w::COMPOUND_LETTERS.size() && other.ends_with(word);
            let bucket = other
                .chars()
                .next()
                .and_then(|first| self.words.get(&first));
            if let Some(tables) = bucket
                .and_then(|bucket| bucket.get(other))
                .filter(|_| closes)
            {
                note(tables, w::COMPOUND.get());
            }
        }
        let mut found: Vec<(usize, f64)> = found.into_iter().collect();
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found
    }
}

fn ending(word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    letters
        .iter()
        .skip(letters.len().saturating_sub(3))
        .collect()
}
