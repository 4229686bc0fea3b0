//! Rewrites of a token list, applied at once.

use std::ops::Range;

use sqlparser::tokenizer::Token;

/// Drops an overlapping replacement; the text is then refused because its printed form parses
/// differently.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<(Range<usize>, Vec<Token>)>,
}

impl Edits {
    pub(super) fn replace(&mut self, range: Range<usize>, with: impl Into<Vec<Token>>) {
        self.edits.push((range, with.into()));
    }

    pub(super) fn remove(&mut self, range: Range<usize>) {
        self.replace(range, []);
    }

    pub(super) fn insert(&mut self, index: usize, with: impl Into<Vec<Token>>) {
        self.replace(index..index, with);
    }

    pub(super) fn len(&self) -> usize {
        self.edits.len()
    }

    pub(super) fn apply(mut self, tokens: &mut Vec<Token>) {
        if self.edits.is_empty() {
            return;
        }
        self.edits
            .sort_by_key(|(range, _)| (range.start, range.end));
        let mut patched = Vec::with_capacity(tokens.len() + self.edits.len());
        let mut done = 0;
        for (range, with) in self.edits {
            let Some(kept) = tokens.get(done..range.start) else {
                continue;
            };
            patched.extend_from_slice(kept);
            patched.extend(with);
            done = range.end;
        }
        patched.extend_from_slice(tokens.get(done..).unwrap_or_default());
        *tokens = patched;
    }
}
