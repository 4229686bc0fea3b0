//! Ranks the documents that match a query.
//!
//! Each term is scored separately, in the best row of each document: its head or one of its
//! sections. That is BM25 over whole documents, but a long document has no disadvantage, and words
//! in the same section count more.

mod scoring;
mod substitutes;

use std::sync::Arc;

use rusqlite::Connection;

use crate::lanes::LaneSet;
use crate::postings::{Posting, Postings, StatePostings, Wanted};
use crate::query::Lane;
use crate::reading::Reading;
use crate::schema::{DocumentRow, Group, PassageRow};
use crate::terms::{Bond, Meaning, Term, Terms};
use crate::thesaurus::Thesaurus;
use substitutes::Lookup;

/// Weight of the words in the best section, in addition to the best row of each word.
const TOGETHER: f64 = 0.25;

const ADJACENT: f64 = 0.5;

const QUOTED: f64 = 1.5;

/// Weight by edit distance: 0, 1 or 2.
const MISSPELLED: [f64; 3] = [1.0, 0.8, 0.6];

const JOINED: f64 = 0.5;

/// Share of the score that depends on the coverage of the query.
const COVERED: f64 = 0.4;

const SYNONYM: f64 = 0.7;

/// Factor that ranks a part of a name below every document with the word itself.
const BELOW_EXACT: f64 = 0.9;

const UNKNOWN: f64 = 0.8;

/// Weight of a word of little meaning.
const LIGHT: f64 = 0.2;

/// Longer queries are questions: parts of words would match anything.
const SHORT_QUERY: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredDocument {
    pub(crate) row: DocumentRow,
    pub(crate) score: f64,
    pub(crate) covered: f64,
    pub(crate) lanes: LaneSet,
    pub(crate) best: Option<PassageRow>,
}

#[derive(Debug, Default)]
pub(crate) struct RankedDocuments {
    pub(crate) documents: Vec<ScoredDocument>,
    pub(crate) stems: Vec<String>,
}

#[derive(Clone, Copy)]
pub(crate) struct Lexicon<'db> {
    pub(crate) db: &'db Connection,
    pub(crate) thesaurus: &'db Thesaurus,
    pub(crate) postings: &'db StatePostings<'db>,
}

