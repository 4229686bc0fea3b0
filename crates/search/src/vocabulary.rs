//! The words of all texts, to find misspelled words and parts of compounds.

use std::collections::BTreeSet;

use rusqlite::{Connection, Transaction, params_from_iter};

/// Shorter words have too many neighbors.
const LEAST_LETTERS: usize = 4;

/// Longer tokens are not words.
const MOST_LETTERS: usize = 40;

/// Minimum length of the rest of a compound.
const LEAST_REST: usize = 3;

const MOST_WHOLES: usize = 24;

/// Linking letters of German compounds.
const LINKS: [&str; 6] = ["", "s", "n", "en", "es", "e"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NearWord {
    pub(crate) distance: usize,
    pub(crate) stem: String,
}

fn counts(word: &str) -> bool {
    (LEAST_LETTERS..=MOST_LETTERS).contains(&word.chars().count())
        && word.chars().all(char::is_alphabetic)
}

pub(crate) fn add(tx: &Transaction<'_>, words: &[(String, String)]) -> Result<(), rusqlite::Error> {
    // A statement that can fail halfway makes SQLite flush the full-text tables for each word.
    let mut known = tx.prepare_cached("SELECT 1 FROM spellings WHERE word = ?1 AND stem = ?2")?;
    let mut insert = tx.prepare_cached("INSERT INTO spellings(word, stem) VALUES (?1, ?2)")?;
    let mut letters = tx.prepare_cached("INSERT INTO letters(rowid, word) VALUES (?1, ?2)")?;
    for (word, stem) in words.iter().filter(|(word, _)| counts(word)) {
        if !known.exists([word, stem])? {
            letters.execute((insert.insert([word, stem])?, word))?;
        }
    }
    Ok(())
}

/// Returns similar indexed words, nearest first: at most one of four letters differs, or two of
/// eight. Two swapped letters count once. May include words of removed texts.
pub(crate) fn near(db: &Connection, word: &str) -> Result<Vec<NearWord>, rusqlite::Error> {
    if !counts(word) {
        return Ok(Vec::new());
    }
    let letters: Vec<char> = word.chars().collect();
    let bound = if letters.len() < 8 { 1 } else { 2 };
    let mut found: Vec<NearWord> = Vec::new();
    for (spelling, stem) in candidates(db, &letters)? {
        let spelling: Vec<char> = spelling.chars().collect();
        if spelling.len().abs_diff(letters.len()) <= bound {
            let distance = distance(&letters, &spelling);
            if distance <= bound {
                found.push(NearWord { distance, stem });
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn candidates(
    db: &Connection,
    letters: &[char],
) -> Result<BTreeSet<(String, String)>, rusqlite::Error> {
    let pair = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let first = letters.first().map(char::to_string).unwrap_or_default();
    let mut statement = db.prepare_cached(
        "SELECT word, stem FROM spellings WHERE word >= ?1 AND word < ?1 || char(1114111)",
    )?;
    let mut found: BTreeSet<(String, String)> = statement
        .query_map([first], pair)?
        .collect::<Result<_, _>>()?;
    let triples: Vec<String> = letters
        .windows(3)
        .map(|triple| format!("\"{}\"", triple.iter().collect::<String>()))
        .collect();
    let mut statement = db.prepare_cached(
        "SELECT word, stem FROM spellings WHERE rowid IN (SELECT rowid FROM letters WHERE letters MATCH ?1)",
    )?;
    let rows = statement.query_map([triples.join(" OR ")], pair)?;
    for row in rows {
        found.insert(row?);
    }
    Ok(found)
}

fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let at =
                |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX / 2);
            let mut least = (at(&last, column) + usize::from(a != b))
                .min(at(&last, column + 1) + 1)
                .min(at(&next, column) + 1);
            let is_swapped = row > 0
                && column > 0
                && left.get(row - 1) == Some(b)
                && right.get(column - 1) == Some(a);
            if is_swapped {
                least = least.min(at(&before, column - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

pub(crate) fn wholes(db: &Connection, word: &str) -> Result<Vec<String>, rusqlite::Error> {
    if !counts(word) {
        return Ok(Vec::new());
    }
    let letters: Vec<char> = word.chars().collect();
    let triples: Vec<String> = letters
        .windows(3)
        .map(|triple| format!("\"{}\"", triple.iter().collect::<String>()))
        .collect();
    let mut statement = db.prepare_cached(
        "SELECT word, stem FROM spellings
         WHERE rowid IN (SELECT rowid FROM letters WHERE letters MATCH ?1) ORDER BY length(word), word, stem",
    )?;
    let rows = statement.query_map([triples.join(" AND ")], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut found: Vec<String> = Vec::new();
    for row in rows {
        let (whole, stem) = row?;
        let rest = whole
            .strip_prefix(word)
            .or_else(|| whole.strip_suffix(word));
        let is_long = rest.is_some_and(|rest| rest.chars().count() >= LEAST_REST);
        if is_long && !found.contains(&stem) {
            found.push(stem);
        }
    }
    found.truncate(MOST_WHOLES);
    Ok(found)
}

pub(crate) fn parts(db: &Connection, word: &str) -> Result<Vec<String>, rusqlite::Error> {
    if !counts(word) {
        return Ok(Vec::new());
    }
    let cuts: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    let halves = |cut: &usize| Some((word.get(..*cut)?, word.get(*cut..)?));
    let halves: Vec<(&str, &str)> = cuts.iter().filter_map(halves).collect();
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    for (left, right) in &halves {
        asked.insert(right);
        asked.extend(LINKS.iter().filter_map(|link| left.strip_suffix(link)));
    }
    asked.retain(|part| counts(part) && *part != word);
    let marks = vec!["?"; asked.len()].join(", ");
    let mut statement = db.prepare_cached(&format!(
        "SELECT word, min(stem) FROM spellings WHERE word IN ({marks}) GROUP BY word"
    ))?;
    let rows = statement.query_map(params_from_iter(asked), |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let known: std::collections::BTreeMap<String, String> = rows.collect::<Result<_, _>>()?;
    for (left, right) in halves {
        let left = LINKS
            .iter()
            .filter_map(|link| left.strip_suffix(link))
            .find_map(|left| known.get(left));
        if let (Some(left), Some(right)) = (left, known.get(right)) {
            return Ok(vec![left.clone(), right.clone()]);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests;
