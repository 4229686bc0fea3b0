//! Parses a file into mappings, lists, texts, and their comments.

#[derive(Debug)]
pub(super) struct Document {
    /// Followed by a blank line, and a `---`.
    pub(super) header: Vec<String>,
    pub(super) entries: Vec<Entry>,
    pub(super) tail: Vec<String>,
}

/// An empty line separates groups.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) comments: Vec<String>,
    pub(super) is_apart: bool,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) before: Before,
    pub(super) key: String,
    pub(super) header: String,
    pub(super) node: Node,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) before: Before,
    pub(super) header: String,
    pub(super) node: Node,
}

#[derive(Debug)]
pub(super) enum Node {
    Map {
        entries: Vec<Entry>,
        tail: Vec<String>,
    },
    List {
        items: Vec<Item>,
        tail: Vec<String>,
    },
    /// Without their common indentation.
    Text(Vec<String>),
}

/// `text` has no indentation.
#[derive(Debug, Clone)]
struct Line {
    indent: usize,
    text: String,
}

impl Line {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn is_comment(&self) -> bool {
        self.text.starts_with('#')
    }

    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }
}

struct Reader {
    lines: Vec<Line>,
    at: usize,
}

/// The text must be valid YAML; the error explains an unsupported layout.
pub(super) fn read(text: &str) -> Result<Document, String> {
    let lines = text.lines().map(|line| {
        let text = line.trim_start_matches(' ');
        Line {
            indent: line.len() - text.len(),
            text: text.to_owned(),
        }
    });
    let mut reader = Reader {
        lines: lines.collect(),
        at: 0,
    };
    let header = reader.header();
    let (entries, tail) = reader.map(0)?;
    if reader.at < reader.lines.len()
        && reader
            .lines
            .iter()
            .skip(reader.at)
            .any(|line| !line.is_blank())
    {
        return Err(format!("line {} has an unusual layout", reader.at + 1));
    }
    Ok(Document {
        header,
        entries,
        tail,
    })
}

fn key(text: &str) -> Option<(&str, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\''));
    let end = if let Some(quote) = quote {
        let inner = text.get(1..)?.find(quote)? + 2;
        text.get(inner..)?.starts_with(':').then_some(inner)?
    } else {
        let first = text.chars().next()?;
        if !(first.is_alphanumeric() || first == '_') {
            return None;
        }
        let ends = |at: &usize| {
            let rest = text.get(at + 1..).unwrap_or_default();
            rest.is_empty() || rest.starts_with(' ')
        };
        text.match_indices(':').map(|(at, _)| at).find(ends)?
    };
    let (key, rest) = text.split_at_checked(end)?;
    Some((key, rest.get(1..)?.trim()))
}

fn open_brackets(text: &str) -> i32 {
    let mut depth = 0;
    let mut quote: Option<char> = None;
    let mut last = ' ';
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if !last.is_alphanumeric() => quote = Some(letter),
            (None, '#') if last.is_whitespace() => break,
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => {}
        }
        last = letter;
    }
    depth
}

fn dedented(lines: &[Line]) -> Vec<String> {
    let filled = lines.iter().filter(|line| !line.is_blank());
    let common = filled.map(|line| line.indent).min().unwrap_or_default();
    let line = |line: &Line| {
        let indent = line.indent.saturating_sub(common);
        format!("{}{}", " ".repeat(indent), line.text)
    };
    lines.iter().map(line).collect()
}

impl Reader {
    fn line(&self, at: usize) -> Option<&Line> {
        self.lines.get(at)
    }

    fn significant(&self) -> Option<&Line> {
        let rest = self.lines.iter().skip(self.at);
        rest.clone()
            .find(|line| !line.is_blank() && !line.is_comment())
    }

    fn header(&mut self) -> Vec<String> {
        let mut end = 0;
        for (at, line) in self.lines.iter().enumerate() {
            match line.text.trim_end() {
                "" | "---" => end = at + 1,
                text if text.starts_with('#') => {}
                _ => break,
            }
        }
        let lines = self.lines.iter().take(end);
        let mut header: Vec<String> = Vec::new();
        for line in lines.map(|line| line.text.trim_end()) {
            if !(line.is_empty() && header.last().is_none_or(String::is_empty)) {
                header.push(line.to_owned());
            }
        }
        while header.last().is_some_and(String::is_empty) {
            header.pop();
        }
        self.at = end;
        header
    }

    fn before(&mut self) -> Before {
        let mut before = Before::default();
        let mut is_apart = false;
        while let Some(line) = self.line(self.at) {
            if line.is_blank() {
                is_apart = true;
            } else if line.is_comment() {
                if is_apart && before.comments.is_empty() {
                    before.is_apart = true;
                } else if is_apart {
                    before.comments.push(String::new());
                }
                is_apart = false;
                let comment = line.text.trim_end().to_owned();
                before.comments.push(comment);
            } else {
                break;
            }
            self.at += 1;
        }
        before.is_apart |= is_apart && before.comments.is_empty();
        before
    }

    /// Takes the comments that close a block: those indented by at least `floor`.
    fn tail(&mut self, floor: usize) -> Vec<String> {
        let mut tail = Vec::new();
        let mut end = self.at;
        for (at, line) in self.lines.iter().enumerate().skip(self.at) {
            if line.is_comment() && line.indent >= floor {
                tail.push(line.text.trim_end().to_owned());
                end = at + 1;
            } else if !line.is_blank() {
                break;
            }
        }
        self.at = end;
        tail
    }

