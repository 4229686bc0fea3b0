//! How the texts of a column are written, where that differs from what they are compared by.

use std::collections::HashMap;

use crate::profile::sketch::Sketch;
use crate::profile::value::{folded, hash};

/// How often each hash was seen.
type Counts = HashMap<u64, u32>;

/// The texts of a column as they are written, and without case and padding. Both are kept from the first
/// text on for which they make a difference.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    written: Option<Counts>,
    folded: Option<Counts>,
    /// Bytes of the shortest and the longest text.
    widths: Option<(usize, usize)>,
}

impl Spellings {
    /// Takes a text as it is written and as it is compared; `before` are the counts of all texts before it.
    pub(crate) fn push(&mut self, written: &str, (text, own): (&str, u64), before: &Counts) {
        let (least, most) = self.widths.unwrap_or((written.len(), written.len()));
        self.widths = Some((least.min(written.len()), most.max(written.len())));
        count(&mut self.written, (written, text, own), before);
        let folded = folded(text);
        count(&mut self.folded, (folded.as_ref(), text, own), before);
    }

    /// The sketches of both, where they tell something.
    pub(crate) fn sketches(self, limit: usize, whole: bool) -> (Option<Sketch>, Option<Sketch>) {
        // Where all texts are of one width the type pads them, and a comparison takes no notice.
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
