//! The tables of the index file.
//!
//! `documents` and `sections` hold the texts for display. `lists` holds, for each stem in a
//! [`Segment`] of documents, the passages with it: the head of a document is a passage, and so is
//! each of its sections. `spellings` holds the words of all texts, and `letters` finds them by
//! groups of three letters.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::document::Kind;

/// Version of the tables and their content. A cache file with another version is rebuilt.
const VERSION: i64 = 5;

const CREATE: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
    language INTEGER NOT NULL,
    UNIQUE (unit, kind, id, owner)
);
CREATE TABLE sections (rowid INTEGER PRIMARY KEY, heading TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE lists (
    segment INTEGER NOT NULL, stem TEXT NOT NULL, entries BLOB NOT NULL, PRIMARY KEY (segment, stem)
) WITHOUT ROWID;
CREATE TABLE segments (segment INTEGER PRIMARY KEY, passages INTEGER NOT NULL, words INTEGER NOT NULL);
CREATE TABLE passages (rowid INTEGER PRIMARY KEY, hash BLOB NOT NULL);
CREATE TABLE spellings (
    rowid INTEGER PRIMARY KEY, word TEXT NOT NULL, stem TEXT NOT NULL, UNIQUE (word, stem)
);
CREATE VIRTUAL TABLE letters USING fts5(
    word, content = '', detail = none, columnsize = 0, tokenize = 'trigram'
);
";

const DROP: &str = "
DROP TABLE IF EXISTS pieces;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS page_words;
DROP TABLE IF EXISTS source_words;
DROP TABLE IF EXISTS table_words;
DROP TABLE IF EXISTS lists;
DROP TABLE IF EXISTS segments;
DROP TABLE IF EXISTS letters;
DROP TABLE IF EXISTS spellings;
DROP TABLE IF EXISTS sections;
DROP TABLE IF EXISTS passages;
DROP TABLE IF EXISTS documents;
DROP TABLE IF EXISTS units;
DROP TABLE IF EXISTS meta;
";

const TABLES: [&str; 9] = [
    "documents",
    "letters",
    "lists",
    "meta",
    "passages",
    "sections",
    "segments",
    "spellings",
    "units",
];

/// How long to wait for another writing process; after that, results lack its changes.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) const SECTION_BITS: u32 = 12;

const NUMBER_BITS: u32 = 40;

/// Adding a document rewrites the lists of its segment; a query reads a list in each segment.
const SEGMENT_BITS: u32 = 11;

/// Maximum sections per document; the last one contains the remaining text.
pub(crate) const MAX_SECTIONS: usize = (1 << SECTION_BITS) - 2;

/// Kinds with shared word frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Group {
    Pages,
    Sources,
    Tables,
}

impl Group {
    pub(crate) const ALL: [Self; 3] = [Self::Pages, Self::Sources, Self::Tables];

    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Pages => 0,
            Self::Sources => 1,
            Self::Tables => 2,
        }
    }

    pub(crate) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Wiki => Self::Pages,
            Kind::SemanticSource | Kind::Measure | Kind::Dimension => Self::Sources,
            Kind::Table | Kind::Column => Self::Tables,
        }
    }
}

/// Documents with adjacent rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Segment(pub(crate) i64);

impl Segment {
    pub(crate) const fn of(row: DocumentRow) -> Self {
        Self(row.0 >> SEGMENT_BITS)
    }

    pub(crate) const fn first(self) -> PassageRow {
        PassageRow(self.0 << (SEGMENT_BITS + SECTION_BITS))
    }

    pub(crate) fn group(self) -> Group {
        Group::of(DocumentRow(self.0 << SEGMENT_BITS).kind())
    }
}

/// The kind is in the high bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DocumentRow(pub(crate) i64);

impl DocumentRow {
    pub(crate) fn floor(kind: Kind) -> Self {
        let place = Kind::ALL.iter().position(|one| *one == kind);
        let place = i64::try_from(place.unwrap_or_default()).unwrap_or_default();
        Self(place << NUMBER_BITS)
    }

    pub(crate) fn ceiling(kind: Kind) -> Self {
        Self(Self::floor(kind).0 + (1 << NUMBER_BITS) - 1)
    }

    pub(crate) fn kind(self) -> Kind {
        let place = usize::try_from(self.0 >> NUMBER_BITS).unwrap_or_default();
        Kind::ALL.get(place).copied().unwrap_or(Kind::Wiki)
    }

