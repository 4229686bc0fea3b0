//! Parses LookML: entries `key: value`, where a value is a word, a quoted text, SQL up to `;;`, a
//! list or a block.

const DEPTH: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LookmlEntry {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Self>),
    /// A block with its optional name, or a `key: value` in a list.
    Block(Option<String>, Vec<LookmlEntry>),
}

impl Value {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Block(..) => None,
        }
    }

    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(items) => items.iter().filter_map(Self::text).collect(),
            Self::Block(..) => Vec::new(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) what: String,
}

pub(super) fn parse(text: &str) -> Result<Vec<LookmlEntry>, SyntaxError> {
    let mut parser = Parser { text, at: 0 };
    let entries = parser.entries(0)?;
    match parser.peek() {
        None => Ok(entries),
        Some(_) => Err(parser.wrong("no block ends here")),
    }
}

pub(super) fn place(path: &str, text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default();
    format!("{path}:{line}:{}", column.chars().count() + 1)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return trimmed.chars().next();
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn takes(&mut self, letter: char) -> bool {
        let is_next = self.peek() == Some(letter);
        if is_next {
            self.at += letter.len_utf8();
        }
        is_next
    }

    fn wrong(&self, what: &str) -> SyntaxError {
        SyntaxError {
            at: self.at,
            what: what.to_owned(),
        }
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<LookmlEntry>, SyntaxError> {
        let mut entries = Vec::new();
        while self.peek().is_some_and(|letter| letter != '}') {
            let at = self.at;
            let key = self.word()?.to_owned();
            if !self.takes(':') {
                return Err(self.wrong(&format!("a `:` is missing after `{key}`")));
            }
            let value = self.value(&key, depth)?;
            entries.push(LookmlEntry { key, value, at });
        }
        Ok(entries)
    }

    fn value(&mut self, key: &str, depth: usize) -> Result<Value, SyntaxError> {
        if is_sql(key) {
            return self.sql(key);
        }
        self.plain(key, depth)
    }

    fn plain(&mut self, key: &str, depth: usize) -> Result<Value, SyntaxError> {
        match self.peek() {
            Some('"') => self.quoted().map(Value::Text),
            Some('[') => self.list(depth),
            Some('{') => self.block(None, depth),
            Some(_) => {
                let word = self.word()?.to_owned();
                if self.peek() == Some('{') {
                    self.block(Some(word), depth)
                } else {
                    Ok(Value::Text(word))
                }
            }
            None => Err(self.wrong(&format!("`{key}` has no value"))),
        }
    }

    fn sql(&mut self, key: &str) -> Result<Value, SyntaxError> {
        let rest = self.rest();
        let Some((sql, _)) = rest.split_once(";;") else {
            self.peek();
            return Err(self.wrong(&format!("a `;;` is missing after `{key}`")));
        };
        self.at += sql.len() + 2;
        Ok(Value::Text(sql.trim().to_owned()))
    }

    fn block(&mut self, name: Option<String>, depth: usize) -> Result<Value, SyntaxError> {
        let begin = self.at;
        self.deeper(depth)?;
        self.takes('{');
        let entries = self.entries(depth + 1)?;
        if !self.takes('}') {
            self.at = begin;
            return Err(self.wrong("the block does not end"));
        }
        Ok(Value::Block(name, entries))
    }

    fn list(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let begin = self.at;
        self.deeper(depth)?;
        self.takes('[');
        let mut items = Vec::new();
        loop {
            while self.takes(',') {}
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    return Ok(Value::List(items));
                }
                None => {
                    self.at = begin;
                    return Err(self.wrong("the list does not end"));
                }
                Some('"') => items.push(Value::Text(self.quoted()?)),
                Some(_) => items.push(self.item(depth)?),
            }
        }
    }

    fn item(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let at = self.at;
        let key = self.word()?.to_owned();
        if !self.takes(':') {
            return Ok(Value::Text(key));
        }
        let value = self.plain(&key, depth + 1)?;
        Ok(Value::Block(None, vec![LookmlEntry { key, value, at }]))
    }

    fn deeper(&self, depth: usize) -> Result<(), SyntaxError> {
        if depth < DEPTH {
            Ok(())
        } else {
            Err(self.wrong("blocks are nested too deeply"))
        }
    }

    fn quoted(&mut self) -> Result<String, SyntaxError> {
        let begin = self.at;
        let mut text = String::new();
        let mut letters = self.rest().char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at = begin + at + 1;
                    return Ok(text);
                }
                '\\' => match letters.next() {
                    Some((_, quote @ ('"' | '\\'))) => text.push(quote),
                    Some((_, other)) => text.extend(['\\', other]),
                    None => {}
                },
                letter => text.push(letter),
            }
        }
        Err(self.wrong("the text in quotes does not end"))
    }

    fn word(&mut self) -> Result<&'a str, SyntaxError> {
        self.peek();
        let rest = self.rest();
        let mut end = 0;
        while let Some(letter) = rest.get(end..).and_then(|rest| rest.chars().next()) {
            // A constant contains its own braces.
            if rest.get(end..).is_some_and(|rest| rest.starts_with("@{")) {
                let closing = rest.get(end..).and_then(|rest| rest.find('}'));
                end += closing.map_or(2, |at| at + 1);
                continue;
            }
            if letter.is_whitespace() || ":,[]{}\"#;".contains(letter) {
                break;
            }
            end += letter.len_utf8();
        }
        if end == 0 {
            let found = rest
                .chars()
                .next()
                .map(|letter| format!(", not `{letter}`"));
            let found = found.unwrap_or_default();
            return Err(self.wrong(&format!("a word was expected{found}")));
        }
        self.at += end;
        rest.get(..end)
            .ok_or_else(|| self.wrong("a word was expected"))
    }
}

fn is_sql(key: &str) -> bool {
    let is_named = ["sql", "html", "expression", "expression_custom_filter"].contains(&key);
    is_named || (key.starts_with("sql_") && key != "sql_case")
}
