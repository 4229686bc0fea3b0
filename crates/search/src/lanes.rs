//! Runs a query: the lanes, their fusion, and the display of each hit.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use crate::document::{Field, Kind};
use crate::fusion::{Ranking, fuse, normalized};
use crate::index::SearchError;
use crate::query::{Hit, Lane, LaneReport, LaneStatus, Query, SearchOutcome};
use crate::snippet::{around, one_line};
use crate::terms::{Terms, singular, triples, words};

const TEXTS: &str = "name display description comment expr body extra";

/// BM25 weights of the columns of the `words` table, in their order.
const WEIGHTS: &str = "8.0, 4.0, 3.0, 3.0, 2.0, 3.0, 1.0, 3.0";

/// The largest number of candidates of a lane: more than any index holds, and a number that SQLite
/// accepts.
const LARGEST_POOL: usize = i32::MAX as usize;

type Key = (Kind, String, String, i64);

pub(crate) fn search(db: &Connection, query: &Query) -> Result<SearchOutcome, SearchError> {
    let terms = Terms::of(&query.text);
    let pool = query.limit.saturating_mul(3).clamp(25, LARGEST_POOL);
    let mut found: BTreeMap<Lane, Vec<Key>> = BTreeMap::new();
    if !terms.is_empty() && query.limit > 0 {
        let lexical = terms.words_expression(TEXTS);
        found.insert(
            Lane::Lexical,
            by_words(db, query, lexical.as_deref(), pool)?,
        );
        let dictionary = terms.words_expression("sample_value");
        found.insert(
            Lane::Dictionary,
            by_words(db, query, dictionary.as_deref(), pool)?,
        );
        let mut token = by_pieces(db, query, &terms, pool)?;
        if token.is_empty() && found.values().all(Vec::is_empty) {
            token = by_likeness(db, query, &terms, pool)?;
        }
        found.insert(Lane::Token, token);
    }
    let rankings: Vec<Ranking<Key>> = found
        .iter()
        .map(|(lane, items)| Ranking {
            weight: lane.weight(),
            items: items.clone(),
        })
        .collect();
    let fused = fuse(&rankings);
    let best = fused.first().map_or(0.0, |(_, score)| *score);
    let mut hits = Vec::new();
    for (key, score) in fused.into_iter().take(query.limit) {
        let lanes = found
            .iter()
            .filter(|(_, items)| items.contains(&key))
            .map(|(lane, _)| *lane)
            .collect();
        hits.extend(hit(db, &terms, &key, lanes)?.map(|mut hit| {
            hit.score = normalized(score, best);
            hit
        }));
    }
    Ok(SearchOutcome {
        hits,
        lanes: reports(&found, pool),
        warnings: Vec::new(),
    })
}

fn reports(found: &BTreeMap<Lane, Vec<Key>>, pool: usize) -> Vec<LaneReport> {
    [Lane::Lexical, Lane::Dictionary, Lane::Token, Lane::Semantic]
        .into_iter()
        .map(|lane| LaneReport {
            lane,
            status: match lane {
                Lane::Semantic => LaneStatus::Skipped {
                    reason: "embedding_unconfigured",
                },
                Lane::Lexical | Lane::Dictionary | Lane::Token => LaneStatus::Available,
            },
            pool,
            returned: found.get(&lane).map_or(0, Vec::len),
        })
        .collect()
}

/// Builds the condition on documents and its parameters; the first parameter is the match
/// expression.
fn condition(query: &Query, expression: &str) -> (String, Vec<SqlValue>) {
    let mut values = vec![SqlValue::from(expression.to_owned())];
    let mut mark = |text: &str| {
        values.push(SqlValue::from(text.to_owned()));
        format!("?{}", values.len())
    };
    let kinds: BTreeSet<Kind> = query.kinds.iter().copied().collect();
    let kinds: Vec<String> = kinds.iter().map(|kind| mark(kind.as_str())).collect();
    let kinds = match kinds.as_slice() {
        [] => String::new(),
        marks => format!(" AND d.kind IN ({})", marks.join(", ")),
    };
    let connection = query
        .connection
        .as_ref()
        .map_or_else(String::new, |connection| {
            let mark = mark(connection.as_str());
            format!(" AND (d.connection IS NULL OR d.connection = {mark})")
        });
    let user = mark(query.user.as_deref().unwrap_or_default());
    let owner = format!(" AND (d.owner = '' OR d.owner = {user})");
    (format!("{kinds}{connection}{owner}"), values)
}

