//! Rows as text: aligned tables, TSV, CSV.

use comfy_table::{Table, presets};

/// An aligned table without lines between rows.
pub(crate) fn aligned(headers: &[String], rows: &[Vec<Option<String>>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headers);
    for row in rows {
        table.add_row(
            row.iter()
                .map(|cell| one_line(cell.as_deref().unwrap_or("NULL"))),
        );
    }
    let text = table.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    format!("{}\n", lines.join("\n"))
}

/// Tab-separated lines with a header; tabs and line ends in cells become blanks.
pub(crate) fn tsv(headers: &[String], rows: &[Vec<Option<String>>]) -> String {
    let mut text = headers.join("\t");
    text.push('\n');
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| one_line(cell.as_deref().unwrap_or_default()))
            .collect();
        text.push_str(&cells.join("\t"));
        text.push('\n');
    }
    text
}

/// Comma-separated lines with a header (RFC 4180, line feeds only); NULL is an empty field.
pub(crate) fn csv(headers: &[String], rows: &[Vec<Option<String>>]) -> String {
    let line = |cells: Vec<&str>| {
        let quoted: Vec<String> = cells.into_iter().map(csv_field).collect();
        format!("{}\n", quoted.join(","))
    };
    let mut text = line(headers.iter().map(String::as_str).collect());
    for row in rows {
        text.push_str(&line(
            row.iter()
                .map(|cell| cell.as_deref().unwrap_or_default())
                .collect(),
        ));
    }
    text
}

fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The text without anything that a terminal would obey: a cell must not move the cursor, set the
/// title or fill the clipboard. Tabs and line ends become blanks, the rest becomes `\u{FFFD}`.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '\t' | '\n' | '\r' | '\0' => ' ',
            _ if letter.is_control() => '\u{FFFD}',
            _ => letter,
        })
        .collect()
}
