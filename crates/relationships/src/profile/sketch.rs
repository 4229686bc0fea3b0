//! Sketches of value sets.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

/// Maximum hashes of a column that cannot be a key.
pub const SKETCH_SIZE: usize = 1024;

/// A bottom-k sketch of a column's distinct values. Hashes ascend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSketch", into = "StoredSketch")]
pub struct Sketch {
    entries: Vec<(u64, u32)>,
    /// Holds every value of the whole column.
    pub complete: bool,
    /// Holds every value up to the last hash.
    cut: bool,
}

/// Little-endian bytes in base64.
#[derive(Serialize, Deserialize)]
struct StoredSketch {
    hashes: String,
    /// Empty if every value occurs once.
    counts: String,
    complete: bool,
    #[serde(default)]
    cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Containment {
    pub compared: usize,
    pub found: usize,
    pub distinct: f64,
    pub rows: f64,
}

impl Sketch {
    pub fn of(counts: &HashMap<u64, u32>, limit: usize, whole: bool) -> Self {
        let mut entries: Vec<(u64, u32)> =
            counts.iter().map(|(hash, count)| (*hash, *count)).collect();
        entries.sort_unstable();
        let complete = whole && entries.len() <= limit;
        let cut = whole && !complete;
        entries.truncate(limit);
        Self {
            entries,
            complete,
            cut,
        }
    }

    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|(hash, _)| *hash)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn contains(&self, hash: u64) -> bool {
        self.entries
            .binary_search_by_key(&hash, |(hash, _)| *hash)
            .is_ok()
    }

    /// Returns how much of this column `parent` contains; `None` if `parent` is not complete or
    /// there are no values. Skips `ignored` values unless the parent has them.
    pub fn containment_in(&self, parent: &Self, ignored: &[u64]) -> Option<Containment> {
        if !parent.complete {
            return None;
        }
        self.compare(parent, u64::MAX, ignored)
    }

    /// For a cut parent, compares the values that both sketches would hold.
    pub fn estimate_in(&self, parent: &Self, ignored: &[u64]) -> Option<Containment> {
        match parent.entries.last() {
            Some((last, _)) if parent.cut => self.compare(parent, *last, ignored),
            _ => self.containment_in(parent, ignored),
        }
    }

    fn compare(&self, parent: &Self, last: u64, ignored: &[u64]) -> Option<Containment> {
        let (mut compared, mut found, mut rows, mut rows_found) = (0_usize, 0_usize, 0_u64, 0_u64);
        for (hash, count) in self.entries.iter().take_while(|(hash, _)| *hash <= last) {
            let inside = parent.contains(*hash);
            if !inside && ignored.binary_search(hash).is_ok() {
                continue;
            }
            compared += 1;
            rows += u64::from(*count);
            if inside {
                found += 1;
                rows_found += u64::from(*count);
            }
        }
        (compared > 0).then(|| Containment {
            compared,
            found,
            distinct: ratio(found as u64, compared as u64),
            rows: ratio(rows_found, rows),
        })
    }
}

/// Returns 0 if `whole` is 0.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of rows are far below 2^52"
)]
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

impl From<StoredSketch> for Sketch {
    fn from(stored: StoredSketch) -> Self {
        // An unreadable row gives an incomplete sketch, which is not evidence.
        let hashes = STANDARD_NO_PAD.decode(stored.hashes).unwrap_or_default();
        let counts = STANDARD_NO_PAD.decode(stored.counts).unwrap_or_default();
        let (hashes, broken) = hashes.as_chunks::<8>();
        let (counts, _) = counts.as_chunks::<4>();
        let entries = hashes.iter().enumerate().map(|(at, hash)| {
            let count = counts.get(at).map_or(1, |count| u32::from_le_bytes(*count));
            (u64::from_le_bytes(*hash), count)
        });
        Self {
            entries: entries.collect(),
            complete: stored.complete && broken.is_empty(),
            cut: stored.cut && broken.is_empty(),
        }
    }
}

impl From<Sketch> for StoredSketch {
    fn from(sketch: Sketch) -> Self {
        let hashes: Vec<u8> = sketch
            .entries
            .iter()
            .flat_map(|(hash, _)| hash.to_le_bytes())
            .collect();
        let counts: Vec<u8> = if sketch.entries.iter().all(|(_, count)| *count == 1) {
            Vec::new()
        } else {
            sketch
                .entries
                .iter()
                .flat_map(|(_, count)| count.to_le_bytes())
                .collect()
        };
        Self {
            hashes: STANDARD_NO_PAD.encode(hashes),
            counts: STANDARD_NO_PAD.encode(counts),
            complete: sketch.complete,
            cut: sketch.cut,
        }
    }
}