fn key_of(row: &rusqlite::Row<'_>) -> Result<Key, rusqlite::Error> {
    let kind: String = row.get(0)?;
    Ok((
        Kind::parse(&kind).unwrap_or(Kind::Wiki),
        row.get(1)?,
        row.get(2)?,
        row.get(3)?,
    ))
}

fn by_words(
    db: &Connection,
    query: &Query,
    expression: Option<&str>,
    pool: usize,
) -> Result<Vec<Key>, rusqlite::Error> {
    let Some(expression) = expression else {
        return Ok(Vec::new());
    };
    let (condition, values) = condition(query, expression);
    let sql = format!(
        "SELECT d.kind, d.id, d.owner, d.rowid FROM words JOIN documents d ON d.rowid = words.rowid
         WHERE words MATCH ?1{condition}
         ORDER BY bm25(words, {WEIGHTS}), d.kind, d.id, d.owner LIMIT {pool}"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), key_of)?;
    rows.collect()
}

fn pieces(
    db: &Connection,
    query: &Query,
    expression: Option<&str>,
) -> Result<Vec<(Key, String, String)>, rusqlite::Error> {
    /// Above this number of substring candidates, the lane does not read and compare them all.
    const CANDIDATES: usize = 400;
    let Some(expression) = expression else {
        return Ok(Vec::new());
    };
    let (condition, values) = condition(query, expression);
    let sql = format!(
        "SELECT d.kind, d.id, d.owner, d.rowid, d.name, d.display
         FROM pieces JOIN documents d ON d.rowid = pieces.rowid
         WHERE pieces MATCH ?1{condition}
         ORDER BY bm25(pieces, 2.0, 1.0), d.kind, d.id, d.owner LIMIT {CANDIDATES}"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(values), |row| {
        Ok((key_of(row)?, row.get(4)?, row.get(5)?))
    })?;
    rows.collect()
}

/// Finds names that contain the terms: whole names first, then by the share of terms contained,
/// then short names first.
fn by_pieces(
    db: &Connection,
    query: &Query,
    terms: &Terms,
    pool: usize,
) -> Result<Vec<Key>, rusqlite::Error> {
    let candidates = pieces(db, query, terms.pieces_expression().as_deref())?;
    let whole = terms.words.join(" ");
    let mut ranked: Vec<(usize, usize, usize, Key)> = candidates
        .into_iter()
        .map(|(key, name, display)| {
            let name = words(&name).join(" ");
            let both = format!("{name} {}", display.to_lowercase());
            let missing = terms
                .words
                .iter()
                .filter(|word| !both.contains(&singular(word)))
                .count();
            (
                usize::from(name != whole),
                missing,
                name.chars().count(),
                key,
            )
        })
        .collect();
    ranked.sort();
    Ok(ranked
        .into_iter()
        .take(pool)
        .map(|(_, _, _, key)| key)
        .collect())
}

fn by_likeness(
    db: &Connection,
    query: &Query,
    terms: &Terms,
    pool: usize,
) -> Result<Vec<Key>, rusqlite::Error> {
    /// The lowest likeness of a match, in percent of common trigrams.
    const LEAST: usize = 40;
    let candidates = pieces(db, query, terms.triples_expression().as_deref())?;
    let mut ranked: Vec<(usize, Key)> = candidates
        .into_iter()
        .filter_map(|(key, name, display)| {
            let best = words(&format!("{name} {display}"))
                .iter()
                .flat_map(|word| terms.words.iter().map(|term| likeness(word, term)))
                .max()?;
            (best >= LEAST).then_some((100 - best, key))
        })
        .collect();
    ranked.sort();
    Ok(ranked.into_iter().take(pool).map(|(_, key)| key).collect())
}

