//! Caches the passages with a word, and documents, while the index stays the same.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::schema::{DocumentRow, Group, PassageRow, Segment, Size};

/// Maximum cached passages and places of all words, of about 16 bytes each.
const MOST: usize = 1 << 20;

/// Of about 200 bytes each.
const MOST_CARDS: usize = 1 << 15;

/// A passage with a word, and the share of the word's weight that it earns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Posting {
    pub(crate) passage: PassageRow,
    /// By its texts.
    pub(crate) text: f32,
    /// By its sample values.
    pub(crate) value: f32,
    /// Where the places in its texts end.
    pub(crate) end: u32,
}

/// Ordered by passage.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    pub(crate) all: Vec<Posting>,
    /// Numbers of places in texts, by passage.
    pub(crate) places: Vec<u32>,
    pub(crate) texts: usize,
    pub(crate) values: usize,
}

impl Postings {
    pub(crate) fn push(&mut self, posting: Posting) {
        self.texts += usize::from(posting.text > 0.0);
        self.values += usize::from(posting.value > 0.0);
        self.all.push(posting);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn places_of(&self, at: usize) -> &[u32] {
        let end_of = |at: usize| self.all.get(at).map_or(0, |posting| posting.end as usize);
        let start = at.checked_sub(1).map_or(0, end_of);
        self.places.get(start..end_of(at)).unwrap_or_default()
    }

    /// Returns the place of the first posting of this passage or a later one, at or after `from`.
    pub(crate) fn seek(&self, from: usize, passage: PassageRow) -> usize {
        let is_before = |at: usize| self.all.get(at).is_some_and(|one| one.passage < passage);
        let (mut low, mut step) = (from, 1);
        while is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let high = (low + step - 1).min(self.all.len());
        let between = self.all.get(low..high).unwrap_or_default();
        low + between.partition_point(|one| one.passage < passage)
    }

    fn size(&self) -> usize {
        1 + self.all.len() + self.places.len() / 4
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    Stem(String),
    Beginning(String),
    /// Adjacent in a text, in this order.
    Phrase(Vec<String>),
    /// All of them in a text, in any order.
    All(Vec<String>),
}

/// What a group has, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extent {
    pub(crate) segments: Vec<Segment>,
    pub(crate) size: Size,
}

#[derive(Debug, Default)]
pub(crate) struct PostingsCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    state: String,
    count: usize,
    extents: Option<Arc<Extents>>,
    lists: [HashMap<Wanted, Arc<Postings>>; 3],
    cards: RowMap<DocumentRow, Arc<Card>>,
}

/// What decides who sees a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) connection: Option<String>,
}

pub(crate) type Extents = [Extent; 3];

#[derive(Debug, Clone)]
pub(crate) struct StatePostings<'p> {
    all: &'p PostingsCache,
    /// `None` while the index may change without notice.
    state: Option<String>,
}

impl PostingsCache {
    pub(crate) const fn of(&self, state: Option<String>) -> StatePostings<'_> {
        StatePostings { all: self, state }
    }
}

impl StatePostings<'_> {
    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        let state = self.state.as_ref()?;
        let mut kept = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.state != *state {
            *kept = Kept {
                state: state.clone(),
                ..Kept::default()
            };
        }
        Some(kept)
    }

    pub(crate) fn extents(&self) -> Option<Arc<Extents>> {
        self.kept()?.extents.clone()
    }

    pub(crate) fn put_extents(&self, extents: &Arc<Extents>) {
        if let Some(mut kept) = self.kept() {
            kept.extents = Some(Arc::clone(extents));
        }
    }

    pub(crate) fn card(&self, row: DocumentRow) -> Option<Arc<Card>> {
        self.kept()?.cards.get(&row).map(Arc::clone)
    }

    pub(crate) fn put_card(&self, row: DocumentRow, card: &Arc<Card>) {
        if let Some(mut kept) = self.kept() {
            if kept.cards.len() >= MOST_CARDS {
                kept.cards.clear();
            }
            kept.cards.insert(row, Arc::clone(card));
        }
    }

    pub(crate) fn get(&self, group: Group, wanted: &Wanted) -> Option<Arc<Postings>> {
        let kept = self.kept()?;
        kept.lists.get(group.place())?.get(wanted).map(Arc::clone)
    }

    pub(crate) fn put(&self, group: Group, wanted: Wanted, postings: &Arc<Postings>) {
        let Some(mut kept) = self.kept() else {
            return;
        };
        if kept.count + postings.size() > MOST {
            kept.count = 0;
            kept.lists = Default::default();
        }
        let postings = Arc::clone(postings);
        let size = postings.size();
        let lists = kept.lists.get_mut(group.place());
        if lists.is_some_and(|lists| lists.insert(wanted, postings).is_none()) {
            kept.count += size;
        }
    }
}

/// Hashes numbers that differ in their low bits.
pub(crate) type RowMap<K, V> = HashMap<K, V, BuildHasherDefault<RowHasher>>;

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RowHasher(u64);

impl Hasher for RowHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_i64(i64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.write_i64(number.cast_signed());
    }

    fn write_i64(&mut self, number: i64) {
        let mixed = (self.0 ^ number.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests;
