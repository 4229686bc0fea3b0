//! Ranks the documents that match a query.
//!
//! Each term is scored separately, in the best row of each document: its head or one of its
//! sections. That is BM25 over whole documents, but a long document has no disadvantage, and words
//! in the same section count more.

mod substitutes;

use rusqlite::{Connection, params};

use crate::postings::{Columns, Lookup as RowLookup, RowMap, Rows, StatePostings};
use crate::query::Lane;
use crate::schema::{DocumentRow, Group, PassageRow};
use crate::terms::{Bond, Term, Terms};
use crate::thesaurus::Thesaurus;
use substitutes::Lookup;

/// BM25 weights of the full-text columns.
const WEIGHTS: &str = "6.0, 6.0, 4.0, 3.0, 2.0, 3.0, 4.0, 1.0";

/// Weight of the words in the best section, in addition to the best row of each word.
const TOGETHER: f64 = 0.5;

const ADJACENT: f64 = 0.5;

const QUOTED: f64 = 1.5;

/// Weight by edit distance: 0, 1 or 2.
const MISSPELLED: [f64; 3] = [1.0, 0.8, 0.6];

const JOINED: f64 = 0.5;

/// Share of the score that depends on the coverage of the query.
const COVERED: f64 = 0.4;

const SYNONYM: f64 = 0.4;

/// Factor that ranks a part of a name below every document with the word itself.
const BELOW_EXACT: f64 = 0.9;

const UNKNOWN: f64 = 0.8;

const MANY_ROWS: usize = 2000;

/// Longer queries are questions: parts of words would match anything.
const SHORT_QUERY: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredDocument {
    pub(crate) row: DocumentRow,
    pub(crate) score: f64,
    pub(crate) covered: f64,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) best: Option<PassageRow>,
    pub(crate) best_score: f64,
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

pub(crate) fn rank(
    lexicon: Lexicon<'_>,
    terms: &Terms,
    group: Group,
) -> Result<RankedDocuments, rusqlite::Error> {
    let mut scorer = Scorer::new(lexicon, group)?;
    scorer.matches_word_parts = terms.all.len() <= SHORT_QUERY;
    if scorer.total == 0 {
        return Ok(RankedDocuments::default());
    }
    for term in &terms.all {
        scorer.add_term(term)?;
    }
    for phrase in &terms.phrases {
        let weight = match phrase.bond {
            Bond::Quoted => QUOTED,
            Bond::Adjacent => ADJACENT,
        };
        let rows = scorer.rows(&phrase.expression(), Columns::Texts)?;
        let weight = weight * scorer.rarity(rows.len());
        for (row, earned) in best_of_each(&rows) {
            if let Some(document) = scorer.document_mut(row) {
                document.score += weight * earned;
            }
        }
    }
    Ok(scorer.ranked())
}

struct Scorer<'db> {
    db: &'db Connection,
    thesaurus: &'db Thesaurus,
    postings: &'db StatePostings<'db>,
    group: Group,
    matches_word_parts: bool,
    total: usize,
    documents: Vec<ScoredDocument>,
    places: RowMap<DocumentRow, usize>,
    passages: RowMap<PassageRow, f64>,
    asked: f64,
    stems: Vec<String>,
}

impl<'db> Scorer<'db> {
    fn new(lexicon: Lexicon<'db>, group: Group) -> Result<Self, rusqlite::Error> {
        let Lexicon {
            db,
            thesaurus,
            postings,
        } = lexicon;
        let count = format!("SELECT count(*) FROM {}_docsize", group.table());
        let total: i64 = db.prepare_cached(&count)?.query_row([], |row| row.get(0))?;
        Ok(Self {
            db,
            thesaurus,
            postings,
            group,
            matches_word_parts: false,
            total: usize::try_from(total).unwrap_or_default(),
            documents: Vec::new(),
            places: RowMap::default(),
            passages: RowMap::default(),
            asked: 0.0,
            stems: Vec::new(),
        })
    }

    fn rarity(&self, rows: usize) -> f64 {
        let (total, rows) = (number(self.total), number(rows));
        (1.0 + (total - rows + 0.5).max(0.0) / (rows + 0.5)).ln()
    }

