//! The cursor of the reader: blanks, keys and scalars.

use std::ops::Range;

use serde_yaml::Value;

pub(super) struct Cursor<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pub(super) at: usize,
    /// The end of the last content.
    pub(super) end: usize,
}

pub(super) struct Key {
    pub(super) range: Range<usize>,
    pub(super) name: Option<String>,
    pub(super) colon: usize,
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

const fn is_bracket_or_comma(byte: u8) -> bool {
    matches!(byte, b'[' | b']' | b'{' | b'}' | b',')
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            end: 0,
        }
    }

    fn byte_at(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.byte_at(self.at)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn is_blank_at(&self, at: usize) -> bool {
        self.byte_at(at).is_none_or(is_blank)
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.end = self.at;
    }

    fn go(&mut self, at: usize) {
        self.at = at;
        self.end = at;
    }

    fn line_start_of(&self, at: usize) -> usize {
        let before = self.bytes.get(..at).unwrap_or_default();
        let found = before.iter().rposition(|byte| *byte == b'\n');
        found.map_or(0, |line_end| line_end + 1)
    }

    pub(super) fn line_start(&self) -> usize {
        self.line_start_of(self.at)
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let found = rest.iter().position(|byte| *byte == b'\n');
        found.map_or(self.bytes.len(), |length| at + length)
    }

    pub(super) fn column(&self) -> usize {
        self.at - self.line_start()
    }

    /// Skips directives and the marker of the first document.
    pub(super) fn skip_frame(&mut self) {
        loop {
            self.skip_blank();
            if self.byte() == Some(b'%') && self.column() == 0 {
                self.at = self.line_end(self.at);
            } else {
                break;
            }
        }
        if self.is_marker() && self.byte() == Some(b'-') {
            self.at += 3;
        }
    }

    pub(super) fn is_marker(&self) -> bool {
        self.is_marker_at(self.at)
    }

    fn is_marker_at(&self, at: usize) -> bool {
        let three = self.bytes.get(at..at + 3);
        (at == 0 || self.byte_at(at - 1) == Some(b'\n'))
            && matches!(three, Some(b"---" | b"..."))
            && self.is_blank_at(at + 3)
    }

    pub(super) fn is_indicator(&self, sign: u8) -> bool {
        self.byte() == Some(sign) && self.is_blank_at(self.at + 1)
    }

    pub(super) fn skip_blank(&mut self) {
        while let Some(byte) = self.byte() {
            let begins = self.at == 0 || self.is_blank_at(self.at - 1);
            if is_blank(byte) {
                self.at += 1;
            } else if byte == b'#' && begins {
                self.at = self.line_end(self.at);
            } else {
                break;
            }
        }
    }

    pub(super) fn skip_property(&mut self) -> bool {
        let is_property = matches!(self.byte(), Some(b'&' | b'!'));
        if is_property {
            self.skip_word();
        }
        is_property
    }

    /// Stops at a blank or, in brackets, a separator.
    pub(super) fn skip_word(&mut self) {
        let mut at = self.at + 1;
        while self
            .byte_at(at)
            .is_some_and(|byte| !is_blank(byte) && !is_bracket_or_comma(byte))
        {
            at += 1;
        }
        self.go(at);
    }

    /// Returns the key at the cursor if a colon follows on the line.
    pub(super) fn key(&self) -> Option<Key> {
        let mut at = self.at;
        while matches!(self.byte_at(at), Some(b'&' | b'!')) {
            while self.byte_at(at).is_some_and(|byte| !is_blank(byte)) {
                at += 1;
            }
            while matches!(self.byte_at(at), Some(b' ' | b'\t')) {
                at += 1;
            }
        }
        let line_end = self.line_end(at);
        let first = self.byte_at(at).filter(|_| at < line_end)?;
        let end = match first {
            b'"' | b'\'' => self.quoted_end(at),
            b'[' | b'{' => self.brackets_end(at, line_end)?,
            b'*' => {
                let rest = self.bytes.get(at..line_end)?;
                at + rest.iter().position(|byte| is_blank(*byte))?
            }
            b'#' | b'|' | b'>' | b'@' | b'`' | b'%' | b',' | b']' | b'}' => return None,
            b'-' | b'?' if self.is_blank_at(at + 1) => return None,
            _ => self.plain_key_end(at, line_end)?,
        };
        let mut colon = end;
        while matches!(self.byte_at(colon), Some(b' ' | b'\t')) {
            colon += 1;
        }
        if colon >= line_end || self.byte_at(colon) != Some(b':') || !self.is_blank_at(colon + 1) {
            return None;
        }
        let range = at..end;
        let name = self.name(&range);
        Some(Key { range, name, colon })
    }

    fn plain_key_end(&self, at: usize, line_end: usize) -> Option<usize> {
        let colon = (at..line_end)
            .take_while(|at| self.byte_at(*at) != Some(b'#') || !self.is_blank_at(at - 1))
            .find(|at| self.byte_at(*at) == Some(b':') && self.is_blank_at(at + 1))?;
        Some(at + self.text.get(at..colon)?.trim_end().len())
    }

    fn brackets_end(&self, at: usize, line_end: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut place = at;
        while place < line_end {
            match self.byte_at(place)? {
                b'"' | b'\'' => {
                    place = self.quoted_end(place);
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            place += 1;
            if depth == 0 {
                return Some(place);
            }
        }
        None
    }

    fn quoted_end(&self, at: usize) -> usize {
        let quote = self.byte_at(at);
        let mut place = at + 1;
        while let Some(byte) = self.byte_at(place) {
            if byte == b'\\' && quote == Some(b'"') {
                place += 2;
            } else if Some(byte) != quote {
                place += 1;
            } else if quote == Some(b'\'') && self.byte_at(place + 1) == quote {
                place += 2;
            } else {
                return place + 1;
            }
        }
        self.bytes.len()
    }

    pub(super) fn skip_quoted(&mut self) {
        self.go(self.quoted_end(self.at));
    }

    /// Skips the lines after `|` or `>` that are indented deeper than the parent.
    pub(super) fn skip_literal(&mut self, parent: Option<usize>) {
        let mut at = self.line_end(self.at);
        self.go(at);
        while at < self.bytes.len() {
            let line = at + 1;
            let line_end = self.line_end(line);
            let content = self.text.get(line..line_end).unwrap_or_default();
            let indent = content.len() - content.trim_start_matches(' ').len();
            let is_inside = parent.is_none_or(|parent| indent > parent);
            if self.is_marker_at(line) || !(content.trim().is_empty() || is_inside) {
                break;
            }
            at = line_end;
            if !content.trim().is_empty() {
                self.end = at;
            }
        }
        self.at = at;
    }

    pub(super) fn skip_plain(&mut self, parent: Option<usize>) {
        loop {
            let line_end = self.line_end(self.at);
            let comment = (self.at + 1..line_end)
                .find(|at| self.byte_at(*at) == Some(b'#') && self.is_blank_at(at - 1));
            let said = self.text.get(self.at..comment.unwrap_or(line_end));
            self.end = self.at + said.unwrap_or_default().trim_end().len();
            self.at = comment.unwrap_or(line_end);
            if comment.is_some() {
                return;
            }
            let here = self.at;
            while self.byte().is_some_and(is_blank) {
                self.at += 1;
            }
            let continues = !self.is_at_end()
                && !self.is_marker()
                && self.byte() != Some(b'#')
                && parent.is_none_or(|parent| self.column() > parent);
            if !continues {
                self.at = here;
                return;
            }
        }
    }

    pub(super) fn skip_plain_in_brackets(&mut self) {
        let start = self.at;
        let mut at = start;
        while let Some(byte) = self.byte_at(at) {
            let ends = match byte {
                b':' => self
                    .byte_at(at + 1)
                    .is_none_or(|next| is_blank(next) || is_bracket_or_comma(next)),
                b'#' => at > start && self.is_blank_at(at - 1),
                byte => is_bracket_or_comma(byte),
            };
            if ends {
                break;
            }
            at += 1;
        }
        let said = self.text.get(start..at).unwrap_or_default();
        self.end = start + said.trim_end().len();
        self.at = at;
    }

    pub(super) fn name(&self, range: &Range<usize>) -> Option<String> {
        let written = self.text.get(range.clone())?;
        match written.bytes().next() {
            Some(b'[' | b'{') => None,
            Some(b'"' | b'\'') => match serde_yaml::from_str(written) {
                Ok(Value::String(name)) => Some(name),
                _ => None,
            },
            _ => Some(written.to_owned()),
        }
    }
}
