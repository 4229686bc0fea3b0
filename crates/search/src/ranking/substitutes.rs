//! Words that replace a term of the query: synonyms, corrected spellings, compounds.

use super::{JOINED, MISSPELLED, SYNONYM, Scorer};
use crate::postings::{Columns, Rows};
use crate::query::Lane;
use crate::terms::{Script, Term};
use crate::vocabulary;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    Found,
    Missed,
}

pub(super) struct Substitute {
    pub(super) rows: Rows,
    /// Weight relative to the word itself.
    pub(super) share: f64,
    pub(super) lane: Lane,
}

impl Scorer<'_> {
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
            let rows = self.rows(&format!("\"{stem}\""), Columns::Texts)?;
            if !rows.is_empty() {
                self.stems.push(stem.to_owned());
                all.push(Substitute {
                    rows,
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

    fn add_misspelled(
        &mut self,
        term: &Term,
        all: &mut Vec<Substitute>,
    ) -> Result<(), rusqlite::Error> {
        let mut least = None;
        for near in vocabulary::near(self.db, &term.word)? {
            if least.is_some_and(|least| near.distance > least) {
                break;
            }
            let rows = self.rows(&format!("\"{}\"", near.stem), Columns::Texts)?;
            if !rows.is_empty() {
                least = Some(near.distance);
                self.stems.push(near.stem);
                let share = MISSPELLED.get(near.distance).copied();
                all.push(Substitute {
                    rows,
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
        let mut expressions = Vec::new();
        let parts = vocabulary::parts(self.db, &term.word)?;
        if !parts.is_empty() {
            let both: Vec<String> = parts.iter().map(|part| format!("\"{part}\"")).collect();
            expressions.push(both.join(" AND "));
            self.stems.extend(parts);
        }
        for whole in vocabulary::wholes(self.db, &term.word)? {
            if !term.stems.contains(&whole) {
                expressions.push(format!("\"{whole}\""));
                self.stems.push(whole);
            }
        }
        for expression in expressions {
            let rows = self.rows(&expression, Columns::Texts)?;
            if !rows.is_empty() {
                all.push(Substitute {
                    rows,
                    share: JOINED,
                    lane: Lane::Token,
                });
            }
        }
        Ok(())
    }
}
