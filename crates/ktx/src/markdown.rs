//! Streams Markdown to a terminal: paragraphs by letter, tables when complete.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::foreign::cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Bold,
    Code,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StyledText {
    pub(crate) text: String,
    pub(crate) look: TextStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// The start is ambiguous.
    Undecided,
    Text,
    Heading,
    /// Shown when the table ends.
    Row,
    Fence,
}

#[derive(Debug)]
pub(crate) struct MarkdownStream {
    /// In columns.
    width: u16,
    line: LineKind,
    held: String,
    rows: Vec<String>,
    look: TextStyle,
    is_code_block: bool,
    shown: Vec<StyledText>,
}

impl MarkdownStream {
    pub(crate) const fn new(width: u16) -> Self {
        Self {
            width,
            line: LineKind::Undecided,
            held: String::new(),
            rows: Vec::new(),
            look: TextStyle::Plain,
            is_code_block: false,
            shown: Vec::new(),
        }
    }

    /// Returns what can be shown.
    pub(crate) fn push(&mut self, part: &str) -> Vec<StyledText> {
        for letter in part.chars() {
            if letter == '\n' {
                self.end_line();
            } else {
                self.take(letter);
            }
        }
        std::mem::take(&mut self.shown)
    }

    pub(crate) fn finish(&mut self) -> Vec<StyledText> {
        if self.line != LineKind::Undecided || !self.held.is_empty() {
            self.end_line();
        }
        self.end_table();
        self.is_code_block = false;
        std::mem::take(&mut self.shown)
    }

    fn take(&mut self, letter: char) {
        self.held.push(letter);
        if self.line == LineKind::Undecided {
            self.decide();
        }
        if self.line == LineKind::Text {
            self.show_text();
        }
    }

    fn decide(&mut self) {
        let begun = self.held.trim_start();
        let is_fence = begun.starts_with("```");
        self.line = match begun.chars().next() {
            None => return,
            Some('`') if is_fence => LineKind::Fence,
            Some('`') if begun.len() < 3 && begun.chars().all(|letter| letter == '`') => return,
            _ if self.is_code_block => LineKind::Text,
            Some('|') => LineKind::Row,
            Some('#') if begun.chars().all(|letter| letter == '#') => return,
            Some('#') if begun.trim_start_matches('#').starts_with(' ') => LineKind::Heading,
            _ => LineKind::Text,
        };
        if self.line != LineKind::Row {
            self.end_table();
        }
    }

    /// Keeps a star that may become two.
    fn show_text(&mut self) {
        if self.is_code_block {
            let text = std::mem::take(&mut self.held);
            self.show(text, TextStyle::Code);
            return;
        }
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        while let Some(at) = rest.find(['*', '`']) {
            let (before, from) = rest.split_at(at);
            self.show(before.to_owned(), self.look);
            if from == "*" {
                from.clone_into(&mut self.held);
                return;
            }
            rest = if let Some(after) = from.strip_prefix("**")
                && self.look != TextStyle::Code
            {
                self.toggle(TextStyle::Bold);
                after
            } else if let Some(after) = from.strip_prefix('`')
                && self.look != TextStyle::Bold
            {
                self.toggle(TextStyle::Code);
                after
            } else {
                let (star, after) = from.split_at(1);
                self.show(star.to_owned(), self.look);
                after
            };
        }
        self.show(rest.to_owned(), self.look);
    }

    fn toggle(&mut self, look: TextStyle) {
        self.look = if self.look == look {
            TextStyle::Plain
        } else {
            look
        };
    }

    fn show(&mut self, text: String, look: TextStyle) {
        match self.shown.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.look == look => last.text.push_str(&text),
            _ => self.shown.push(StyledText { text, look }),
        }
    }

    fn end_line(&mut self) {
        let held = std::mem::take(&mut self.held);
        match self.line {
            LineKind::Row => {
                self.rows.push(held);
                self.line = LineKind::Undecided;
                return;
            }
            LineKind::Fence => self.is_code_block = !self.is_code_block,
            LineKind::Heading => {
                let title = held.trim_start().trim_start_matches('#').trim();
                self.show(title.to_owned(), TextStyle::Bold);
            }
            LineKind::Undecided => {
                self.end_table();
                self.show(held, TextStyle::Plain);
            }
            // At most one star.
            LineKind::Text => self.show(held, self.look),
        }
        if self.line != LineKind::Fence {
            self.show("\n".to_owned(), TextStyle::Plain);
        }
        // A forgotten star affects one line.
        self.look = TextStyle::Plain;
        self.line = LineKind::Undecided;
    }

    fn end_table(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            self.show(table(&rows, self.width), TextStyle::Plain);
        }
    }
}