/// Returns the share of trigrams that two words have in common (Dice), in percent.
fn likeness(left: &str, right: &str) -> usize {
    let left: BTreeSet<String> = triples(left).into_iter().collect();
    let right: BTreeSet<String> = triples(right).into_iter().collect();
    let both = left.intersection(&right).count();
    200 * both / (left.len() + right.len()).max(1)
}

fn hit(
    db: &Connection,
    terms: &Terms,
    key: &Key,
    lanes: Vec<Lane>,
) -> Result<Option<Hit>, rusqlite::Error> {
    let (kind, id, owner, rowid) = key;
    let mut statement = db.prepare_cached(
        "SELECT connection, payload, name, display, description, comment, expr, sample_value, body
         FROM documents WHERE rowid = ?1",
    )?;
    let row = statement
        .query_row([rowid], |row| {
            let mut texts = BTreeMap::new();
            for (index, field) in Field::ALL.into_iter().enumerate() {
                texts.insert(field, row.get::<_, String>(index + 2)?);
            }
            Ok((
                row.get::<_, Option<String>>(0)?,
                row.get::<_, String>(1)?,
                texts,
            ))
        })
        .optional()?;
    let Some((connection, payload, texts)) = row else {
        return Ok(None);
    };
    let marked = marked(db, terms, *rowid)?;
    let (matched_on, snippet) = match marked {
        Some((field, snippet)) => (field, Some(snippet)),
        None => plain_match(terms, &texts),
    };
    let line = |field: Field| {
        texts
            .get(&field)
            .map(|text| one_line(text))
            .filter(|text| !text.is_empty())
    };
    Ok(Some(Hit {
        kind: *kind,
        id: id.clone(),
        connection,
        owner: Some(owner.clone()).filter(|owner| !owner.is_empty()),
        score: 0.0,
        summary: line(Field::Description)
            .or_else(|| line(Field::Comment).filter(|_| *kind != Kind::Wiki)),
        snippet,
        matched_on,
        lanes,
        payload,
    }))
}

/// Returns the most significant field in which a word matched, with its marked snippet.
fn marked(
    db: &Connection,
    terms: &Terms,
    rowid: i64,
) -> Result<Option<(Field, String)>, rusqlite::Error> {
    let Some(expression) =
        terms.words_expression("name display description comment expr sample_value body")
    else {
        return Ok(None);
    };
    let columns: Vec<String> = (0..Field::ALL.len())
        .map(|column| format!("snippet(words, {column}, '<mark>', '</mark>', '…', 12)"))
        .collect();
    let sql = format!(
        "SELECT {} FROM words WHERE words MATCH ?1 AND words.rowid = ?2",
        columns.join(", ")
    );
    let mut statement = db.prepare_cached(&sql)?;
    let snippets = statement
        .query_row(params![expression, rowid], |row| {
            (0..Field::ALL.len())
                .map(|column| row.get::<_, String>(column))
                .collect::<Result<Vec<_>, _>>()
        })
        .optional()?;
    let found = snippets.into_iter().flatten().zip(Field::ALL);
    Ok(found
        .into_iter()
        .find(|(snippet, _)| snippet.contains("<mark>"))
        .map(|(snippet, field)| (field, one_line(&snippet))))
}

/// Like `marked`, for parts of words and for scripts without spaces.
fn plain_match(terms: &Terms, texts: &BTreeMap<Field, String>) -> (Field, Option<String>) {
    let needles: Vec<String> = terms
        .words
        .iter()
        .map(|word| singular(word))
        .chain(terms.ideographs.iter().cloned())
        .collect();
    for field in Field::ALL {
        let text = texts.get(&field).map(String::as_str).unwrap_or_default();
        if let Some(snippet) = around(text, &needles) {
            return (field, Some(snippet));
        }
    }
    (Field::Name, None)
}
