//! Cuts long texts and lists if not even one unit fits.

use serde_json::Value;

use super::parts::LINE;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    letters: usize,
    entries: usize,
}

impl Cut {
    pub(super) const LEVELS: [Option<Self>; 6] = [
        None,
        Some(Self::new(2_000, 200)),
        Some(Self::new(500, 60)),
        Some(Self::new(120, 25)),
        Some(Self::new(40, 8)),
        Some(Self::new(20, 3)),
    ];

    const fn new(letters: usize, entries: usize) -> Self {
        Self { letters, entries }
    }

    pub(super) fn most_units(self) -> usize {
        self.entries.min(self.letters / LINE).max(1)
    }

    pub(super) fn apply(self, mut value: Value) -> Value {
        let mut lost = Lost::default();
        self.walk(&mut value, &mut lost);
        if let (Some(said), Some(map)) = (lost.said(self), value.as_object_mut()) {
            map.insert("leftOut".to_owned(), Value::from(said));
        }
        value
    }

    fn walk(self, value: &mut Value, lost: &mut Lost) {
        match value {
            Value::String(text) => lost.texts += usize::from(cut_text(text, self.letters)),
            Value::Array(entries) => {
                lost.entries += entries.len().saturating_sub(self.entries);
                entries.truncate(self.entries);
                for entry in entries {
                    self.walk(entry, lost);
                }
            }
            Value::Object(map) => {
                for (name, field) in map.iter_mut() {
                    if name != "_note" {
                        self.walk(field, lost);
                    }
                }
            }
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
struct Lost {
    texts: usize,
    entries: usize,
}

impl Lost {
    fn said(&self, cut: Cut) -> Option<String> {
        let texts = format!("texts cut to {} letters: {}", cut.letters, self.texts);
        let entries = format!(
            "entries of lists (columns, joins) left out behind the first {}: {}",
            cut.entries, self.entries
        );
        let said = match (self.texts, self.entries) {
            (0, 0) => return None,
            (_, 0) => texts,
            (0, _) => entries,
            (_, _) => format!("{texts}; {entries}"),
        };
        Some(format!("{said}. Raise `maxTokens` or name fewer columns."))
    }
}

/// True if the text was longer.
pub(super) fn cut_text(text: &mut String, letters: usize) -> bool {
    if text.chars().nth(letters).is_none() {
        return false;
    }
    let keep = text.char_indices().nth(letters.saturating_sub(1));
    text.truncate(keep.map_or(0, |(at, _)| at));
    text.push('…');
    true
}
