//! Writes the documents of units.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Transaction, params};

use crate::document::{Document, Field, Section};
use crate::filing::{Filing, Texts};
use crate::lists::Column;
use crate::schema::{self, DocumentRow, MAX_SECTIONS, PassageRow};
use crate::text::Language;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnitCounts {
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
}

pub(crate) fn write_unit(
    tx: &Transaction<'_>,
    unit: &str,
    documents: Vec<Document>,
    filing: &mut Filing,
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
            Some(known) => remove(tx, known.row, filing)?,
            None => {}
        }
        insert(tx, unit, &document, &hash, filing)?;
        filing.write_many(tx)?;
        written.updated += 1;
    }
    written.deleted = old.len();
    for known in old.into_values() {
        remove(tx, known.row, filing)?;
        filing.write_many(tx)?;
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

const TEXTS: [(Field, Column); 7] = [
    (Field::Name, Column::Name),
    (Field::Display, Column::Display),
    (Field::Description, Column::Description),
    (Field::Comment, Column::Comment),
    (Field::Expr, Column::Expr),
    (Field::SampleValue, Column::SampleValue),
    (Field::Body, Column::Body),
];

fn insert(
    tx: &Transaction<'_>,
    unit: &str,
    document: &Document,
    hash: &str,
    filing: &mut Filing,
) -> Result<(), rusqlite::Error> {
    let row = schema::next(tx, document.kind)?;
    let sections = kept_sections(&document.sections);
    let fields = document.fields.values().map(String::as_str);
    let bodies = sections.iter().map(|section| section.body.as_str());
    let language = Language::of(fields.chain(bodies));
    let connection = document.connection.as_ref();
    tx.prepare_cached(
        "INSERT INTO documents(rowid, unit, kind, id, owner, connection, hash, payload,
             name, display, description, comment, expr, sample_value, body, language)
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
        language.number(),
    ])?;
    let head = TEXTS.map(|(field, column)| (column, document.text(field)));
    filing.add(
        row.passage(0),
        Texts {
            language,
            parts: &head,
        },
    );
    let mut keep =
        tx.prepare_cached("INSERT INTO sections(rowid, heading, body) VALUES (?1, ?2, ?3)")?;
    for (section, number) in sections.iter().zip(1..) {
        let passage = row.passage(number);
        keep.execute(params![passage.0, section.heading, section.body])?;
        let parts = [
            (Column::Heading, section.heading.as_str()),
            (Column::Body, section.body.as_str()),
        ];
        filing.add(
            passage,
            Texts {
                language,
                parts: &parts,
            },
        );
    }
    Ok(())
}

fn kept_sections(sections: &[Section]) -> Cow<'_, [Section]> {
    let Some((kept, rest)) = sections.split_at_checked(MAX_SECTIONS) else {
        return Cow::Borrowed(sections);
    };
    let mut kept = kept.to_vec();
    if let Some(last) = kept.last_mut() {
        for section in rest {
            last.body.push('\n');
            last.body.push_str(&section.body);
        }
    }
    Cow::Owned(kept)
}

/// The stored texts tell which lists have the document.
fn remove(
    tx: &Transaction<'_>,
    row: DocumentRow,
    filing: &mut Filing,
) -> Result<(), rusqlite::Error> {
    let (language, texts) = tx
        .prepare_cached(
            "SELECT language, name, display, description, comment, expr, sample_value, body
             FROM documents WHERE rowid = ?1",
        )?
        .query_row([row.0], |found| {
            let mut texts: Vec<String> = Vec::with_capacity(TEXTS.len());
            for place in 1..=TEXTS.len() {
                texts.push(found.get(place)?);
            }
            Ok((Language::numbered(found.get(0)?), texts))
        })?;
    let columns = TEXTS.iter().map(|(_, column)| *column);
    let head: Vec<(Column, &str)> = columns.zip(texts.iter().map(String::as_str)).collect();
    filing.remove(
        row.passage(0),
        Texts {
            language,
            parts: &head,
        },
    );
    let (first, last) = (row.passage(1), row.passage(MAX_SECTIONS + 1));
    let mut sections = tx.prepare_cached(
        "SELECT rowid, heading, body FROM sections WHERE rowid BETWEEN ?1 AND ?2",
    )?;
    let mut rows = sections.query([first.0, last.0])?;
    while let Some(found) = rows.next()? {
        let parts = [
            (Column::Heading, found.get_ref(1)?.as_str()?),
            (Column::Body, found.get_ref(2)?.as_str()?),
        ];
        filing.remove(
            PassageRow(found.get(0)?),
            Texts {
                language,
                parts: &parts,
            },
        );
    }
    drop(rows);
    schema::remove(tx, row)
}