/// Without a dash line, rows stay unchanged.
fn table(rows: &[String], width: u16) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells_of(row)).collect();
    let [headers, rules, body @ ..] = cells.as_slice() else {
        return raw(rows);
    };
    let is_rule = |cell: &String| {
        let dashes = cell.trim_matches(':');
        !dashes.is_empty() && dashes.chars().all(|letter| letter == '-')
    };
    if !rules.iter().all(is_rule) {
        return raw(rows);
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(headers)
        .add_rows(body);
    for (at, rule) in rules.iter().enumerate() {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(match (rule.starts_with(':'), rule.ends_with(':')) {
                (true, true) => CellAlignment::Center,
                (false, true) => CellAlignment::Right,
                _ => CellAlignment::Left,
            });
        }
    }
    let text = table.to_string();
    let lines = text
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn raw(rows: &[String]) -> String {
    rows.iter()
        .fold(String::new(), |text, row| text + row + "\n")
}

/// `\|` is a bar; bold and code marks are removed.
fn cells_of(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'|') => {
                letters.next();
                push(&mut cells, '|');
            }
            '|' if letters.peek().is_none() => break,
            '|' => cells.push(String::new()),
            _ => push(&mut cells, letter),
        }
    }
    let clean = |text: String| cell(text.replace("**", "").replace('`', "").trim());
    cells.into_iter().map(clean).collect()
}

fn push(cells: &mut [String], letter: char) {
    if let Some(last) = cells.last_mut() {
        last.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bold in angle brackets, code in square brackets.
    fn shown(pieces: &[StyledText]) -> String {
        let piece = |piece: &StyledText| match piece.look {
            TextStyle::Plain => piece.text.clone(),
            TextStyle::Bold => format!("<{}>", piece.text),
            TextStyle::Code => format!("[{}]", piece.text),
        };
        pieces.iter().map(piece).collect()
    }

    const ANSWER: &str = "## Revenue by region\n\nIt **grew**: `sum(amount)` is 5 * 3 and 2*2.\n\n| region | revenue |\n|---|---:|\n| **north** | 1200 |\n| a\\|b | 15 |\n\n- one `**` and **two\n- three\n```sql\nselect *\n  from `t`\n```\n| no table\n#5 is no heading";

    #[test]
    fn an_answer_is_laid_out() {
        let mut stream = MarkdownStream::new(80);
        let mut pieces = stream.push(ANSWER);
        pieces.extend(stream.finish());
        insta::assert_snapshot!(shown(&pieces), @r"
        <Revenue by region>

        It <grew>: [sum(amount)] is 5 * 3 and 2*2.

        region  revenue
        north      1200
        a|b          15

        - one [**] and <two>
        - three
        [select *]
        [  from `t`]
        | no table
        #5 is no heading
        ");
    }

    /// HOLO-40.
    #[test]
    fn parts_do_not_change_an_answer() {
        let whole = {
            let mut stream = MarkdownStream::new(40);
            let mut pieces = stream.push(ANSWER);
            pieces.extend(stream.finish());
            joined(pieces)
        };
        for size in 1..12 {
            let mut stream = MarkdownStream::new(40);
            let letters: Vec<char> = ANSWER.chars().collect();
            let mut pieces: Vec<StyledText> = letters
                .chunks(size)
                .flat_map(|part| stream.push(&part.iter().collect::<String>()))
                .collect();
            pieces.extend(stream.finish());
            assert_eq!(joined(pieces), whole, "parts of {size}");
        }
    }

    fn joined(pieces: Vec<StyledText>) -> Vec<StyledText> {
        let mut joined: Vec<StyledText> = Vec::new();
        for piece in pieces {
            match joined.last_mut() {
                Some(last) if last.look == piece.look => last.text.push_str(&piece.text),
                _ => joined.push(piece),
            }
        }
        joined
    }

    #[test]
    fn text_does_not_wait_for_its_line() {
        let mut stream = MarkdownStream::new(80);
        assert_eq!(shown(&stream.push("It is *")), "It is ");
        assert_eq!(shown(&stream.push("*15")), "<15>");
        assert_eq!(shown(&stream.push("**\n| a |")), "\n");
        assert_eq!(shown(&stream.finish()), "| a |\n");
    }

    #[test]
    fn a_wide_table_fits_a_narrow_screen() {
        let mut stream = MarkdownStream::new(24);
        let pieces =
            stream.push("| region | note |\n|---|---|\n| north | much more than last year |\n\n");
        insta::assert_snapshot!(shown(&pieces), @r"
        region  note
        north   much more than
                last year
        ");
    }
}