    /// The head is 0; sections count from 1.
    pub(crate) fn passage(self, section: usize) -> PassageRow {
        let section = section.min(MAX_SECTIONS + 1);
        PassageRow((self.0 << SECTION_BITS) + i64::try_from(section).unwrap_or_default())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PassageRow(pub(crate) i64);

impl PassageRow {
    pub(crate) fn document(self) -> DocumentRow {
        DocumentRow(self.0 >> SECTION_BITS)
    }

    pub(crate) fn is_head(self) -> bool {
        self == self.document().passage(0)
    }
}

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
        tx.execute(
            "INSERT INTO meta(key, value) VALUES (?1, hex(randomblob(16)))",
            [BIRTH],
        )?;
        tx.pragma_update(None, "user_version", VERSION)?;
    }
    tx.commit()
}

const BIRTH: &str = "birth";

pub(crate) fn birth(db: &Connection) -> Result<String, rusqlite::Error> {
    Ok(noted(db, BIRTH)?.unwrap_or_default())
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

pub(crate) fn noted(db: &Connection, key: &str) -> Result<Option<String>, rusqlite::Error> {
    let mut statement = db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}

pub(crate) fn note(db: &Connection, key: &str, value: &str) -> Result<(), rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "INSERT INTO meta(key, value) VALUES (?1, ?2)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    )?;
    statement.execute([key, value]).map(drop)
}

pub(crate) fn next(tx: &Transaction<'_>, kind: Kind) -> Result<DocumentRow, rusqlite::Error> {
    let floor = DocumentRow::floor(kind);
    let last: Option<i64> = tx
        .prepare_cached("SELECT max(rowid) FROM documents WHERE rowid BETWEEN ?1 AND ?2")?
        .query_row([floor.0, DocumentRow::ceiling(kind).0], |row| row.get(0))?;
    Ok(DocumentRow(last.unwrap_or(floor.0) + 1))
}

/// Does not change the lists.
pub(crate) fn remove(tx: &Transaction<'_>, row: DocumentRow) -> Result<(), rusqlite::Error> {
    let (head, end) = (row.passage(0).0, row.passage(MAX_SECTIONS + 1).0);
    tx.prepare_cached("DELETE FROM sections WHERE rowid BETWEEN ?1 AND ?2")?
        .execute([head, end])?;
    tx.prepare_cached("DELETE FROM passages WHERE rowid BETWEEN ?1 AND ?2")?
        .execute([head, end])?;
    tx.prepare_cached("DELETE FROM documents WHERE rowid = ?1")?
        .execute([row.0])?;
    Ok(())
}

/// The number of passages and of their words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) passages: i64,
    pub(crate) words: i64,
}

impl Size {
    pub(crate) fn add(&mut self, words: usize) {
        self.passages += 1;
        self.words += i64::try_from(words).unwrap_or_default();
    }

    pub(crate) fn subtract(&mut self, words: usize) {
        self.passages -= 1;
        self.words -= i64::try_from(words).unwrap_or_default();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grown {
    /// The segment has no lists yet.
    New,
    Known,
}

pub(crate) fn grow(
    tx: &Transaction<'_>,
    segment: Segment,
    by: Size,
) -> Result<Grown, rusqlite::Error> {
    let mut known = tx.prepare_cached("SELECT passages, words FROM segments WHERE segment = ?1")?;
    let known = known.query_row([segment.0], |row| Ok((row.get(0)?, row.get(1)?)));
    let known: Option<(i64, i64)> = known.optional()?;
    let (passages, words) = known.unwrap_or_default();
    tx.prepare_cached("REPLACE INTO segments(segment, passages, words) VALUES (?1, ?2, ?3)")?
        .execute(params![segment.0, passages + by.passages, words + by.words])?;
    Ok(known.map_or(Grown::New, |_| Grown::Known))
}

pub(crate) fn segments(db: &Connection) -> Result<Vec<(Segment, Size)>, rusqlite::Error> {
    let mut statement = db.prepare_cached(
        "SELECT segment, passages, words FROM segments WHERE passages > 0 ORDER BY segment",
    )?;
    let rows = statement.query_map([], |row| {
        let size = Size {
            passages: row.get(1)?,
            words: row.get(2)?,
        };
        Ok((Segment(row.get(0)?), size))
    })?;
    rows.collect()
}
