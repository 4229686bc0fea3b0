//! Rewrites of a token list, collected over the unchanged list and applied in one go.

use std::ops::Range;

use sqlparser::tokenizer::Token;

/// Replacements of ranges. They may be added in any order and must not overlap; one that does is
/// left out, and the text is then refused for not printing as it reads.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<(Range<usize>, Vec<Token>)>,
}

impl Edits {
    /// Replaces `range` by `with`.
    pub(super) fn replace(&mut self, range: Range<usize>, with: impl Into<Vec<Token>>) {
        self.edits.push((range, with.into()));
    }

    /// Removes `range`.
    pub(super) fn remove(&mut self, range: Range<usize>) {
        self.replace(range, []);
    }

    /// Puts `with` before the token at `index`.
    pub(super) fn insert(&mut self, index: usize, with: impl Into<Vec<Token>>) {
        self.replace(index..index, with);
    }

    /// How many rewrites there are.
    pub(super) fn len(&self) -> usize {
        self.edits.len()
    }

    /// Rewrites the list.
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
