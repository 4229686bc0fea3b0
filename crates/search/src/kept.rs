//! The file with the vectors of passages, attached to an index.
//!
//! It is separate because vectors cost money: a rebuilt index finds them again by the hashes of the
//! texts. A text that the model refuses has an empty vector, so that it is not sent again.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use crate::schema::{self, PassageRow, SECTION_BITS};
use crate::vectors::{Matrix, VectorModel, quantized};

/// In characters.
const LETTERS: usize = 2000;

const HASH: usize = 16;

/// Condition for passages `p` without a vector of the model ?1 with ?2 numbers; with 0, of any
/// length.
const WITHOUT: &str = "NOT EXISTS (
    SELECT 1 FROM kept.vectors v WHERE v.model = ?1 AND v.hash = p.hash
       AND (?2 = 0 OR length(v.vector) IN (0, ?2)))";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    pub text: String,
    hash: Vec<u8>,
    row: PassageRow,
}

pub fn are_vectors_whole(path: &Path) -> bool {
    let check = |db: Connection| -> Result<String, rusqlite::Error> {
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
    };
    Connection::open(path)
        .and_then(check)
        .is_ok_and(|found| found == "ok")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    File,
    Memory,
}

pub(crate) fn attach(db: &Connection, path: &Path, beside: Beside) -> Result<(), rusqlite::Error> {
    let path = path.display().to_string();
    let name = match beside {
        Beside::File => path,
        // Otherwise SQLite would open the file in memory, too.
        Beside::Memory => on_disk(&path),
    };
    db.execute("ATTACH DATABASE ?1 AS kept", [name])?;
    match prepare(db) {
        Err(error) => detach(db).and(Err(error)),
        Ok(()) => Ok(()),
    }
}

fn on_disk(path: &str) -> String {
    let (start, system) = if cfg!(windows) {
        ("file:///", "win32")
    } else {
        ("file:", "unix")
    };
    let mut uri = start.to_owned();
    for letter in path.chars() {
        match letter {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            '\\' if cfg!(windows) => uri.push('/'),
            letter => uri.push(letter),
        }
    }
    uri.push_str("?vfs=");
    uri.push_str(system);
    uri
}

fn prepare(db: &Connection) -> Result<(), rusqlite::Error> {
    db.pragma_update(Some("kept"), "journal_mode", "wal")?;
    db.pragma_update(Some("kept"), "synchronous", "normal")?;
    db.execute_batch(
        "CREATE TABLE IF NOT EXISTS kept.vectors (
             model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, hash)
         ) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS kept.models (
             model TEXT PRIMARY KEY, dimensions INTEGER NOT NULL, units TEXT NOT NULL
         ) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS kept.writes (
             one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL
         )",
    )
}

pub(crate) fn detach(db: &Connection) -> Result<(), rusqlite::Error> {
    db.flush_prepared_statement_cache();
    db.execute_batch("DETACH DATABASE kept")
}

const NOTED: &str = "passages";

/// Changes when any process records passages or stores vectors.
pub(crate) fn versions(db: &Connection) -> Result<String, rusqlite::Error> {
    let noted = schema::noted(db, NOTED)?.unwrap_or_default();
    let mut writes = db.prepare_cached("SELECT number FROM kept.writes")?;
    let writes: Option<i64> = writes.query_row([], |row| row.get(0)).optional()?;
    Ok(format!("{noted} {}", writes.unwrap_or_default()))
}

/// SQL for passages: sections of pages, and name and description of pages and sources.
fn passages() -> String {
    format!(
        "SELECT rowid AS passage, heading || char(10) || body AS text FROM sections
         UNION ALL
         SELECT rowid << {SECTION_BITS}, display || char(10) || name || char(10) || description FROM documents
          WHERE kind IN ('wiki', 'sl_source', 'sl_measure') AND display || name || description <> ''"
    )
}

fn cut(text: &str) -> String {
    text.trim().chars().take(LETTERS).collect()
}

fn hash(text: &str) -> Vec<u8> {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(HASH).copied().collect()
}

pub(crate) fn note_passages(db: &mut Connection) -> Result<(), rusqlite::Error> {
    let new: Vec<(i64, Vec<u8>)> = new_passages(db)?;
    if new.is_empty() {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have recorded some, or removed their documents.
    let new = new_passages(&tx)?;
    let mut insert = tx.prepare("INSERT INTO passages(rowid, hash) VALUES (?1, ?2)")?;
    for (row, hash) in new {
        insert.execute(params![row, hash])?;
    }
    drop(insert);
    let noted = schema::noted(&tx, NOTED)?;
    let noted: u64 = noted
        .and_then(|noted| noted.parse().ok())
        .unwrap_or_default();
    schema::note(&tx, NOTED, &noted.wrapping_add(1).to_string())?;
    tx.commit()
}

fn new_passages(db: &Connection) -> Result<Vec<(i64, Vec<u8>)>, rusqlite::Error> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT passage, text FROM ({}) WHERE passage NOT IN (SELECT rowid FROM passages)",
        passages()
    ))?;
    let rows = statement.query_map([], |row| {
        let text: String = row.get(1)?;
        Ok((row.get(0)?, hash(&cut(&text))))
    })?;
    rows.collect()
}

