//! Collects the changes of many documents, then writes each list once.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::lists::{Column, ListWriter, Place, read_list};
use crate::postings::RowMap;
use crate::schema::{self, DocumentRow, Grown, PassageRow, Segment, Size};
use crate::stems::{StemId, Stems};
use crate::text::Language;
use crate::vocabulary;

/// In bytes of lists.
const MOST: usize = 64 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Texts<'t> {
    pub(crate) language: Language,
    pub(crate) parts: &'t [(Column, &'t str)],
}

#[derive(Debug, Default)]
pub(crate) struct Filing {
    stems: Stems,
    segments: BTreeMap<Segment, SegmentChanges>,
    bytes: usize,
    // The rest is empty between calls.
    found: Vec<Option<StemId>>,
    places: Vec<(StemId, Place)>,
    of_stem: Vec<Place>,
}

#[derive(Debug, Default)]
struct SegmentChanges {
    added: RowMap<StemId, ListWriter>,
    removed: HashSet<DocumentRow>,
    fewer: BTreeSet<StemId>,
    size: Size,
}

impl Filing {
    /// Passages of a kind must ascend.
    pub(crate) fn add(&mut self, passage: PassageRow, texts: Texts<'_>) {
        let count = self.read(texts);
        let words = u32::try_from(count).unwrap_or(u32::MAX);
        let segment = Segment::of(passage.document());
        let changes = self.segments.entry(segment).or_default();
        changes.size.add(count);
        self.places.sort_unstable();
        for same in self.places.chunk_by(|left, right| left.0 == right.0) {
            let Some((stem, _)) = same.first() else {
                continue;
            };
            self.of_stem.clear();
            self.of_stem.extend(same.iter().map(|(_, place)| *place));
            let list = changes.added.entry(*stem);
            let list = list.or_insert_with(|| ListWriter::new(segment));
            self.bytes += list.push(passage, words, &self.of_stem);
        }
    }

    /// Its document must be in the lists already.
    pub(crate) fn remove(&mut self, passage: PassageRow, texts: Texts<'_>) {
        let count = self.read(texts);
        let row = passage.document();
        let changes = self.segments.entry(Segment::of(row)).or_default();
        changes.size.subtract(count);
        changes.removed.insert(row);
        changes
            .fewer
            .extend(self.places.iter().map(|(stem, _)| *stem));
    }

    /// Returns the number of words.
    fn read(&mut self, texts: Texts<'_>) -> usize {
        self.places.clear();
        let mut count = 0;
        for (column, text) in texts.parts.iter().filter(|(_, text)| !text.is_empty()) {
            self.found.clear();
            self.stems.add(texts.language, text, &mut self.found);
            count += self.found.len();
            let places = self.found.iter().enumerate();
            self.places.extend(
                places
                    .filter_map(|(position, stem)| Some(((*stem)?, Place::of(*column, position)))),
            );
        }
        count
    }

    /// Writes if there is much to write.
    pub(crate) fn write_many(&mut self, tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
        if self.bytes >= MOST {
            self.write(tx)?;
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
        self.bytes = 0;
        for (segment, changes) in std::mem::take(&mut self.segments) {
            let grown = schema::grow(tx, segment, changes.size)?;
            self.write_segment(tx, segment, &changes, grown)?;
        }
        vocabulary::add(tx, &self.stems.take_spellings())
    }

    fn write_segment(
        &self,
        tx: &Transaction<'_>,
        segment: Segment,
        changes: &SegmentChanges,
        grown: Grown,
    ) -> Result<(), rusqlite::Error> {
        let stems: BTreeSet<(&str, StemId)> = changes
            .added
            .keys()
            .chain(&changes.fewer)
            .map(|stem| (self.stems.text(*stem), *stem))
            .collect();
        let mut read =
            tx.prepare_cached("SELECT entries FROM lists WHERE segment = ?1 AND stem = ?2")?;
        let mut write =
            tx.prepare_cached("REPLACE INTO lists(segment, stem, entries) VALUES (?1, ?2, ?3)")?;
        let mut delete = tx.prepare_cached("DELETE FROM lists WHERE segment = ?1 AND stem = ?2")?;
        for (text, stem) in stems {
            let added = changes
                .added
                .get(&stem)
                .map(ListWriter::bytes)
                .unwrap_or_default();
            let old: Option<Vec<u8>> = match grown {
                Grown::New => None,
                Grown::Known => read
                    .query_row(params![segment.0, text], |row| row.get(0))
                    .optional()?,
            };
            let Some(old) = old else {
                write.execute(params![segment.0, text, added])?;
                continue;
            };
            let mut list = ListWriter::new(segment);
            read_list(segment, &old, &mut |entry| {
                if !changes.removed.contains(&entry.passage.document()) {
                    list.copy(&entry);
                }
            })?;
            read_list(segment, added, &mut |entry| list.copy(&entry))?;
            if list.bytes().is_empty() {
                delete.execute(params![segment.0, text])?;
            } else {
                write.execute(params![segment.0, text, list.bytes()])?;
            }
        }
        Ok(())
    }
}
