//! Writes the documents of units.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Transaction, params};

use crate::document::{Document, Field, Section};
use crate::schema::{self, COLUMNS, DocumentRow, Group, MAX_SECTIONS};
use crate::text::{Analyzer, Language};
use crate::vocabulary;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnitCounts {
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
}

pub(crate) fn write_unit(
    tx: &Transaction<'_>,
    unit: &str,
    documents: Vec<Document>,
    analyzer: &mut Analyzer,
) -> Result<UnitCounts, rusqlite::Error> {
    let mut old = old_documents(tx, unit)?;
    let mut new: BTreeSet<DocumentKey> = BTreeSet::new();
    let mut written = UnitCounts::default();
    for document in documents {
        let key = DocumentKey {
            kind: document.kind.as_str().to_owned(),
            id: document.id.clone(),
            owner: document.owner.clone().unwrap_or_default(),
        };
        // Duplicate names in a unit are a bug of the caller; the first one wins.
        if !new.insert(key.clone()) {
            continue;
        }
        let hash = document.hash();
        match old.remove(&key) {
            Some(known) if known.hash == hash => continue,
            Some(known) => schema::remove(tx, known.row)?,
            None => {}
        }
        insert(tx, unit, &document, &hash, analyzer)?;
        written.updated += 1;
    }
    written.deleted = old.len();
    for known in old.into_values() {
        schema::remove(tx, known.row)?;
    }
    Ok(written)
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct DocumentKey {
    kind: String,
    id: String,
    owner: String,
}

struct StoredDocument {
    row: DocumentRow,
    hash: String,
}

fn old_documents(
    tx: &Transaction<'_>,
    unit: &str,
) -> Result<BTreeMap<DocumentKey, StoredDocument>, rusqlite::Error> {
    let mut statement =
        tx.prepare_cached("SELECT kind, id, owner, rowid, hash FROM documents WHERE unit = ?1")?;
    let rows = statement.query_map([unit], |row| {
        let key = DocumentKey {
            kind: row.get(0)?,
            id: row.get(1)?,
            owner: row.get(2)?,
        };
        let known = StoredDocument {
            row: DocumentRow(row.get(3)?),
            hash: row.get(4)?,
        };
        Ok((key, known))
    })?;
    rows.collect()
}

fn insert(
    tx: &Transaction<'_>,
    unit: &str,
    document: &Document,
    hash: &str,
    analyzer: &mut Analyzer,
) -> Result<(), rusqlite::Error> {
    let row = schema::next(tx, document.kind)?;
    let sections = kept_sections(&document.sections);
    let connection = document.connection.as_ref();
    tx.prepare_cached(
        "INSERT INTO documents(rowid, unit, kind, id, owner, connection, hash, payload,
             name, display, description, comment, expr, sample_value, body, sections)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(params![
        row.0,
        unit,
        document.kind.as_str(),
        document.id,
        document.owner.as_deref().unwrap_or_default(),
        connection.map(ktx_vocabulary::ConnectionId::as_str),
        hash,
        document.payload,
        document.text(Field::Name),
        document.text(Field::Display),
        document.text(Field::Description),
        document.text(Field::Comment),
        document.text(Field::Expr),
        document.text(Field::SampleValue),
        document.text(Field::Body),
        i64::try_from(sections.len()).unwrap_or_default(),
    ])?;
    index(tx, row, document, &sections, analyzer)
}

fn kept_sections(sections: &[Section]) -> Vec<Section> {
    let mut kept: Vec<Section> = sections.iter().take(MAX_SECTIONS).cloned().collect();
    if let Some(last) = kept.last_mut() {
        for section in sections.iter().skip(MAX_SECTIONS) {
            last.body.push('\n');
            last.body.push_str(&section.body);
        }
    }
    kept
}

fn index(
    tx: &Transaction<'_>,
    row: DocumentRow,
    document: &Document,
    sections: &[Section],
    analyzer: &mut Analyzer,
) -> Result<(), rusqlite::Error> {
    let fields = document.fields.values().map(String::as_str);
    let bodies = sections.iter().map(|section| section.body.as_str());
    let language = Language::of(fields.chain(bodies));
    let mut words: Vec<(String, String)> = Vec::new();
    let mut analyze = |text: &str| {
        analyzer.analyze(language, text, &mut |word, stem| {
            words.push((word.to_owned(), stem.to_owned()));
        })
    };
    let table = Group::of(document.kind).table();
    let mut insert = tx.prepare_cached(&format!(
        "INSERT INTO {table}(rowid, {COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    ))?;
    insert.execute(params![
        row.passage(0).0,
        analyze(document.text(Field::Name)),
        analyze(document.text(Field::Display)),
        analyze(document.text(Field::Description)),
        analyze(document.text(Field::Comment)),
        analyze(document.text(Field::Expr)),
        analyze(document.text(Field::SampleValue)),
        "",
        analyze(document.text(Field::Body)),
    ])?;
    let mut keep =
        tx.prepare_cached("INSERT INTO sections(rowid, heading, body) VALUES (?1, ?2, ?3)")?;
    for (section, number) in sections.iter().zip(1..) {
        let passage = row.passage(number).0;
        keep.execute(params![passage, section.heading, section.body])?;
        insert.execute(params![
            passage,
            "",
            "",
            "",
            "",
            "",
            "",
            analyze(&section.heading),
            analyze(&section.body),
        ])?;
    }
    vocabulary::add(tx, &words)
}
