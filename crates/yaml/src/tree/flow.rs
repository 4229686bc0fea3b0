//! Values in brackets.

use super::{Content, Entry, Node, Style, TreeReader};

impl TreeReader<'_> {
    pub(super) fn flow(&mut self) -> Content {
        let style = Style::Flow;
        let is_mapping = self.cursor.byte() == Some(b'{');
        self.cursor.advance(1);
        let mut entries = Vec::new();
        let mut items = Vec::new();
        loop {
            self.cursor.skip_blank();
            match self.cursor.byte() {
                None => break,
                Some(b']' | b'}') => {
                    self.cursor.advance(1);
                    break;
                }
                Some(b',') => self.cursor.advance(1),
                Some(_) => {
                    let before = self.cursor.at;
                    let (node, entry) = self.pair();
                    if is_mapping {
                        entries.push(entry.unwrap_or_else(|| self.key_alone(&node)));
                    } else {
                        items.push(entry.map_or(node.clone(), |entry| Node {
                            range: node.range.start..self.cursor.end,
                            content: Content::Mapping {
                                style,
                                entries: vec![entry],
                            },
                        }));
                    }
                    if self.cursor.at == before {
                        self.cursor.advance(1);
                    }
                }
            }
        }
        if is_mapping {
            Content::Mapping { style, entries }
        } else {
            Content::Sequence { style, items }
        }
    }

    fn key_alone(&self, key: &Node) -> Entry {
        Entry {
            name: self.cursor.name(&key.range),
            key: key.range.clone(),
            value: None,
        }
    }

    fn pair(&mut self) -> (Node, Option<Entry>) {
        if self.cursor.is_indicator(b'?') {
            self.cursor.advance(1);
            self.cursor.skip_blank();
        }
        let key = self.flow_value();
        let end = (self.cursor.at, self.cursor.end);
        self.cursor.skip_blank();
        if self.cursor.byte() != Some(b':') {
            (self.cursor.at, self.cursor.end) = end;
            return (key, None);
        }
        self.cursor.advance(1);
        let end = self.cursor.end;
        self.cursor.skip_blank();
        let value = match self.cursor.byte() {
            None | Some(b',' | b']' | b'}') => {
                self.cursor.end = end;
                None
            }
            Some(_) => Some(self.flow_value()),
        };
        let entry = Entry {
            name: self.cursor.name(&key.range),
            key: key.range.clone(),
            value,
        };
        (key, Some(entry))
    }

    fn flow_value(&mut self) -> Node {
        let start = self.cursor.at;
        while self.cursor.skip_property() {
            self.cursor.skip_blank();
        }
        let content = match self.cursor.byte() {
            Some(b'[' | b'{') if self.depth < super::DEPTH => {
                self.depth += 1;
                let content = self.flow();
                self.depth -= 1;
                content
            }
            Some(b'"' | b'\'') => {
                self.cursor.skip_quoted();
                Content::Scalar
            }
            Some(b'*') => {
                self.cursor.skip_word();
                Content::Scalar
            }
            Some(b',' | b']' | b'}') | None => Content::Scalar,
            Some(_) => {
                self.cursor.skip_plain_in_brackets();
                Content::Scalar
            }
        };
        self.node(start, content)
    }
}
