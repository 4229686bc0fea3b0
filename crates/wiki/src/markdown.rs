//! Separates prose from code in a Markdown text.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MarkdownSegment {
    Prose(Range<usize>),
    Code(Range<usize>),
}

/// Omits fenced code.
pub(crate) fn segments(text: &str) -> Vec<MarkdownSegment> {
    let mut found = Vec::new();
    for range in unfenced(text) {
        split_inline(text, range, &mut found);
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading<'t> {
    pub(crate) level: usize,
    pub(crate) title: &'t str,
    pub(crate) line: Range<usize>,
}

pub(crate) fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    for range in unfenced(text) {
        let mut at = range.start;
        for line in text.get(range).unwrap_or_default().split_inclusive('\n') {
            let end = at + line.len();
            let title = line.trim_start_matches('#');
            let level = line.len() - title.len();
            if (1..=6).contains(&level) && title.starts_with([' ', '\t']) {
                let title = title.trim().trim_end_matches('#').trim_end();
                found.push(Heading {
                    level,
                    title,
                    line: at..end,
                });
            }
            at = end;
        }
    }
    found
}

fn unfenced(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (open, fence(line)) {
            (None, Some((mark, length, _))) => {
                if start < at {
                    ranges.push(start..at);
                }
                open = Some((mark, length));
            }
            (Some((mark, length)), Some((other, other_length, FenceTail::Blank)))
                if mark == other && other_length >= length =>
            {
                open = None;
                start = end;
            }
            _ => {}
        }
        at = end;
    }
    if open.is_none() && start < at {
        ranges.push(start..at);
    }
    ranges
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FenceTail {
    Blank,
    Text,
}

fn fence(line: &str) -> Option<(char, usize, FenceTail)> {
    let inner = line.trim_start_matches(' ');
    if line.len() - inner.len() > 3 {
        return None;
    }
    let mark = inner
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = inner.trim_start_matches(mark);
    let length = inner.len() - rest.len();
    if length < 3 || (mark == '`' && rest.contains('`')) {
        return None;
    }
    let tail = if rest.trim().is_empty() {
        FenceTail::Blank
    } else {
        FenceTail::Text
    };
    Some((mark, length, tail))
}

fn split_inline(text: &str, range: Range<usize>, found: &mut Vec<MarkdownSegment>) {
    let mut prose = range.start;
    let mut at = range.start;
    while let Some(open) = run_of_backticks(text, at..range.end) {
        match closing(text, open.end..range.end, open.len()) {
            Some(close) => {
                if prose < open.start {
                    found.push(MarkdownSegment::Prose(prose..open.start));
                }
                found.push(MarkdownSegment::Code(open.end..close.start));
                at = close.end;
                prose = at;
            }
            None => at = open.end,
        }
    }
    if prose < range.end {
        found.push(MarkdownSegment::Prose(prose..range.end));
    }
}

fn run_of_backticks(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let start = part.find('`')?;
    let rest = part.get(start..)?;
    let length = rest.len() - rest.trim_start_matches('`').len();
    Some(range.start + start..range.start + start + length)
}

/// Finds the run that closes a span of `length` backticks within the same paragraph.
fn closing(text: &str, range: Range<usize>, length: usize) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let paragraph = ["\n\n", "\r\n\r\n"]
        .iter()
        .filter_map(|gap| part.find(gap))
        .min();
    let end = range.start + paragraph.unwrap_or(part.len());
    let mut at = range.start;
    while let Some(run) = run_of_backticks(text, at..end) {
        if run.len() == length {
            return Some(run);
        }
        at = run.end;
    }
    None
}