    /// Returns the weight in FTS5; almost 0 if most rows have the term.
    fn rarity_in_sqlite(&self, rows: usize) -> f64 {
        let (total, rows) = (number(self.total), number(rows));
        let weight = ((total - rows + 0.5) / (rows + 0.5)).ln();
        if weight > 0.0 { weight } else { 1e-6 }
    }

    fn rows(&self, expression: &str, columns: Columns) -> Result<Rows, rusqlite::Error> {
        let lookup = RowLookup {
            group: self.group,
            columns,
            expression: expression.to_owned(),
        };
        if let Some(known) = self.postings.get(&lookup) {
            return Ok(Rows::clone(&known));
        }
        let rows = self.read_rows(expression, columns)?;
        self.postings.put(lookup, &rows);
        Ok(rows)
    }

    fn read_rows(&self, expression: &str, columns: Columns) -> Result<Rows, rusqlite::Error> {
        if self.total > MANY_ROWS && columns == Columns::Texts {
            let found = self.rows_with(expression, columns, "1.0")?;
            if found.len() > MANY_ROWS {
                return self.many_rows(expression, found);
            }
        }
        let bm25 = format!("-bm25({}, {WEIGHTS})", self.group.table());
        let mut rows = self.rows_with(expression, columns, &bm25)?;
        let weight = self.rarity_in_sqlite(rows.len());
        for (_, earned) in &mut rows {
            *earned /= weight;
        }
        Ok(rows)
    }

    /// Restricts a frequent word to rows with it in a title, summary or heading: how often a text
    /// uses it says little, and scoring all rows is slow.
    fn many_rows(&self, expression: &str, mut found: Rows) -> Result<Rows, rusqlite::Error> {
        let bm25 = format!("-bm25({}, {WEIGHTS})", self.group.table());
        let titles = self.rows_with(expression, Columns::Titles, &bm25)?;
        let weight = self.rarity_in_sqlite(titles.len());
        let mut titles = titles.into_iter().peekable();
        for (row, earned) in &mut found {
            if let Some((_, scored)) = titles.next_if(|(title, _)| title == row) {
                *earned = (scored / weight).max(1.0);
            }
        }
        Ok(found)
    }

    fn rows_with(
        &self,
        expression: &str,
        columns: Columns,
        computed: &str,
    ) -> Result<Rows, rusqlite::Error> {
        let table = self.group.table();
        let sql = format!("SELECT rowid, {computed} FROM {table} WHERE {table} MATCH ?1");
        let mut statement = self.db.prepare_cached(&sql)?;
        let matched = format!("{} : ({expression})", columns.filter());
        let rows = statement.query_map(params![matched], |row| {
            Ok((PassageRow(row.get(0)?), row.get(1)?))
        })?;
        rows.collect()
    }

