//! Which documents answer a query best.
//!
//! Each term of a query is scored by itself, and a document counts with its best row for each term:
//! its head or one of its sections. That is BM25 over whole documents, except that a long document
//! does not lose against a short one, and that words which stand in one section count more.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use crate::query::Lane;
use crate::schema::{DocumentRow, Group, PassageRow};
use crate::terms::{Bond, Script, Term, Terms};
use crate::thesaurus::Thesaurus;
use crate::vocabulary;

/// BM25 weights of the columns of the full-text tables, in their order.
const WEIGHTS: &str = "6.0, 6.0, 4.0, 3.0, 2.0, 3.0, 4.0, 1.0";

/// What the words of one section add beside the best row of each.
const TOGETHER: f64 = 0.5;

/// What two terms add that stand side by side as they do in the query.
const ADJACENT: f64 = 0.5;

/// What a phrase adds that the query quotes.
const QUOTED: f64 = 1.5;

/// What a word counts that is misspelled by one letter, or by two.
const MISSPELLED: [f64; 3] = [1.0, 0.8, 0.6];

/// What a word counts that is joined with others.
const JOINED: f64 = 0.5;

/// How much of a score depends on the share of the query that a document has.
const COVERED: f64 = 0.4;

/// What a word counts that stands for the one of the query.
const SYNONYM: f64 = 0.4;

/// A part of a name stays below every document that has the word itself.
const BELOW_EXACT: f64 = 0.9;

/// What a word weighs that nothing in the index stands for.
const UNKNOWN: f64 = 0.8;

/// A word that more rows have is frequent.
const MANY_ROWS: usize = 2000;

/// Queries of more words are questions: parts of words would find anything.
const SHORT_QUERY: usize = 3;

/// One document with its score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    pub(crate) row: DocumentRow,
    pub(crate) score: f64,
    /// The share of the query that it has, from 0 to 1: rare words weigh more.
    pub(crate) covered: f64,
    pub(crate) lanes: Vec<Lane>,
    /// The row that has most of the query.
    pub(crate) best: Option<PassageRow>,
}

/// A group's answer.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    /// All documents with any word of the query, best first.
    pub(crate) documents: Vec<Scored>,
    /// Stems that stand for words of the query beside the words themselves.
    pub(crate) stems: Vec<String>,
}

/// The rows that have a term, with the share of its weight that each has earned.
type Rows = Vec<(PassageRow, f64)>;

/// Ranks the documents of a group.
pub(crate) fn rank(
    db: &Connection,
    thesaurus: &Thesaurus,
    terms: &Terms,
    group: Group,
) -> Result<Ranked, rusqlite::Error> {
    let mut scorer = Scorer::new(db, thesaurus, group)?;
    if scorer.total == 0 {
        return Ok(Ranked::default());
    }
    for term in &terms.all {
        scorer.add_term(term, terms.all.len() <= SHORT_QUERY)?;
    }
    for phrase in &terms.phrases {
        let weight = match phrase.bond {
            Bond::Quoted => QUOTED,
            Bond::Adjacent => ADJACENT,
        };
        let rows = scorer.rows(&phrase.expression(), Columns::Texts)?;
        let weight = weight * scorer.rarity(rows.len());
        for (row, earned) in best_of_each(&rows) {
            if let Some(document) = scorer.known(row) {
                document.score += weight * earned;
            }
        }
    }
    Ok(scorer.ranked())
}

/// Which columns a term is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    Texts,
    /// The columns of few words that say what a text is about.
    Titles,
    SampleValues,
}

impl Columns {
    const fn filter(self) -> &'static str {
        match self {
            Self::Texts => "{name display description comment expr heading body}",
            Self::Titles => "{name display description heading}",
            Self::SampleValues => "{sample_value}",
        }
    }
}

struct Scorer<'db> {
    db: &'db Connection,
    thesaurus: &'db Thesaurus,
    group: Group,
    /// Rows of the group.
    total: usize,
    documents: Vec<Scored>,
    places: HashMap<DocumentRow, usize>,
    passages: HashMap<PassageRow, f64>,
    /// The weight of all terms.
    asked: f64,
    stems: Vec<String>,
}

impl<'db> Scorer<'db> {
    fn new(
        db: &'db Connection,
        thesaurus: &'db Thesaurus,
        group: Group,
    ) -> Result<Self, rusqlite::Error> {
        let count = format!("SELECT count(*) FROM {}_docsize", group.table());
        let total: i64 = db.prepare_cached(&count)?.query_row([], |row| row.get(0))?;
        Ok(Self {
            db,
            thesaurus,
            group,
            total: usize::try_from(total).unwrap_or_default(),
            documents: Vec::new(),
            places: HashMap::new(),
            passages: HashMap::new(),
            asked: 0.0,
            stems: Vec::new(),
        })
    }

    /// The weight of a term that so many rows have.
    fn rarity(&self, rows: usize) -> f64 {
        let (total, rows) = (number(self.total), number(rows));
        (1.0 + (total - rows + 0.5).max(0.0) / (rows + 0.5)).ln()
    }

    /// What FTS5 takes for the weight of such a term; it takes none for one that most rows have.
    fn rarity_in_sqlite(&self, rows: usize) -> f64 {
        let (total, rows) = (number(self.total), number(rows));
        let weight = ((total - rows + 0.5) / (rows + 0.5)).ln();
        if weight > 0.0 { weight } else { 1e-6 }
    }

