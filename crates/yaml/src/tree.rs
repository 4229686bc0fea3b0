//! Where the keys and values of a YAML text are.
//!
//! For an invalid text, the tree covers what could be read.

mod flow;
mod token;

use std::ops::Range;

use token::{Cursor, Key};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub range: Range<usize>,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text, a number, an alias, or nothing.
    Scalar,
    Mapping {
        style: Style,
        entries: Vec<Entry>,
    },
    Sequence {
        style: Style,
        items: Vec<Node>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Block,
    Flow,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `None` if the key is a list or a mapping.
    pub name: Option<String>,
    pub key: Range<usize>,
    /// `None` if nothing is written.
    pub value: Option<Node>,
}

/// Maximum depth; the YAML parser stops earlier.
const DEPTH: usize = 200;

pub fn tree(text: &str) -> Option<Node> {
    let mut reader = TreeReader {
        cursor: Cursor::new(text),
        depth: 0,
    };
    reader.cursor.skip_frame();
    reader.value(None, Follows::Nothing)
}

/// `None` unless the node is a scalar.
pub fn scalar_text(text: &str, node: &Node) -> Option<String> {
    match node.content {
        Content::Scalar => Cursor::new(text).name(&node.range),
        Content::Mapping { .. } | Content::Sequence { .. } => None,
    }
}

pub fn second_document(text: &str) -> Option<usize> {
    let mut has_begun = false;
    let mut has_ended = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        let is_marker = |marker: &str| {
            let rest = content.strip_prefix(marker);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        };
        if is_marker("...") {
            has_ended |= has_begun;
        } else if is_marker("---") {
            if has_begun {
                return Some(at);
            }
            has_begun = true;
        } else if !content.trim_start().is_empty()
            && !content.trim_start().starts_with('#')
            && !content.starts_with('%')
        {
            if has_ended {
                return Some(at);
            }
            has_begun = true;
        }
        at += line.len();
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    Nothing,
    /// No block begins on the same line. A list below can have the key's indent.
    Key,
    /// A dash or a question mark: a block can begin on the same line.
    Dash,
}

struct TreeReader<'t> {
    cursor: Cursor<'t>,
    depth: usize,
}

impl TreeReader<'_> {
    fn value(&mut self, parent: Option<usize>, follows: Follows) -> Option<Node> {
        if self.depth >= DEPTH {
            return None;
        }
        self.depth += 1;
        let node = self.properties_and_content(parent, follows);
        self.depth -= 1;
        node
    }

    fn properties_and_content(&mut self, parent: Option<usize>, follows: Follows) -> Option<Node> {
        let line = self.cursor.line_start();
        let mut may_begin_block = follows == Follows::Dash;
        let mut start = None;
        loop {
            self.cursor.skip_blank();
            let is_below = self.cursor.line_start() != line || follows == Follows::Nothing;
            if is_below && !self.belongs(parent, follows) {
                break;
            }
            may_begin_block |= is_below;
            let at = self.cursor.at;
            if may_begin_block && self.begins_block() {
                let content = self.block();
                return Some(self.node(start.unwrap_or(at), content));
            }
            if !self.cursor.skip_property() {
                let content = self.one(parent);
                return Some(self.node(start.unwrap_or(at), content));
            }
            start = start.or(Some(at));
        }
        start.map(|start| Node {
            range: start..self.cursor.end,
            content: Content::Scalar,
        })
    }

    fn belongs(&self, parent: Option<usize>, follows: Follows) -> bool {
        if self.cursor.is_at_end() || self.cursor.is_marker() {
            return false;
        }
        let column = self.cursor.column();
        parent.is_none_or(|parent| {
            column > parent
                || column == parent && follows == Follows::Key && self.cursor.is_indicator(b'-')
        })
    }

    fn begins_block(&self) -> bool {
        self.cursor.is_indicator(b'-')
            || self.cursor.is_indicator(b'?')
            || self.cursor.key().is_some()
    }

    fn node(&self, start: usize, content: Content) -> Node {
        Node {
            range: start..self.cursor.end.max(start),
            content,
        }
    }

    fn block(&mut self) -> Content {
        let style = Style::Block;
        if self.cursor.is_indicator(b'-') {
            Content::Sequence {
                style,
                items: self.items(),
            }
        } else {
            Content::Mapping {
                style,
                entries: self.entries(),
            }
        }
    }

    fn items(&mut self) -> Vec<Node> {
        let indent = self.cursor.column();
        let mut items = Vec::new();
        while self.cursor.is_indicator(b'-') && self.cursor.column() == indent {
            self.cursor.advance(1);
            let at = self.cursor.at;
            let item = self.value(Some(indent), Follows::Dash);
            items.push(item.unwrap_or(Node {
                range: at..at,
                content: Content::Scalar,
            }));
            self.cursor.skip_blank();
            if self.cursor.is_marker() {
                break;
            }
        }
        items
    }

    fn entries(&mut self) -> Vec<Entry> {
        let indent = self.cursor.column();
        let mut entries = Vec::new();
        while self.cursor.column() == indent && !self.cursor.is_marker() {
            if self.cursor.is_indicator(b'?') {
                entries.push(self.explicit_entry(indent));
            } else if let Some(Key { range, name, colon }) = self.cursor.key() {
                self.cursor.advance(colon + 1 - self.cursor.at);
                entries.push(Entry {
                    name,
                    key: range,
                    value: self.value(Some(indent), Follows::Key),
                });
            } else {
                break;
            }
            self.cursor.skip_blank();
        }
        entries
    }

    fn explicit_entry(&mut self, indent: usize) -> Entry {
        self.cursor.advance(1);
        let key = self.value(Some(indent), Follows::Dash);
        let range = key.map_or(self.cursor.at..self.cursor.at, |key| key.range);
        let name = self.cursor.name(&range);
        self.cursor.skip_blank();
        let has_value = self.cursor.is_indicator(b':') && self.cursor.column() == indent;
        let value = has_value.then(|| {
            self.cursor.advance(1);
            self.value(Some(indent), Follows::Dash)
        });
        Entry {
            name,
            key: range,
            value: value.flatten(),
        }
    }

    fn one(&mut self, parent: Option<usize>) -> Content {
        match self.cursor.byte() {
            Some(b'[' | b'{') => return self.flow(),
            Some(b'|' | b'>') => self.cursor.skip_literal(parent),
            Some(b'"' | b'\'') => self.cursor.skip_quoted(),
            Some(b'*') => self.cursor.skip_word(),
            _ => self.cursor.skip_plain(parent),
        }
        Content::Scalar
    }
}

#[cfg(test)]
mod tests;
