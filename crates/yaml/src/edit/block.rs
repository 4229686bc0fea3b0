//! Reads the lines of YAML in block style.

use std::ops::Range;

use serde_yaml::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// From 1.
    pub line: usize,
    pub what: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    Comment,
    Content,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// Starts at the line, or after the dash of its item.
    pub(super) raw: &'t str,
    pub(super) indent: usize,
    pub(super) number: usize,
    pub(super) kind: LineKind,
    pub(super) is_behind_dash: bool,
}

impl<'t> Line<'t> {
    pub(super) fn content(&self) -> &'t str {
        self.raw
            .trim_start_matches(' ')
            .trim_end_matches(['\n', '\r'])
    }

    fn is_item(&self) -> bool {
        let content = self.content();
        content == "-" || content.starts_with("- ")
    }

    pub(super) const fn obstacle(&self, what: &'static str) -> Obstacle {
        Obstacle {
            line: self.number,
            what,
        }
    }
}

pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut all = Vec::new();
    for (at, raw) in text.split_inclusive('\n').enumerate() {
        let said = raw.trim_start_matches(' ');
        let kind = match said.trim_start().chars().next() {
            None => LineKind::Blank,
            Some('#') => LineKind::Comment,
            Some(_) => LineKind::Content,
        };
        all.push(Line {
            raw,
            indent: raw.len() - said.len(),
            number: at + 1,
            kind,
            is_behind_dash: false,
        });
    }
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Keys,
    Items,
}

#[derive(Debug, Clone)]
pub(super) struct BlockEntry {
    /// Blank lines, and comments separated by them.
    pub(super) gap: Range<usize>,
    /// Comments directly above the entry.
    pub(super) lead: Range<usize>,
    pub(super) own: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) indent: usize,
    pub(super) entries: Vec<BlockEntry>,
    pub(super) tail: Range<usize>,
}

pub(super) fn block(lines: &[Line<'_>], of: BlockKind) -> Result<Block, Obstacle> {
    let contents = || lines.iter().filter(|line| line.kind == LineKind::Content);
    let indent = contents().next().map_or(0, |line| line.indent);
    let mut heads: Vec<usize> = Vec::new();
    let mut is_explicit = false;
    for (at, line) in lines.iter().enumerate() {
        if line.kind != LineKind::Content || line.indent > indent {
            continue;
        }
        let is_value = is_explicit && is_explicit_value(line.content());
        match (of, line.is_item()) {
            _ if line.indent < indent => return Err(line.obstacle(UNUSUAL)),
            (BlockKind::Keys, true) if !heads.is_empty() => {}
            (BlockKind::Keys, false) if is_value => is_explicit = false,
            (BlockKind::Keys, false) | (BlockKind::Items, true) => {
                is_explicit = line.content().starts_with("? ");
                heads.push(at);
            }
            (BlockKind::Keys, true) | (BlockKind::Items, false) => {
                return Err(line.obstacle(UNUSUAL));
            }
        }
    }
    let mut entries = Vec::with_capacity(heads.len());
    let mut end = 0;
    for (nth, head) in heads.iter().enumerate() {
        let next = heads.get(nth + 1).copied().unwrap_or(lines.len());
        let lead = back(lines, end..*head, |line| {
            line.kind == LineKind::Comment && line.indent <= indent
        });
        let own_end = back(lines, *head + 1..next, |line| {
            line.kind == LineKind::Blank || line.kind == LineKind::Comment && line.indent <= indent
        });
        entries.push(BlockEntry {
            gap: end..lead,
            lead: lead..*head,
            own: *head..own_end,
        });
        end = own_end;
    }
    Ok(Block {
        indent,
        entries,
        tail: end..lines.len(),
    })
}

pub(super) const UNUSUAL: &str = "an unusual layout";

fn back(lines: &[Line<'_>], range: Range<usize>, holds: impl Fn(&Line<'_>) -> bool) -> usize {
    let slice = lines.get(range.clone()).unwrap_or_default();
    let count = slice.iter().rev().take_while(|line| holds(line)).count();
    range.end - count
}

fn is_explicit_value(content: &str) -> bool {
    content == ":" || content.starts_with(": ")
}

#[derive(Debug, Clone, Copy)]
pub(super) struct KeyHead<'t> {
    pub(super) key: &'t str,
    pub(super) rest: &'t str,
    /// Two if the key has its own line.
    pub(super) lines: usize,
}

