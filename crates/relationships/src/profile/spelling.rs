//! Exact and folded spellings of a column's texts.

use std::collections::HashMap;

use crate::profile::sketch::Sketch;
use crate::profile::value::{folded, hash};

type Counts = HashMap<u64, u32>;

/// Recorded from the first text that differs.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    written: Option<Counts>,
    folded: Option<Counts>,
    /// In bytes.
    widths: Option<(usize, usize)>,
}

impl Spellings {
    /// `before` counts the earlier texts.
    pub(crate) fn push(&mut self, written: &str, (text, own): (&str, u64), before: &Counts) {
        let (least, most) = self.widths.unwrap_or((written.len(), written.len()));
        self.widths = Some((least.min(written.len()), most.max(written.len())));
        count(&mut self.written, (written, text, own), before);
        let folded = folded(text);
        count(&mut self.folded, (folded.as_ref(), text, own), before);
    }

    pub(crate) fn sketches(self, limit: usize, whole: bool) -> (Option<Sketch>, Option<Sketch>) {
        // Texts of one width are padded by their type.
        let padded_by_type = self.widths.is_none_or(|(least, most)| least == most);
        let sketch = |counts: Counts| Sketch::of(&counts, limit, whole);
        let written = self.written.filter(|_| !padded_by_type).map(sketch);
        (written, self.folded.map(sketch))
    }
}

fn count(counts: &mut Option<Counts>, (other, text, own): (&str, &str, u64), before: &Counts) {
    if other != text && counts.is_none() {
        *counts = Some(before.clone());
    }
    if let Some(counts) = counts {
        let key = if other == text { own } else { hash(other) };
        *counts.entry(key).or_insert(0) += 1;
    }
}
