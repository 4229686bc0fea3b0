//! Answers a query: ranks the documents, drops those that the user may not see, and renders the
//! hits.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};

use crate::document::{Field, Kind};
use crate::error::SearchError;
use crate::fusion::normalized;
use crate::near::blend;
use crate::postings::Card;
use crate::query::{Confidence, Hit, Lane, LaneReport, LaneStatus, Query, SearchOutcome};
use crate::ranking::{Lexicon, ScoredDocument, rank};
use crate::schema::{DocumentRow, Group, PassageRow};
use crate::snippet::{Marks, one_line};
use crate::terms::Terms;
use crate::text::Analyzer;
use crate::vectors::Matrix;

const LARGEST_POOL: usize = i32::MAX as usize;

/// Any text covers this much by chance.
const NOISE: f64 = 0.12;

const FITS: f64 = 0.45;

#[derive(Clone, Copy)]
pub(crate) enum Semantic<'m> {
    Skipped(&'static str),
    Near(&'m Matrix, &'m [f32]),
}

struct Candidate {
    scored: ScoredDocument,
    card: Arc<Card>,
}

pub(crate) fn search(
    lexicon: Lexicon<'_>,
    analyzer: &Analyzer,
    query: &Query,
    semantic: Semantic<'_>,
) -> Result<SearchOutcome, SearchError> {
    let db = lexicon.db;
    let terms = Terms::of(analyzer, &query.text);
    let pool = query.limit.saturating_mul(3).clamp(25, LARGEST_POOL);
    let mut stems = Vec::new();
    let mut candidates = Vec::new();
    if !terms.is_empty() && query.limit > 0 {
        let mut scored = Vec::new();
        for group in Group::ALL {
            let is_asked = |kind: &Kind| Group::of(*kind) == group;
            if query.kinds.is_empty() || query.kinds.iter().any(is_asked) {
                let least = match semantic {
                    Semantic::Near(..) => 0.0,
                    Semantic::Skipped(_) => NOISE,
                };
                let ranked = rank(lexicon, &terms, group, least)?;
                stems.extend(ranked.stems);
                scored.extend(match semantic {
                    Semantic::Near(matrix, numbers) => {
                        blend(ranked.documents, matrix.compare(numbers, group))
                    }
                    Semantic::Skipped(_) => ranked.documents,
                });
            }
        }
        scored.retain(|one| query.kinds.is_empty() || query.kinds.contains(&one.row.kind()));
        scored.retain(|one| one.covered >= NOISE || one.lanes.contains(Lane::Semantic));
        candidates = visible(lexicon, query, BestFirst::of(scored, pool), pool)?;
    }
    let best = candidates.first().map_or(0.0, |one| one.scored.score);
    let semantic = match semantic {
        Semantic::Near(..) => LaneStatus::Available,
        Semantic::Skipped(reason) => LaneStatus::Skipped { reason },
    };
    let lanes = reports(&candidates, pool, semantic);
    let marks = Marks::new(analyzer, &terms, &stems);
    let mut hits = Vec::new();
    for candidate in candidates.into_iter().take(query.limit) {
        let score = normalized(candidate.scored.score, best);
        hits.extend(hit(db, &marks, &candidate)?.map(|hit| Hit { score, ..hit }));
    }
    Ok(SearchOutcome {
        hits,
        lanes,
        warnings: Vec::new(),
    })
}

fn reports(candidates: &[Candidate], pool: usize, semantic: LaneStatus) -> Vec<LaneReport> {
    let count = |lane| {
        let found = candidates
            .iter()
            .filter(|one| one.scored.lanes.contains(lane));
        found.count()
    };
    [Lane::Lexical, Lane::Dictionary, Lane::Token, Lane::Semantic]
        .into_iter()
        .map(|lane| LaneReport {
            lane,
            status: match lane {
                Lane::Semantic => semantic,
                Lane::Lexical | Lane::Dictionary | Lane::Token => LaneStatus::Available,
            },
            pool,
            returned: count(lane),
        })
        .collect()
}

/// Sorts the rest only on demand, because most searches need only the first documents.
struct BestFirst {
    first: std::vec::IntoIter<ScoredDocument>,
    rest: Vec<ScoredDocument>,
}

impl BestFirst {
    fn of(mut scored: Vec<ScoredDocument>, pool: usize) -> Self {
        let by_score =
            |left: &ScoredDocument, right: &ScoredDocument| right.score.total_cmp(&left.score);
        let few = pool.saturating_mul(2);
        let rest = if scored.len() > few {
            scored.select_nth_unstable_by(few, by_score);
            scored.split_off(few)
        } else {
            Vec::new()
        };
        scored.sort_by(by_score);
        Self {
            first: scored.into_iter(),
            rest,
        }
    }
}

impl Iterator for BestFirst {
    type Item = ScoredDocument;

