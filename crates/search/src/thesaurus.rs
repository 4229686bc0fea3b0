//! Business synonyms in English and German. A synonym counts less than the word itself.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::text::{Analyzer, Language, folded};

const GROUPS: &str = include_str!("data/synonyms.txt");

/// Leading letters that a word shares with its stem.
const SAME_LETTERS: usize = 2;

/// Groups of synonyms. Stems are computed on demand, because one search needs few.
#[derive(Debug)]
pub(crate) struct Thesaurus {
    analyzer: Analyzer,
    groups: Vec<Synonyms>,
    by_letters: BTreeMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct Synonyms {
    words: Vec<String>,
    stems: OnceCell<BTreeSet<String>>,
}

impl Thesaurus {
    pub(crate) fn new() -> Self {
        let mut groups = Vec::new();
        let mut by_letters: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for line in GROUPS.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<String> = line.split_whitespace().map(folded).collect();
            for word in &words {
                let numbers = by_letters.entry(first_letters(word)).or_default();
                if numbers.last() != Some(&groups.len()) {
                    numbers.push(groups.len());
                }
            }
            groups.push(Synonyms {
                words,
                stems: OnceCell::new(),
            });
        }
        Self {
            analyzer: Analyzer::default(),
            groups,
            by_letters,
        }
    }

    pub(crate) fn others(&self, stems: &[String]) -> BTreeSet<&str> {
        let numbers: BTreeSet<usize> = stems
            .iter()
            .filter_map(|stem| self.by_letters.get(&first_letters(stem)))
            .flatten()
            .copied()
            .collect();
        let groups = numbers.iter().filter_map(|number| self.groups.get(*number));
        let groups = groups.map(|group| self.stems(group));
        let groups = groups.filter(|group| stems.iter().any(|stem| group.contains(stem)));
        let others = groups.flatten().filter(|other| !stems.contains(other));
        others.map(String::as_str).collect()
    }

    fn stems<'t>(&self, group: &'t Synonyms) -> &'t BTreeSet<String> {
        group.stems.get_or_init(|| {
            let languages = [Language::English, Language::German];
            let stems =
                |word: &String| languages.map(|language| self.analyzer.stem(language, word));
            group.words.iter().flat_map(stems).collect()
        })
    }
}

fn first_letters(word: &str) -> String {
    word.chars().take(SAME_LETTERS).collect()
}

#[cfg(test)]
mod tests;