    fn map(&mut self, indent: usize) -> Result<(Vec<Entry>, Vec<String>), String> {
        let mut entries = Vec::new();
        loop {
            let next = self.significant();
            let found = next
                .filter(|line| line.indent == indent && !line.is_item())
                .and_then(|line| key(&line.text))
                .map(|(key, header)| (key.to_owned(), header.to_owned()));
            let Some((key, header)) = found else { break };
            let before = self.before();
            self.at += 1;
            let node = self.value(&header, indent)?;
            entries.push(Entry {
                before,
                key,
                header,
                node,
            });
        }
        Ok((entries, self.tail(indent)))
    }

    /// Comments indented by at least `floor` close the list.
    fn list(&mut self, indent: usize, floor: usize) -> Result<Node, String> {
        let mut items = Vec::new();
        while self
            .significant()
            .is_some_and(|line| line.indent == indent && line.is_item())
        {
            let mut before = self.before();
            let Some(line) = self.lines.get_mut(self.at) else {
                break;
            };
            let rest = line.text.get(1..).unwrap_or_default().to_owned();
            let content = rest.trim_start();
            let inner = indent + 1 + rest.len() - content.len();
            let content = content.trim_end().to_owned();
            let (header, node) = if content.is_empty() || content.starts_with('#') {
                before
                    .comments
                    .extend((!content.is_empty()).then_some(content));
                self.at += 1;
                (String::new(), self.value("", indent)?)
            } else if key(&content).is_some() || content.starts_with("- ") {
                *line = Line {
                    indent: inner,
                    text: content,
                };
                (String::new(), self.block(indent)?)
            } else {
                self.at += 1;
                let node = self.value(&content, indent)?;
                (content, node)
            };
            items.push(Item {
                before,
                header,
                node,
            });
        }
        let tail = self.tail(floor);
        Ok(Node::List { items, tail })
    }

    fn block(&mut self, parent: usize) -> Result<Node, String> {
        let Some(line) = self.significant().cloned() else {
            return Ok(Node::Text(Vec::new()));
        };
        if line.is_item() {
            return self.list(line.indent, line.indent);
        }
        if key(&line.text).is_some() {
            let (entries, tail) = self.map(line.indent)?;
            return Ok(Node::Map { entries, tail });
        }
        Ok(self.text(parent))
    }

    /// A block below `header`, or the rest of its text.
    fn value(&mut self, header: &str, indent: usize) -> Result<Node, String> {
        if header.starts_with(['|', '>']) {
            return self.block_scalar(header, indent);
        }
        if header.starts_with(['[', '{']) {
            return Ok(self.flow(header));
        }
        if !header.is_empty() && !header.starts_with('#') {
            return Ok(self.text(indent));
        }
        match self.significant() {
            Some(line) if line.indent > indent => self.block(indent),
            Some(line) if line.indent == indent && line.is_item() && self.follows_key() => {
                self.list(indent, indent + 1)
            }
            _ => Ok(Node::Map {
                entries: Vec::new(),
                tail: self.tail(indent + 1),
            }),
        }
    }

    fn follows_key(&self) -> bool {
        let mut before = self.lines.iter().take(self.at).rev();
        let last = before.find(|line| !line.is_blank() && !line.is_comment());
        last.is_some_and(|line| !line.is_item())
    }

    fn text(&mut self, indent: usize) -> Node {
        let mut end = self.at;
        for (at, line) in self.lines.iter().enumerate().skip(self.at) {
            if line.is_blank() {
                continue;
            }
            if line.indent <= indent {
                break;
            }
            end = at + 1;
        }
        let lines = self.lines.get(self.at..end).unwrap_or_default();
        let node = Node::Text(dedented(lines));
        self.at = end;
        node
    }

    fn flow(&mut self, header: &str) -> Node {
        let mut depth = open_brackets(header);
        let begin = self.at;
        while depth > 0
            && let Some(line) = self.line(self.at)
        {
            depth += open_brackets(&line.text);
            self.at += 1;
        }
        Node::Text(dedented(self.lines.get(begin..self.at).unwrap_or_default()))
    }

    fn block_scalar(&mut self, header: &str, parent: usize) -> Result<Node, String> {
        let indicator = header.split(" #").next().unwrap_or(header);
        if indicator.contains(|letter: char| letter.is_ascii_digit() || letter == '+') {
            return Err(format!(
                "line {}: a block text with `{}` cannot be re-indented",
                self.at,
                indicator.trim()
            ));
        }
        let rest = self.lines.iter().skip(self.at);
        let first = rest.clone().find(|line| !line.is_blank());
        let Some(content) = first
            .map(|line| line.indent)
            .filter(|indent| *indent > parent)
        else {
            return Ok(Node::Text(Vec::new()));
        };
        let mut end = self.at;
        for (at, line) in self.lines.iter().enumerate().skip(self.at) {
            if line.is_blank() {
                continue;
            }
            if line.indent < content {
                break;
            }
            end = at + 1;
        }
        let lines = self.lines.get(self.at..end).unwrap_or_default();
        let node = Node::Text(dedented(lines));
        self.at = end;
        Ok(node)
    }
}
