//! Finds a common beginning of a table's column names.

use crate::names::lexicon::STRONG_KEYS;
use crate::names::words::Words;
use crate::weights as w;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// `l` of `l_orderkey` and `l_partkey`.
    Word(String),
    /// `oh` of `OHCUST` and `OHDATE`.
    Letters(String),
}

impl Prefix {
    pub(crate) fn without(&self, all: &[String]) -> Option<Vec<String>> {
        let (first, rest) = all.split_first()?;
        match self {
            Self::Word(word) => (first == word && !rest.is_empty()).then(|| rest.to_vec()),
            Self::Letters(letters) => {
                let stem = first.strip_prefix(letters.as_str())?;
                (stem.len() >= w::PREFIX_STEM.size()).then(|| [&[stem.to_owned()], rest].concat())
            }
        }
    }
}

pub(crate) fn shared_prefix<'a>(columns: impl Iterator<Item = &'a str>) -> Option<Prefix> {
    let names: Vec<Vec<String>> = columns.map(|name| Words::of(name).0).collect();
    let first = names.first()?.first()?.clone();
    let sharing = names
        .iter()
        .filter(|words| words.len() > 1 && words.first() == Some(&first))
        .count();
    if names.len() < w::PREFIX_COLUMNS.size()
        || STRONG_KEYS.contains(&first.as_str())
        || first == "fk"
    {
        return None;
    }
    if w::share(sharing, names.len()) >= w::PREFIX_SHARE.get() {
        return Some(Prefix::Word(first));
    }
    // Single words must all share the letters.
    let letters: String = first.chars().take(w::PREFIX_LETTERS.size()).collect();
    let alike = names
        .iter()
        .filter_map(|words| words.first())
        .filter(|word| word.len() >= w::PREFIX_WORD.size() && word.starts_with(&letters))
        .count();
    (alike == names.len() && letters.is_ascii()).then_some(Prefix::Letters(letters))
}