/// Returns the documents that cover at least this share of the query.
pub(crate) fn rank(
    lexicon: Lexicon<'_>,
    terms: &Terms,
    group: Group,
    least_covered: f64,
) -> Result<RankedDocuments, rusqlite::Error> {
    let mut gathering = Gathering {
        reading: Reading::new(lexicon.db, lexicon.postings, group)?,
        thesaurus: lexicon.thesaurus,
        matches_word_parts: terms.all.len() <= SHORT_QUERY,
        stems: Vec::new(),
    };
    if gathering.reading.size().passages == 0 {
        return Ok(RankedDocuments::default());
    }
    let found = terms.all.iter().map(|term| gathering.term(term, group));
    let found: Vec<TermLists> = found.collect::<Result<_, _>>()?;
    let mut phrases = Vec::new();
    for phrase in &terms.phrases {
        let weight = match phrase.bond {
            Bond::Quoted => QUOTED,
            Bond::Adjacent => ADJACENT,
        };
        let mut lists = Vec::new();
        for stems in phrase.stems() {
            lists.push(gathering.reading.postings(Wanted::Phrase(stems))?);
        }
        let weight = weight * gathering.rarity(count(&lists, Share::Text));
        let lists = lists.into_iter().filter(|list| !list.is_empty());
        phrases.extend(lists.map(|postings| TermList {
            postings,
            share: Share::Text,
            weight,
            lane: Lane::Lexical,
            most: f64::MAX,
            counts_in_passages: false,
        }));
    }
    Ok(RankedDocuments {
        documents: scoring::scored(found, phrases, least_covered),
        stems: gathering.stems,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    Text,
    Value,
}

impl Share {
    const fn of(self, posting: &Posting) -> f32 {
        match self {
            Self::Text => posting.text,
            Self::Value => posting.value,
        }
    }

    fn count(self, postings: &Postings) -> usize {
        match self {
            Self::Text => postings.texts,
            Self::Value => postings.values,
        }
    }
}

struct TermList {
    postings: Arc<Postings>,
    share: Share,
    weight: f64,
    lane: Lane,
    /// Maximum score of a document.
    most: f64,
    counts_in_passages: bool,
}

struct TermLists {
    lists: Vec<TermList>,
    /// Maximum covered weight.
    weight: f64,
}

struct Gathering<'db> {
    reading: Reading<'db>,
    thesaurus: &'db Thesaurus,
    matches_word_parts: bool,
    stems: Vec<String>,
}

impl Gathering<'_> {
    fn rarity(&self, rows: usize) -> f64 {
        let total = f64::from(u32::try_from(self.reading.size().passages).unwrap_or(u32::MAX));
        let rows = number(rows);
        (1.0 + (total - rows + 0.5).max(0.0) / (rows + 0.5)).ln()
    }

    fn term(&mut self, term: &Term, group: Group) -> Result<TermLists, rusqlite::Error> {
        let wanted = term.wanted().into_iter();
        let own = wanted.map(|wanted| self.reading.postings(wanted));
        let own: Vec<Arc<Postings>> = own.collect::<Result<_, _>>()?;
        let values = match group {
            Group::Pages => 0,
            Group::Sources | Group::Tables => count(&own, Share::Value),
        };
        let texts = count(&own, Share::Text);
        let meaning = match term.meaning {
            Meaning::Full => 1.0,
            Meaning::Light => LIGHT,
        };
        let mut weight = meaning * self.rarity(texts.max(values));
        let is_found = texts > 0 || values > 0;
        let mut lists: Vec<TermList> = Vec::new();
        for (count, share, lane) in [
            (texts, Share::Text, Lane::Lexical),
            (values, Share::Value, Lane::Dictionary),
        ] {
            let own = own.iter().filter(|_| count > 0);
            lists.extend(own.map(|postings| TermList {
                postings: Arc::clone(postings),
                share,
                weight,
                lane,
                most: f64::MAX,
                counts_in_passages: true,
            }));
        }
        let lookup = if is_found {
            Lookup::Found
        } else {
            Lookup::Missed
        };
        let substitutes = self.substitutes(term, lookup)?;
        let rarity = |list: &Arc<Postings>| self.rarity(list.texts);
        if !is_found {
            let weights = substitutes.iter().map(|one| rarity(&one.postings));
            let most = weights.fold(0.0, f64::max);
            weight = if most > 0.0 {
                meaning * most
            } else {
                weight * UNKNOWN
            };
        }
        let has_parts = substitutes.iter().any(|one| one.lane == Lane::Token);
        let least = if has_parts && is_found {
            BELOW_EXACT * scoring::least(&lists)
        } else {
            f64::MAX
        };
        lists.extend(substitutes.into_iter().map(|one| TermList {
            weight: one.share * weight.min(rarity(&one.postings)),
            postings: one.postings,
            share: Share::Text,
            most: if one.lane == Lane::Token {
                least
            } else {
                f64::MAX
            },
            lane: one.lane,
            counts_in_passages: !is_found,
        }));
        Ok(TermLists { lists, weight })
    }
}

/// Counts the passages that at least one list has.
fn count(lists: &[Arc<Postings>], share: Share) -> usize {
    match lists {
        [] => 0,
        [only] => share.count(only),
        several => {
            let mut passages: Vec<PassageRow> = several
                .iter()
                .flat_map(|list| &list.all)
                .filter(|posting| share.of(posting) > 0.0)
                .map(|posting| posting.passage)
                .collect();
            passages.sort();
            passages.dedup();
            passages.len()
        }
    }
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}
