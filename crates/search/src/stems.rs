//! Numbers the stems of many texts, so that each word is normalized once.

use std::collections::HashMap;

use crate::text::{Analyzer, Language, Token, case_parts, folded, run_parts, tokens};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StemId(u32);

impl std::hash::Hash for StemId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_i64(i64::from(self.0));
    }
}

impl StemId {
    const fn place(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stems {
    analyzer: Analyzer,
    by_word: [HashMap<String, StemId>; 2],
    by_stem: HashMap<String, StemId>,
    texts: Vec<String>,
    spellings: Vec<(String, String)>,
}

impl Stems {
    /// Appends the stems of a text in order. `None` separates runs, so that their letters are not
    /// adjacent.
    pub(crate) fn add(&mut self, language: Language, text: &str, found: &mut Vec<Option<StemId>>) {
        for token in tokens(text) {
            match token {
                Token::Run(range) => {
                    for part in run_parts(text.get(range).unwrap_or_default()) {
                        found.push(Some(self.id(part)));
                    }
                    found.push(None);
                }
                Token::Word(range) => {
                    let word = text.get(range).unwrap_or_default();
                    found.push(Some(self.word(language, word)));
                    let parts = case_parts(word);
                    if parts.len() > 1 {
                        let ids = parts
                            .into_iter()
                            .map(|part| Some(self.word(language, part)));
                        found.extend(ids);
                    }
                }
            }
        }
    }

    pub(crate) fn text(&self, id: StemId) -> &str {
        self.texts.get(id.place()).map_or("", String::as_str)
    }

    /// Returns the words that were new since the last call, with their stems.
    pub(crate) fn take_spellings(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.spellings)
    }

    fn word(&mut self, language: Language, word: &str) -> StemId {
        let slot = usize::from(language == Language::German);
        let known = self.by_word.get(slot).and_then(|words| words.get(word));
        if let Some(id) = known {
            return *id;
        }
        let folded = folded(word);
        let stem = self.analyzer.stem(language, &folded);
        self.spellings.push((folded, stem.clone()));
        let id = self.id(stem);
        if let Some(words) = self.by_word.get_mut(slot) {
            words.insert(word.to_owned(), id);
        }
        id
    }

    fn id(&mut self, stem: String) -> StemId {
        if let Some(id) = self.by_stem.get(&stem) {
            return *id;
        }
        let id = StemId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(stem.clone());
        self.by_stem.insert(stem, id);
        id
    }
}