    fn rows_of<'s>(
        &self,
        stems: impl Iterator<Item = &'s str>,
        columns: Columns,
    ) -> Result<Rows, rusqlite::Error> {
        let mut all: Rows = Vec::new();
        let mut lists = 0;
        for stem in stems {
            let rows = self.rows(stem, columns)?;
            if !rows.is_empty() {
                lists += 1;
                all.extend(rows);
            }
        }
        if lists > 1 {
            all.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
            all.dedup_by_key(|(row, _)| *row);
        }
        Ok(all)
    }

    fn add_term(&mut self, term: &Term) -> Result<(), rusqlite::Error> {
        let stems = term.expressions();
        let exact = self.rows_of(stems.iter().map(String::as_str), Columns::Texts)?;
        let values = match self.group {
            Group::Pages => Vec::new(),
            Group::Sources | Group::Tables => {
                self.rows_of(stems.iter().map(String::as_str), Columns::SampleValues)?
            }
        };
        let mut weight = self.rarity(exact.len().max(values.len()));
        let is_found = !exact.is_empty() || !values.is_empty();
        let mut found: Vec<TermMatch> = Vec::new();
        add(&mut found, &exact, weight, Lane::Lexical);
        add(&mut found, &values, weight, Lane::Dictionary);
        for (row, earned) in exact.iter().chain(&values) {
            *self.passages.entry(*row).or_default() += weight * earned;
        }
        let lookup = if is_found {
            Lookup::Found
        } else {
            Lookup::Missed
        };
        let substitutes = self.substitutes(term, lookup)?;
        if !is_found {
            let weights = substitutes.iter().map(|one| self.rarity(one.rows.len()));
            let most = weights.fold(0.0, f64::max);
            weight = if most > 0.0 { most } else { weight * UNKNOWN };
        }
        self.asked += weight;
        let least = found.iter().map(|one| one.score).fold(f64::MAX, f64::min);
        for one in substitutes {
            let weight = one.share * weight.min(self.rarity(one.rows.len()));
            let mut more: Vec<TermMatch> = Vec::new();
            add(&mut more, &one.rows, weight, one.lane);
            if one.lane == Lane::Token {
                for one in &mut more {
                    one.score = one.score.min(least * BELOW_EXACT);
                }
            }
            found.extend(more);
            if !is_found {
                for (row, earned) in &one.rows {
                    *self.passages.entry(*row).or_default() += weight * earned;
                }
            }
        }
        self.merge(found);
        Ok(())
    }

    fn merge(&mut self, mut found: Vec<TermMatch>) {
        found.sort_by(|left, right| {
            let by_score = right.score.total_cmp(&left.score);
            left.row.cmp(&right.row).then(by_score)
        });
        let mut last = None;
        for one in found {
            let is_best = last != Some(one.row);
            last = Some(one.row);
            let place = *self.places.entry(one.row).or_insert_with(|| {
                self.documents.push(ScoredDocument {
                    row: one.row,
                    score: 0.0,
                    covered: 0.0,
                    lanes: Vec::new(),
                    best: None,
                    best_score: 0.0,
                });
                self.documents.len() - 1
            });
            if let Some(document) = self.documents.get_mut(place) {
                if is_best {
                    document.score += one.score;
                    document.covered += one.covered;
                }
                if !document.lanes.contains(&one.lane) {
                    document.lanes.push(one.lane);
                }
            }
        }
    }

    fn document_mut(&mut self, row: DocumentRow) -> Option<&mut ScoredDocument> {
        let place = *self.places.get(&row)?;
        self.documents.get_mut(place)
    }

    fn ranked(mut self) -> RankedDocuments {
        #[expect(
            clippy::iter_over_hash_type,
            reason = "the best passage of a document is the same in any order"
        )]
        for (row, score) in std::mem::take(&mut self.passages) {
            if let Some(document) = self.document_mut(row.document()) {
                let is_better = document.best.is_none_or(|best| {
                    let by_score = score.total_cmp(&document.best_score);
                    by_score.then(best.cmp(&row)).is_gt()
                });
                if is_better {
                    document.best = Some(row);
                    document.best_score = score;
                }
            }
        }
        for document in &mut self.documents {
            document.score += TOGETHER * document.best_score;
            document.covered = (document.covered / self.asked).min(1.0);
            document.score *= 1.0 - COVERED + COVERED * document.covered;
            document.lanes.sort();
        }
        RankedDocuments {
            documents: self.documents,
            stems: self.stems,
        }
    }
}

struct TermMatch {
    row: DocumentRow,
    score: f64,
    covered: f64,
    lane: Lane,
}

fn add(found: &mut Vec<TermMatch>, rows: &Rows, weight: f64, lane: Lane) {
    found.extend(
        best_of_each(rows)
            .into_iter()
            .map(|(row, earned)| TermMatch {
                row,
                score: weight * earned,
                covered: weight,
                lane,
            }),
    );
}

fn best_of_each(rows: &Rows) -> Vec<(DocumentRow, f64)> {
    let mut best: Vec<(DocumentRow, f64)> = Vec::new();
    for (row, earned) in rows {
        match best.last_mut() {
            Some((last, most)) if *last == row.document() => *most = most.max(*earned),
            _ => best.push((row.document(), *earned)),
        }
    }
    best
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}
