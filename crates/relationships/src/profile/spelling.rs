//! Exact and folded spellings of a column's texts, where they differ from the compared form.

use std::collections::HashMap;

use crate::profile::sketch::Sketch;
use crate::profile::value::{folded, hash};

type Counts = HashMap<u64, u32>;

/// Exact and folded texts of a column. Each is recorded from the first text on for which it differs
/// from the compared form.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    written: Option<Counts>,
    folded: Option<Counts>,
    /// Minimum and maximum text length in bytes.
    widths: Option<(usize, usize)>,
}

impl Spellings {
    /// Adds a text in its exact and its compared form; `before` are the counts of all earlier
    /// texts.
    pub(crate) fn push(&mut self, written: &str, (text, own): (&str, u64), before: &Counts) {
        let (least, most) = self.widths.unwrap_or((written.len(), written.len()));
        self.widths = Some((least.min(written.len()), most.max(written.len())));
        count(&mut self.written, (written, text, own), before);
        let folded = folded(text);
        count(&mut self.folded, (folded.as_ref(), text, own), before);
    }

    pub(crate) fn sketches(self, limit: usize, whole: bool) -> (Option<Sketch>, Option<Sketch>) {
        // If all texts have one width, the type pads them, and comparisons ignore the padding.
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
