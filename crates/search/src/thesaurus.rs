//! Words of business that stand for each other, in English and German.
//!
//! People ask in words that a page does not use: they say `pay`, and the page says `salary`. A word
//! of the same group counts less than the word itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::{Analyzer, Language, folded};

/// One group a line.
const GROUPS: &str = include_str!("data/synonyms.txt");

#[derive(Debug, Default)]
pub(crate) struct Thesaurus {
    /// The groups of each stem, by their numbers.
    groups_of: BTreeMap<String, Vec<usize>>,
    groups: Vec<BTreeSet<String>>,
}

impl Thesaurus {
    pub(crate) fn new(analyzer: &Analyzer) -> Self {
        let mut thesaurus = Self::default();
        for line in GROUPS.lines().filter(|line| !line.starts_with('#')) {
            let mut group = BTreeSet::new();
            for word in line.split_whitespace() {
                let folded = folded(word);
                for language in [Language::English, Language::German] {
                    group.insert(analyzer.stem(language, &folded));
                }
            }
            let number = thesaurus.groups.len();
            for stem in &group {
                let of_stem = thesaurus.groups_of.entry(stem.clone()).or_default();
                of_stem.push(number);
            }
            thesaurus.groups.push(group);
        }
        thesaurus
    }

    /// The stems that stand for any of these, without these.
    pub(crate) fn others(&self, stems: &[String]) -> BTreeSet<&str> {
        let numbers = stems.iter().filter_map(|stem| self.groups_of.get(stem));
        let groups = numbers
            .flatten()
            .filter_map(|number| self.groups.get(*number));
        let others = groups.flatten().filter(|other| !stems.contains(other));
        others.map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests;