    fn next(&mut self) -> Option<ScoredDocument> {
        if let Some(next) = self.first.next() {
            return Some(next);
        }
        let mut rest = std::mem::take(&mut self.rest);
        rest.sort_by(|left, right| right.score.total_cmp(&left.score));
        self.first = rest.into_iter();
        self.first.next()
    }
}

/// Ties are ordered by kind, name and owner.
fn visible(
    lexicon: Lexicon<'_>,
    query: &Query,
    scored: BestFirst,
    pool: usize,
) -> Result<Vec<Candidate>, rusqlite::Error> {
    let asked = query
        .connection
        .as_ref()
        .map(ktx_vocabulary::ConnectionId::as_str);
    let mut seen: Vec<Candidate> = Vec::new();
    for one in scored {
        let is_worse = seen
            .last()
            .is_some_and(|last| last.scored.score > one.score);
        if seen.len() >= pool && is_worse {
            break;
        }
        let Some(card) = card(lexicon, one.row)? else {
            continue;
        };
        let is_own = card.owner.is_empty() || Some(card.owner.as_str()) == query.user.as_deref();
        let connection = card.connection.as_deref();
        let is_there = asked.is_none() || connection.is_none() || connection == asked;
        if is_own && is_there {
            seen.push(Candidate { scored: one, card });
        }
    }
    seen.sort_by(|left, right| {
        let by_score = right.scored.score.total_cmp(&left.scored.score);
        let by_kind = left.scored.row.kind().cmp(&right.scored.row.kind());
        let (left, right) = (&left.card, &right.card);
        let by_name = (&left.id, &left.owner).cmp(&(&right.id, &right.owner));
        by_score.then(by_kind).then(by_name)
    });
    seen.truncate(pool);
    Ok(seen)
}

/// Many documents can have the same score.
fn card(lexicon: Lexicon<'_>, row: DocumentRow) -> Result<Option<Arc<Card>>, rusqlite::Error> {
    let known = lexicon.postings.card(row);
    if known.is_some() {
        return Ok(known);
    }
    let mut statement = lexicon
        .db
        .prepare_cached("SELECT id, owner, connection FROM documents WHERE rowid = ?1")?;
    let found = statement.query_row([row.0], |row| {
        Ok(Card {
            id: row.get(0)?,
            owner: row.get(1)?,
            connection: row.get(2)?,
        })
    });
    let card = found.optional()?.map(Arc::new);
    if let Some(card) = &card {
        lexicon.postings.put_card(row, card);
    }
    Ok(card)
}

fn hit(
    db: &Connection,
    marks: &Marks<'_>,
    candidate: &Candidate,
) -> Result<Option<Hit>, rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "SELECT payload, name, display, description, comment, expr, sample_value, body
         FROM documents WHERE rowid = ?1",
    )?;
    let row = statement
        .query_row([candidate.scored.row.0], |row| {
            let mut texts = BTreeMap::new();
            for (index, field) in Field::ALL.into_iter().enumerate() {
                texts.insert(field, row.get::<_, String>(index + 1)?);
            }
            Ok((row.get::<_, String>(0)?, texts))
        })
        .optional()?;
    let Some((payload, mut texts)) = row else {
        return Ok(None);
    };
    let section = best_section(db, &candidate.scored)?;
    let mut section_heading = None;
    if let Some((heading, body)) = section {
        let is_in_body = marks.snippet(&body).is_some();
        texts.insert(Field::Body, if is_in_body { body } else { heading.clone() });
        section_heading = Some(heading).filter(|heading| !heading.is_empty());
    }
    let matched = Field::ALL.into_iter().find_map(|field| {
        let text = texts.get(&field)?;
        Some((field, marks.snippet(text)?))
    });
    let kind = candidate.scored.row.kind();
    let line = |field: Field| {
        texts
            .get(&field)
            .map(|text| one_line(text))
            .filter(|text| !text.is_empty())
    };
    let (matched_on, snippet) = match matched {
        Some((field, snippet)) => (field, Some(snippet)),
        None => (Field::Name, None),
    };
    Ok(Some(Hit {
        kind,
        id: candidate.card.id.clone(),
        connection: candidate.card.connection.clone(),
        owner: Some(candidate.card.owner.clone()).filter(|owner| !owner.is_empty()),
        score: 0.0,
        confidence: if candidate.scored.covered < FITS {
            Confidence::Weak
        } else {
            Confidence::Fits
        },
        covered: candidate.scored.covered,
        summary: line(Field::Description)
            .or_else(|| line(Field::Comment).filter(|_| kind != Kind::Wiki)),
        snippet,
        matched_on,
        section: section_heading,
        lanes: candidate.scored.lanes.list(),
        payload,
    }))
}

fn best_section(
    db: &Connection,
    scored: &ScoredDocument,
) -> Result<Option<(String, String)>, rusqlite::Error> {
    let Some(passage) = scored
        .best
        .filter(|passage: &PassageRow| !passage.is_head())
    else {
        return Ok(None);
    };
    db.prepare_cached("SELECT heading, body FROM sections WHERE rowid = ?1")?
        .query_row([passage.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}
