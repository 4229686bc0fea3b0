//! Caches the rows of frequent words while the index stays the same, because reading them dominates
//! the cost of a question.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::schema::{Group, PassageRow};

const LEAST: usize = 256;

/// Maximum cached rows of all words, of 16 bytes each.
const MOST: usize = 1 << 20;

/// The rows with a term, and the share of its weight that each one earns.
pub(crate) type Rows = Vec<(PassageRow, f64)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Columns {
    Texts,
    Titles,
    SampleValues,
}

impl Columns {
    pub(crate) const fn filter(self) -> &'static str {
        match self {
            Self::Texts => "{name display description comment expr heading body}",
            Self::Titles => "{name display description heading}",
            Self::SampleValues => "{sample_value}",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Lookup {
    pub(crate) group: Group,
    pub(crate) columns: Columns,
    pub(crate) expression: String,
}

#[derive(Debug, Default)]
pub(crate) struct Postings(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    state: String,
    count: usize,
    lists: HashMap<Lookup, Arc<Rows>>,
}

#[derive(Debug, Clone)]
pub(crate) struct StatePostings<'p> {
    all: &'p Postings,
    /// `None` while the index may change without notice.
    state: Option<String>,
}

impl Postings {
    pub(crate) const fn of(&self, state: Option<String>) -> StatePostings<'_> {
        StatePostings { all: self, state }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatePostings<'_> {
    pub(crate) fn get(&self, lookup: &Lookup) -> Option<Arc<Rows>> {
        let state = self.state.as_ref()?;
        let kept = self.all.kept();
        let list = kept.lists.get(lookup)?;
        (kept.state == *state).then(|| Arc::clone(list))
    }

    pub(crate) fn put(&self, lookup: Lookup, rows: &Rows) {
        let Some(state) = self.state.as_ref().filter(|_| rows.len() >= LEAST) else {
            return;
        };
        let rows = Arc::new(rows.clone());
        let mut kept = self.all.kept();
        if kept.state != *state || kept.count + rows.len() > MOST {
            *kept = Kept {
                state: state.clone(),
                ..Kept::default()
            };
        }
        let count = rows.len();
        if kept.lists.insert(lookup, rows).is_none() {
            kept.count += count;
        }
    }
}

/// Hashes row numbers, which differ in their low bits.
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

    fn write_i64(&mut self, number: i64) {
        let mixed = (self.0 ^ number.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
