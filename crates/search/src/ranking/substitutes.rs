//! Words that replace a term of the query: synonyms, corrected spellings, compounds.

use std::sync::Arc;

use super::{Gathering, JOINED, MISSPELLED, SYNONYM};
use crate::postings::{Postings, Wanted};
use crate::query::Lane;
use crate::terms::{Script, Term};
use crate::vocabulary;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    Found,
    Missed,
}

pub(super) struct Substitute {
    pub(super) postings: Arc<Postings>,
    /// Weight relative to the word itself.
    pub(super) share: f64,
    pub(super) lane: Lane,
}

impl Gathering<'_> {
    pub(super) fn substitutes(
        &mut self,
        term: &Term,
        lookup: Lookup,
    ) -> Result<Vec<Substitute>, rusqlite::Error> {
        let mut all = Vec::new();
        if term.script != Script::Word {
            return Ok(all);
        }
        let thesaurus = self.thesaurus;
        for stem in thesaurus.others(&term.stems) {
            if let Some(postings) = self.texts(Wanted::Stem(stem.to_owned()))? {
                self.stems.push(stem.to_owned());
                all.push(Substitute {
                    postings,
                    share: SYNONYM,
                    lane: Lane::Lexical,
                });
            }
        }
        if lookup == Lookup::Missed && all.is_empty() {
            self.add_misspelled(term, &mut all)?;
        }
        if all.is_empty() && lookup == Lookup::Missed || self.matches_word_parts {
            self.add_joined(term, &mut all)?;
        }
        Ok(all)
    }

    fn texts(&self, wanted: Wanted) -> Result<Option<Arc<Postings>>, rusqlite::Error> {
        let found = self.reading.postings(wanted)?;
        Ok((found.texts > 0).then_some(found))
    }

    fn add_misspelled(
        &mut self,
        term: &Term,
        all: &mut Vec<Substitute>,
    ) -> Result<(), rusqlite::Error> {
        let mut least = None;
        for near in vocabulary::near(self.reading.db, &term.word)? {
            if least.is_some_and(|least| near.distance > least) {
                break;
            }
            if let Some(postings) = self.texts(Wanted::Stem(near.stem.clone()))? {
                least = Some(near.distance);
                self.stems.push(near.stem);
                let share = MISSPELLED.get(near.distance).copied();
                all.push(Substitute {
                    postings,
                    share: share.unwrap_or(JOINED),
                    lane: Lane::Token,
                });
            }
        }
        Ok(())
    }

    fn add_joined(
        &mut self,
        term: &Term,
        all: &mut Vec<Substitute>,
    ) -> Result<(), rusqlite::Error> {
        let mut wanted = Vec::new();
        let parts = vocabulary::parts(self.reading.db, &term.word)?;
        if !parts.is_empty() {
            wanted.push(Wanted::All(parts.clone()));
            self.stems.extend(parts);
        }
        for whole in vocabulary::wholes(self.reading.db, &term.word)? {
            if !term.stems.contains(&whole) {
                wanted.push(Wanted::Stem(whole.clone()));
                self.stems.push(whole);
            }
        }
        for wanted in wanted {
            if let Some(postings) = self.texts(wanted)? {
                all.push(Substitute {
                    postings,
                    share: JOINED,
                    lane: Lane::Token,
                });
            }
        }
        Ok(())
    }
}
