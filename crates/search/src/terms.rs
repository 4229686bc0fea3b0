//! Splits a query into terms and phrases.

mod words;

use std::collections::BTreeSet;

use crate::postings::Wanted;
use crate::text::{Analyzer, Language, Token, case_parts, folded, run_parts, tokens};
use words::{DEGREES, LIGHT_WORDS, STOP_WORDS};

const MAX_TERMS: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) word: String,
    pub(crate) stems: Vec<String>,
    pub(crate) script: Script,
    pub(crate) meaning: Meaning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Full,
    Light,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    Word,
    /// Two adjacent letters of a script without spaces.
    Pair,
    Letter,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    pub(crate) terms: Vec<Term>,
    pub(crate) bond: Bond,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bond {
    Quoted,
    Adjacent,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) all: Vec<Term>,
    pub(crate) phrases: Vec<Phrase>,
}

impl Term {
    fn word(analyzer: &Analyzer, word: &str) -> Self {
        let folded = folded(word);
        let languages = [Language::English, Language::German];
        let mut stems: Vec<String> = languages
            .iter()
            .map(|language| analyzer.stem(*language, &folded))
            .collect();
        stems.dedup();
        let is_light = LIGHT_WORDS.contains(&folded.as_str());
        Self {
            word: folded,
            stems,
            script: Script::Word,
            meaning: if is_light {
                Meaning::Light
            } else {
                Meaning::Full
            },
        }
    }

    fn pairs(run: &str) -> Vec<Self> {
        let mut parts = run_parts(run);
        let script = if parts.len() > 1 {
            parts.pop();
            Script::Pair
        } else {
            Script::Letter
        };
        parts
            .into_iter()
            .map(|part| Self {
                stems: vec![part.clone()],
                word: part,
                script,
                meaning: Meaning::Full,
            })
            .collect()
    }

    fn is_telling(&self) -> bool {
        match self.script {
            Script::Word => !STOP_WORDS.contains(&self.word.as_str()),
            // Endings and particles of Japanese are written in hiragana.
            Script::Pair | Script::Letter => !self
                .word
                .chars()
                .all(|letter| ('\u{3040}'..='\u{309f}').contains(&letter)),
        }
    }

    pub(crate) fn wanted(&self) -> Vec<Wanted> {
        let wanted = match self.script {
            Script::Letter => Wanted::Beginning,
            Script::Word | Script::Pair => Wanted::Stem,
        };
        self.stems.iter().cloned().map(wanted).collect()
    }
}

fn lighten_degrees(row: &mut [Term]) {
    let mut is_asked = false;
    for term in row {
        if is_asked && DEGREES.contains(&term.word.as_str()) {
            term.meaning = Meaning::Light;
        }
        is_asked = matches!(term.word.as_str(), "how" | "wie");
    }
}

impl Phrase {
    /// In each language.
    pub(crate) fn stems(&self) -> Vec<Vec<String>> {
        let languages = self.terms.iter().map(|term| term.stems.len()).max();
        let phrase = |language: usize| {
            let stems = self.terms.iter().filter_map(|term| {
                let stem = term.stems.get(language).or_else(|| term.stems.first());
                stem.cloned()
            });
            stems.collect()
        };
        (0..languages.unwrap_or_default()).map(phrase).collect()
    }
}

impl Terms {
    /// The only syntax is a pair of double quotes.
    pub(crate) fn of(analyzer: &Analyzer, query: &str) -> Self {
        let mut terms = Self::default();
        let parts: Vec<&str> = query.split('"').collect();
        let closed = parts.len() % 2 == 1;
        let mut all = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let quoted = index % 2 == 1 && (closed || index + 1 < parts.len());
            let bond = if quoted { Bond::Quoted } else { Bond::Adjacent };
            terms.add(analyzer, part, bond, &mut all);
        }
        if all.iter().any(Term::is_telling) {
            all.retain(Term::is_telling);
        }
        let mut seen = BTreeSet::new();
        all.retain(|term| seen.insert(term.word.clone()));
        all.truncate(MAX_TERMS);
        terms.all = all;
        let mut seen = BTreeSet::new();
        terms.phrases.retain(|phrase| seen.insert(phrase.stems()));
        terms.phrases.truncate(MAX_TERMS);
        terms
    }

    fn add(&mut self, analyzer: &Analyzer, part: &str, bond: Bond, all: &mut Vec<Term>) {
        let mut row: Vec<Term> = Vec::new();
        let mut end = 0;
        let mut name: Vec<Term> = Vec::new();
        for token in tokens(part) {
            let (range, found) = match token {
                Token::Run(range) => {
                    let pairs = Term::pairs(part.get(range.clone()).unwrap_or_default());
                    (range, pairs)
                }
                Token::Word(range) => {
                    let word = part.get(range.clone()).unwrap_or_default();
                    let words = case_parts(word);
                    let found = words.iter().map(|word| Term::word(analyzer, word));
                    (range, found.collect())
                }
            };
            // Names contain no spaces: `net_amount`, `orders.status`, `sell-through`.
            if part
                .get(end..range.start)
                .is_some_and(|gap| gap.contains(char::is_whitespace))
            {
                self.phrase(std::mem::take(&mut name), Bond::Quoted);
            }
            end = range.end;
            name.extend(found.iter().cloned());
            row.extend(found);
        }
        self.phrase(name, Bond::Quoted);
        lighten_degrees(&mut row);
        match bond {
            Bond::Quoted => self.phrase(row.clone(), bond),
            Bond::Adjacent => {
                for pair in row.windows(2) {
                    if pair.iter().all(Term::is_telling) {
                        self.phrase(pair.to_vec(), bond);
                    }
                }
            }
        }
        all.extend(row);
    }

    fn phrase(&mut self, terms: Vec<Term>, bond: Bond) {
        let of_words = terms.iter().all(|term| term.script != Script::Letter);
        if terms.len() > 1 && of_words {
            self.phrases.push(Phrase { terms, bond });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests;