    /// The rows that an expression of one phrase finds.
    fn rows(&self, expression: &str, columns: Columns) -> Result<Rows, rusqlite::Error> {
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

    /// Rows of a frequent word: how often a text has it says little and costs much, so that only those
    /// are scored that have it in a title, a summary or a heading.
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

    /// The rows that an expression finds, in their order, with what SQL computes for each.
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

    /// The rows that have one of these stems.
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

    fn add_term(&mut self, term: &Term, is_short: bool) -> Result<(), rusqlite::Error> {
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
        let mut found: Vec<Found> = Vec::new();
        add(&mut found, &exact, weight, Lane::Lexical);
        add(&mut found, &values, weight, Lane::Dictionary);
        for (row, earned) in exact.iter().chain(&values) {
            *self.passages.entry(*row).or_default() += weight * earned;
        }
        let stand_ins = self.stand_ins(term, is_found, is_short)?;
        if !is_found {
            let weights = stand_ins.iter().map(|one| self.rarity(one.rows.len()));
            let most = weights.fold(0.0, f64::max);
            weight = if most > 0.0 { most } else { weight * UNKNOWN };
        }
        self.asked += weight;
        let least = found.iter().map(|one| one.score).fold(f64::MAX, f64::min);
        for one in stand_ins {
            let weight = one.share * weight.min(self.rarity(one.rows.len()));
            let mut more: Vec<Found> = Vec::new();
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

    /// What stands for a term: words with its meaning, and words near it.
    fn stand_ins(
        &mut self,
        term: &Term,
        is_found: bool,
        is_short: bool,
    ) -> Result<Vec<StandIn>, rusqlite::Error> {
        let mut all = Vec::new();
        if term.script != Script::Word {
            return Ok(all);
        }
        let thesaurus = self.thesaurus;
        for stem in thesaurus.others(&term.stems) {
            let rows = self.rows(&format!("\"{stem}\""), Columns::Texts)?;
            if !rows.is_empty() {
                self.stems.push(stem.to_owned());
                all.push(StandIn {
                    rows,
                    share: SYNONYM,
                    lane: Lane::Lexical,
                });
            }
        }
        if !is_found && all.is_empty() {
            self.add_misspelled(term, &mut all)?;
        }
        if all.is_empty() && !is_found || is_short {
            self.add_joined(term, &mut all)?;
        }
        Ok(all)
    }

    /// Adds the nearest words of a word that no row has.
    fn add_misspelled(
        &mut self,
        term: &Term,
        all: &mut Vec<StandIn>,
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
                all.push(StandIn {
                    rows,
                    share: share.unwrap_or(JOINED),
                    lane: Lane::Token,
                });
            }
        }
        Ok(())
    }

    /// Adds the words that a word is joined from, and the words that it is a part of.
    fn add_joined(&mut self, term: &Term, all: &mut Vec<StandIn>) -> Result<(), rusqlite::Error> {
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
                all.push(StandIn {
                    rows,
                    share: JOINED,
                    lane: Lane::Token,
                });
            }
        }
        Ok(())
    }

    /// Adds what was found of one term: the best of each document counts.
    fn merge(&mut self, mut found: Vec<Found>) {
        found.sort_by(|left, right| {
            let by_score = right.score.total_cmp(&left.score);
            left.row.cmp(&right.row).then(by_score)
        });
        let mut last = None;
        for one in found {
            let is_best = last != Some(one.row);
            last = Some(one.row);
            let place = *self.places.entry(one.row).or_insert_with(|| {
                self.documents.push(Scored {
                    row: one.row,
                    score: 0.0,
                    covered: 0.0,
                    lanes: Vec::new(),
                    best: None,
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

    fn known(&mut self, row: DocumentRow) -> Option<&mut Scored> {
        let place = *self.places.get(&row)?;
        self.documents.get_mut(place)
    }

    fn ranked(mut self) -> Ranked {
        let mut passages: Vec<(PassageRow, f64)> = self.passages.drain().collect();
        passages.sort_by(|left, right| {
            let by_score = right.1.total_cmp(&left.1);
            left.0
                .document()
                .cmp(&right.0.document())
                .then(by_score)
                .then(left.0.cmp(&right.0))
        });
        passages.dedup_by_key(|(row, _)| row.document());
        for (row, score) in passages {
            if let Some(document) = self.known(row.document()) {
                document.best = Some(row);
                document.score += TOGETHER * score;
            }
        }
        for document in &mut self.documents {
            document.covered = (document.covered / self.asked).min(1.0);
            document.score *= 1.0 - COVERED + COVERED * document.covered;
            document.lanes.sort();
        }
        self.documents.sort_by(|left, right| {
            right
                .score
                .total_cmp(&left.score)
                .then(left.row.cmp(&right.row))
        });
        Ranked {
            documents: self.documents,
            stems: self.stems,
        }
    }
}

/// Rows that have another word than the one that is asked for.
struct StandIn {
    rows: Rows,
    /// What it counts, compared with the word itself.
    share: f64,
    lane: Lane,
}

/// What one term has found of one document.
struct Found {
    row: DocumentRow,
    score: f64,
    covered: f64,
    lane: Lane,
}

fn add(found: &mut Vec<Found>, rows: &Rows, weight: f64, lane: Lane) {
    found.extend(best_of_each(rows).into_iter().map(|(row, earned)| Found {
        row,
        score: weight * earned,
        covered: weight,
        lane,
    }));
}

/// The best row of each document; the rows are ordered.
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
