//! Maps the lines of a YAML block to top-level keys.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The key without quotes.
    pub(crate) name: String,
    /// Whole lines from the key to the last line of the value.
    pub(crate) range: Range<usize>,
    /// The offset after the colon.
    pub(crate) value: usize,
}

/// Lists the entries of a block in order. Comments and blank lines between two entries belong to
/// neither.
pub(crate) fn entries(yaml: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut at = 0;
    for line in yaml.split_inclusive('\n') {
        let end = at + line.len();
        let content = line.trim_end_matches(['\n', '\r']);
        match key(content) {
            Some((name, value)) => {
                found.push(Entry {
                    name,
                    range: at..end,
                    value: at + value,
                });
            }
            None if continues(content) => {
                if let Some(entry) = found.last_mut() {
                    entry.range.end = end;
                }
            }
            None => {}
        }
        at = end;
    }
    found
}

/// Returns true if a line that starts no entry belongs to the previous one.
fn continues(line: &str) -> bool {
    let blank = line.trim().is_empty();
    let first = line.chars().next();
    !blank && matches!(first, Some(' ' | '\t' | '-' | ']' | '}' | '[' | '{'))
}

/// Returns the key of a line that starts an entry and the offset after its colon.
fn key(line: &str) -> Option<(String, usize)> {
    let first = line.chars().next()?;
    if matches!(first, '"' | '\'') {
        let inner = line.get(1..)?;
        let close = inner.find(first)?;
        let rest = inner.get(close + 1..)?;
        let gap = rest.len() - rest.trim_start().len();
        let behind = rest.trim_start().strip_prefix(':')?;
        return ends_key(behind).then(|| {
            (
                inner.get(..close).unwrap_or_default().to_owned(),
                close + 3 + gap,
            )
        });
    }
    if first.is_whitespace() || "-#[]{}&*!|>%@`,?".contains(first) {
        return None;
    }
    let mut from = 0;
    while let Some(colon) = line.get(from..)?.find(':').map(|at| from + at) {
        if ends_key(line.get(colon + 1..)?) {
            return Some((line.get(..colon)?.trim_end().to_owned(), colon + 1));
        }
        from = colon + 1;
    }
    None
}

fn ends_key(behind: &str) -> bool {
    behind.is_empty() || behind.starts_with([' ', '\t'])
}
