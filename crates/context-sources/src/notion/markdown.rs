//! Renders blocks as Markdown. Omits file URLs, because they are signed and change with every read.

use std::fmt::Write as _;

use serde_json::Value;

use super::page::plain;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct MarkdownBlock {
    pub(super) value: Value,
    pub(super) children: Vec<Self>,
}

impl MarkdownBlock {
    pub(super) fn kind(&self) -> &str {
        self.value
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("unsupported")
    }

    fn body(&self) -> &Value {
        self.value.get(self.kind()).unwrap_or(&Value::Null)
    }

    fn text(&self) -> String {
        rich(self.body().get("rich_text").unwrap_or(&Value::Null))
    }
}

pub(super) fn markdown(blocks: &[MarkdownBlock]) -> String {
    let mut text = String::new();
    write_blocks(&mut text, blocks, "");
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.dedup_by(|next, before| next.is_empty() && before.is_empty());
    let text = lines.join("\n");
    text.trim_matches('\n').to_owned()
}

fn write_blocks(text: &mut String, blocks: &[MarkdownBlock], indent: &str) {
    let mut number = 0;
    let mut was_list = false;
    for block in blocks {
        let kind = block.kind();
        let is_list = matches!(
            kind,
            "bulleted_list_item" | "numbered_list_item" | "to_do" | "toggle"
        );
        number = if kind == "numbered_list_item" {
            number + 1
        } else {
            0
        };
        if !(is_list && was_list) {
            text.push('\n');
        }
        was_list = is_list;
        write_block(text, block, number, indent);
    }
}

fn write_block(text: &mut String, block: &MarkdownBlock, number: usize, indent: &str) {
    let words = block.text();
    let deeper = format!("{indent}  ");
    let (line, below) = match block.kind() {
        "heading_1" => (format!("# {words}"), indent),
        "heading_2" => (format!("## {words}"), indent),
        "heading_3" => (format!("### {words}"), indent),
        "heading_4" => (format!("#### {words}"), indent),
        "bulleted_list_item" | "toggle" => (format!("- {words}"), deeper.as_str()),
        "numbered_list_item" => (format!("{number}. {words}"), deeper.as_str()),
        "to_do" => {
            let is_done = block.body().get("checked").and_then(Value::as_bool);
            let mark = if is_done == Some(true) { 'x' } else { ' ' };
            (format!("- [{mark}] {words}"), deeper.as_str())
        }
        "quote" | "callout" => return write_quote(text, block, indent),
        "code" => (code(block), indent),
        "equation" => (format!("$${}$$", field(block, "expression")), indent),
        "table" => (table(block), indent),
        "child_page" => (format!("Page below: {}", field(block, "title")), indent),
        "child_database" => (format!("Database below: {}", field(block, "title")), indent),
        "bookmark" | "embed" | "link_preview" => (link(block), indent),
        "image" | "video" | "file" | "pdf" | "audio" => (file(block), indent),
        "divider" => ("---".to_owned(), indent),
        // Containers add no text: columns, synced blocks, tabs, templates.
        _ => (words, indent),
    };
    for line in line.lines() {
        let _ = writeln!(text, "{indent}{line}");
    }
    if block.kind() != "table" {
        write_blocks_below(text, block, below);
    }
}

fn write_blocks_below(text: &mut String, block: &MarkdownBlock, indent: &str) {
    if block.children.is_empty() {
        return;
    }
    let mut below = String::new();
    write_blocks(&mut below, &block.children, indent);
    let is_item = indent.len() > indent.trim_start().len() && !indent.is_empty();
    text.push_str(if is_item {
        below.trim_start_matches('\n')
    } else {
        &below
    });
}

fn write_quote(text: &mut String, block: &MarkdownBlock, indent: &str) {
    let mut inside = block.text();
    inside.push('\n');
    write_blocks(&mut inside, &block.children, "");
    for line in inside.trim_end().lines() {
        let _ = writeln!(text, "{}", format!("{indent}> {line}").trim_end());
    }
}

fn code(block: &MarkdownBlock) -> String {
    let words = plain_lines(block.body().get("rich_text"));
    let fence = if words.contains("```") { "````" } else { "```" };
    format!("{fence}{}\n{words}\n{fence}", field(block, "language"))
}

fn plain_lines(texts: Option<&Value>) -> String {
    let texts = texts.and_then(Value::as_array).into_iter().flatten();
    texts
        .filter_map(|text| text.get("plain_text")?.as_str())
        .collect()
}

fn field<'a>(block: &'a MarkdownBlock, name: &str) -> &'a str {
    block.body().get(name).and_then(Value::as_str).unwrap_or("")
}

fn link(block: &MarkdownBlock) -> String {
    let address = field(block, "url");
    let words = plain(block.body().get("caption"));
    if words.is_empty() {
        return format!("<{address}>");
    }
    format!("[{words}]({address})")
}

fn file(block: &MarkdownBlock) -> String {
    let words = plain(block.body().get("caption"));
    let name = field(block, "name");
    let what = [words.as_str(), name].join(" ");
    format!("[{}: {}]", block.kind(), what.trim())
}

fn table(block: &MarkdownBlock) -> String {
    let rows: Vec<Vec<String>> = block
        .children
        .iter()
        .map(|row| {
            let cells = row.body().get("cells").and_then(Value::as_array);
            let cells = cells.into_iter().flatten();
            cells
                .map(|cell| rich(cell).replace('|', "\\|").replace('\n', " "))
                .collect()
        })
        .collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for (index, mut row) in rows.into_iter().enumerate() {
        row.resize(width, String::new());
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if index == 0 {
            let _ = writeln!(text, "|{}", " --- |".repeat(width));
        }
    }
    text
}

pub(super) fn rich(texts: &Value) -> String {
    let texts = texts.as_array().into_iter().flatten();
    texts.map(one).collect()
}

fn one(text: &Value) -> String {
    let words = text
        .get("plain_text")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if words.trim().is_empty() {
        return words.to_owned();
    }
    let is = |name: &str| {
        let set = text.pointer(&format!("/annotations/{name}"));
        set.and_then(Value::as_bool).unwrap_or(false)
    };
    // Markdown marks must touch the words.
    let begin = words.len() - words.trim_start().len();
    let end = words.trim_end().len();
    let (before, rest) = words.split_at(begin);
    let (inner, after) = rest.split_at(end - begin);
    let mut inner = inner.to_owned();
    if text.get("type").and_then(Value::as_str) == Some("equation") {
        inner = format!("${inner}$");
    }
    for (name, mark) in [("code", "`"), ("strikethrough", "~~"), ("bold", "**")] {
        if is(name) {
            inner = format!("{mark}{inner}{mark}");
        }
    }
    if let Some(address) = text.get("href").and_then(Value::as_str) {
        inner = format!("[{inner}]({address})");
    }
    format!("{before}{inner}{after}")
}
