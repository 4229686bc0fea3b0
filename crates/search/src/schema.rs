//! The tables of the index file.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The version of the tables below; the cache is rebuilt if the file has another one.
const VERSION: i64 = 1;

const CREATE: &str = "
CREATE TABLE units (unit TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    rowid INTEGER PRIMARY KEY,
    unit TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    connection TEXT,
    hash TEXT NOT NULL,
    payload TEXT NOT NULL,
    name TEXT NOT NULL,
    display TEXT NOT NULL,
    description TEXT NOT NULL,
    comment TEXT NOT NULL,
    expr TEXT NOT NULL,
    sample_value TEXT NOT NULL,
    body TEXT NOT NULL,
    extra TEXT NOT NULL,
    UNIQUE (unit, kind, id, owner)
);
CREATE VIRTUAL TABLE words USING fts5(
    name, display, description, comment, expr, sample_value, body, extra,
    content = 'documents', content_rowid = 'rowid',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE pieces USING fts5(
    name, display,
    content = 'documents', content_rowid = 'rowid',
    tokenize = 'trigram remove_diacritics 1'
);
";

const DROP: &str = "
DROP TABLE IF EXISTS pieces;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS documents;
DROP TABLE IF EXISTS units;
";

const TABLES: [&str; 4] = ["documents", "pieces", "units", "words"];

/// How long ktx waits for another writing process; after that, answers lack its changes.
const PATIENCE: Duration = Duration::from_secs(2);

/// Configures the connection and creates the tables if they are missing or of another version.
pub(crate) fn prepare(db: &mut Connection) -> Result<(), rusqlite::Error> {
    db.busy_timeout(PATIENCE)?;
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "normal")?;
    if is_current(db)? {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !is_current(&tx)? {
        tx.execute_batch(DROP)?;
        tx.execute_batch(CREATE)?;
        tx.pragma_update(None, "user_version", VERSION)?;
    }
    tx.commit()
}

fn is_current(db: &Connection) -> Result<bool, rusqlite::Error> {
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version != VERSION {
        return Ok(false);
    }
    let mut statement = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = statement.query_map([], |row| row.get(0))?;
    let names: BTreeSet<String> = names.collect::<Result<_, _>>()?;
    Ok(TABLES.iter().all(|name| names.contains(*name)))
}

/// Removes one document from both full-text tables, which must match `documents` exactly.
pub(crate) fn unindex(tx: &Transaction<'_>, rowid: i64) -> Result<(), rusqlite::Error> {
    tx.prepare_cached(
        "INSERT INTO words(words, rowid, name, display, description, comment, expr, sample_value, body, extra)
         SELECT 'delete', rowid, name, display, description, comment, expr, sample_value, body, extra
         FROM documents WHERE rowid = ?1",
    )?
    .execute([rowid])?;
    tx.prepare_cached(
        "INSERT INTO pieces(pieces, rowid, name, display)
         SELECT 'delete', rowid, name, display FROM documents WHERE rowid = ?1",
    )?
    .execute([rowid])?;
    Ok(())
}

pub(crate) fn index(tx: &Transaction<'_>, rowid: i64) -> Result<(), rusqlite::Error> {
    tx.prepare_cached(
        "INSERT INTO words(rowid, name, display, description, comment, expr, sample_value, body, extra)
         SELECT rowid, name, display, description, comment, expr, sample_value, body, extra
         FROM documents WHERE rowid = ?1",
    )?
    .execute([rowid])?;
    tx.prepare_cached(
        "INSERT INTO pieces(rowid, name, display)
         SELECT rowid, name, display FROM documents WHERE rowid = ?1",
    )?
    .execute([rowid])?;
    Ok(())
}