pub(super) fn head<'t>(own: &[Line<'t>]) -> Option<KeyHead<'t>> {
    let content = own.first()?.content();
    if let Some(key) = content.strip_prefix("? ") {
        let rest = own.get(1)?.content().strip_prefix(':')?;
        return Some(KeyHead {
            key: key.trim(),
            rest,
            lines: 2,
        });
    }
    let first = content.chars().next()?;
    let end = if matches!(first, '"' | '\'') {
        let end = quoted_end(content, first)?;
        end + content.get(end..)?.find(|letter| letter != ' ')?
    } else {
        let ends = |(at, _): &(usize, &str)| {
            let rest = content.get(at + 1..).unwrap_or_default();
            rest.is_empty() || rest.starts_with([' ', '\t'])
        };
        content.match_indices(':').find(ends)?.0
    };
    let (key, rest) = content.split_at_checked(end)?;
    Some(KeyHead {
        key: key.trim_end(),
        rest: rest.strip_prefix(':')?,
        lines: 1,
    })
}

fn quoted_end(content: &str, quote: char) -> Option<usize> {
    let mut letters = content.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => {
                letters.next();
            }
            letter if letter == quote => {
                let doubled =
                    quote == '\'' && letters.next_if(|(_, next)| *next == quote).is_some();
                if !doubled {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

pub(super) fn is_key(written: &str, key: &Value) -> bool {
    let plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    match key {
        Value::String(text) if text == written && text.len() > 5 && plain(text) => true,
        _ => serde_yaml::from_str::<Value>(written).is_ok_and(|read| read == *key),
    }
}

pub(super) fn comment(rest: &str) -> &str {
    let mut quote: Option<char> = None;
    let mut last = ' ';
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some('"'), '\\') => {
                letters.next();
            }
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if " \t[{,:".contains(last) => quote = Some(letter),
            (None, '#') if matches!(last, ' ' | '\t') => {
                let value = rest.get(..at).unwrap_or_default().trim_end();
                return rest.get(value.len()..).unwrap_or_default();
            }
            (None, _) => {}
        }
        last = letter;
    }
    ""
}

/// True for a block scalar or a quoted text, where `#` does not start a comment.
pub(super) fn is_text(rest: &str, below: &[Line<'_>]) -> bool {
    let begin = rest.trim_start();
    let Some(first) = begin.chars().next() else {
        return false;
    };
    match first {
        '|' | '>' => {
            let indent = below.iter().find(|line| line.kind != LineKind::Blank);
            let indent = indent.map_or(0, |line| line.indent);
            below
                .iter()
                .all(|line| line.kind == LineKind::Blank || line.indent >= indent)
        }
        '"' | '\'' => {
            let lines = below.iter().map(Line::content);
            let text: Vec<&str> = std::iter::once(begin).chain(lines).collect();
            let text = text.join(" ");
            let text = text.trim_end();
            quoted_end(text, first) == Some(text.len())
        }
        _ => false,
    }
}

/// Finds the first line that a rewrite of its value would damage.
pub(super) fn kept_words(lines: &[Line<'_>]) -> Option<Obstacle> {
    let marked = |line: &Line<'_>| {
        let content = line.content();
        let mut last = ' ';
        let mut letters = content.chars().peekable();
        while let Some(letter) = letters.next() {
            let begins = matches!(last, ' ' | '\t' | '[' | '{' | ',');
            match letter {
                '#' if begins => return Some("a comment"),
                '&' | '*' | '!'
                    if begins && letters.peek().is_some_and(|next| !" =".contains(*next)) =>
                {
                    return Some("an anchor, an alias or a tag");
                }
                _ => last = letter,
            }
        }
        None
    };
    lines
        .iter()
        .find_map(|line| marked(line).map(|what| line.obstacle(what)))
}