fn dimensions_of(model: &VectorModel) -> i64 {
    let known = model.dimensions.and_then(|count| i64::try_from(count).ok());
    known.unwrap_or_default()
}

/// Returns the recorded vector length of a model and the units whose passages all have one.
pub(crate) fn noted(
    db: &Connection,
    model: &str,
) -> Result<Option<(VectorModel, String)>, rusqlite::Error> {
    let mut statement =
        db.prepare_cached("SELECT dimensions, units FROM kept.models WHERE model = ?1")?;
    let row = |row: &rusqlite::Row<'_>| {
        let dimensions: i64 = row.get(0)?;
        let model = VectorModel {
            name: model.to_owned(),
            dimensions: usize::try_from(dimensions).ok().filter(|count| *count > 0),
        };
        Ok((model, row.get(1)?))
    };
    statement.query_row([model], row).optional()
}

pub(crate) fn note(
    db: &Connection,
    model: &VectorModel,
    units: &str,
) -> Result<(), rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "INSERT INTO kept.models(model, dimensions, units) VALUES (?1, ?2, ?3)
         ON CONFLICT(model) DO UPDATE SET dimensions = excluded.dimensions, units = excluded.units",
    )?;
    statement
        .execute(params![model.name, dimensions_of(model), units])
        .map(drop)
}

pub(crate) fn unembedded(
    db: &Connection,
    model: &VectorModel,
    after: Option<&Unembedded>,
    limit: usize,
) -> Result<Vec<Unembedded>, rusqlite::Error> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT p.rowid, p.hash FROM passages p WHERE p.rowid > ?3 AND {WITHOUT}
          ORDER BY p.rowid LIMIT ?4"
    ))?;
    let after = after.map_or(i64::MIN, |passage| passage.row.0);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(
        params![model.name, dimensions_of(model), after, limit],
        |row| Ok((PassageRow(row.get(0)?), row.get::<_, Vec<u8>>(1)?)),
    )?;
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for row in rows {
        let (row, hash) = row?;
        let text = text_of(db, row)?;
        if let Some(text) = text.filter(|_| seen.insert(hash.clone())) {
            found.push(Unembedded { text, hash, row });
        }
    }
    Ok(found)
}

fn text_of(db: &Connection, row: PassageRow) -> Result<Option<String>, rusqlite::Error> {
    let (sql, row) = if row.is_head() {
        (
            "SELECT display || char(10) || name || char(10) || description FROM documents WHERE rowid = ?1",
            row.document().0,
        )
    } else {
        (
            "SELECT heading || char(10) || body FROM sections WHERE rowid = ?1",
            row.0,
        )
    };
    let text = db.prepare_cached(sql)?.query_row([row], |row| row.get(0));
    Ok(text.optional()?.map(|text: String| cut(&text)))
}

pub(crate) fn count_unembedded(
    db: &Connection,
    model: &VectorModel,
) -> Result<usize, rusqlite::Error> {
    let sql = format!("SELECT count(DISTINCT p.hash) FROM passages p WHERE {WITHOUT}");
    let count: i64 = db
        .prepare_cached(&sql)?
        .query_row(params![model.name, dimensions_of(model)], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

pub(crate) fn keep<'v>(
    db: &mut Connection,
    model: &str,
    vectors: impl Iterator<Item = (&'v Unembedded, &'v [f32])>,
) -> Result<(), rusqlite::Error> {
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut insert = tx.prepare(
        "INSERT INTO kept.vectors(model, hash, vector) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET vector = excluded.vector",
    )?;
    for (passage, numbers) in vectors {
        let bytes: Vec<u8> = quantized(numbers)
            .iter()
            .map(|byte| byte.cast_unsigned())
            .collect();
        insert.execute(params![model, passage.hash, bytes])?;
    }
    drop(insert);
    tx.execute(
        "INSERT INTO kept.writes(one, number) VALUES (1, 1) ON CONFLICT DO UPDATE SET number = number + 1",
        [],
    )?;
    tx.commit()
}

pub(crate) fn forget_refused(db: &Connection, model: &str) -> Result<(), rusqlite::Error> {
    let forgotten = db.execute(
        "DELETE FROM kept.vectors WHERE model = ?1 AND length(vector) = 0",
        [model],
    )?;
    if forgotten > 0 {
        db.execute(
            "UPDATE kept.models SET units = '' WHERE model = ?1",
            [model],
        )?;
    }
    Ok(())
}

pub(crate) fn matrix(
    db: &Connection,
    model: &str,
    mut matrix: Matrix,
    dimensions: usize,
) -> Result<Matrix, rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "SELECT p.rowid, v.vector FROM passages p
          CROSS JOIN kept.vectors v ON v.model = ?1 AND v.hash = p.hash ORDER BY p.rowid",
    )?;
    let mut rows = statement.query([model])?;
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob()?;
        if bytes.len() == dimensions && dimensions > 0 {
            matrix.push(PassageRow(row.get(0)?), bytes);
        }
    }
    Ok(matrix)
}
