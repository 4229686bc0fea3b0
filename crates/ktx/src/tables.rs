//! Formats rows as tables, TSV and CSV.

use comfy_table::{Table, presets};

use crate::foreign::cell as shown;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

/// Aligned on terminals, else tab-separated.
pub(crate) struct Report {
    headers: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

impl Report {
    pub(crate) fn new<const N: usize>(headers: [&str; N]) -> Self {
        Self {
            headers: headers.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// Empty cells show `-`.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        let cells = cells.map(|cell| Some(if cell.is_empty() { "-" } else { cell }.to_owned()));
        self.rows.push(cells.to_vec());
    }

    pub(crate) fn of_grid(grid: ktx_agent_eval::Grid) -> Self {
        let cells = |row: Vec<String>| {
            let cells = row.into_iter();
            let shown = cells.map(|cell| {
                if cell.is_empty() {
                    "-".to_owned()
                } else {
                    cell
                }
            });
            shown.map(Some).collect()
        };
        Self {
            headers: grid.head,
            rows: grid.rows.into_iter().map(cells).collect(),
        }
    }

    pub(crate) fn without(mut self, header: &str) -> Self {
        if let Some(at) = self.headers.iter().position(|known| known == header) {
            self.headers.remove(at);
            for row in &mut self.rows {
                row.remove(at);
            }
        }
        self
    }

    pub(crate) fn print(&self, printer: &Printer) -> Outcome<()> {
        let text = match printer.mode {
            Mode::Plain => tsv(&self.headers, &self.rows),
            Mode::Pretty | Mode::Json => aligned(&self.headers, &self.rows),
        };
        printer.page(&text)
    }
}

pub(crate) fn aligned(headers: &[String], rows: &[Vec<Option<String>>]) -> String {
    let mut table = Table::new();
    let headers = headers.iter().map(|header| shown(header));
    table.load_style(presets::NOTHING).set_header(headers);
    for row in rows {
        table.add_row(
            row.iter()
                .map(|cell| shown(cell.as_deref().unwrap_or("NULL"))),
        );
    }
    let text = table.to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    format!("{}\n", lines.join("\n"))
}

/// Replaces tabs and line endings by spaces.
pub(crate) fn tsv(headers: &[String], rows: &[Vec<Option<String>>]) -> String {
    let headers: Vec<String> = headers.iter().map(|header| shown(header)).collect();
    let mut text = headers.join("\t");
    text.push('\n');
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| shown(cell.as_deref().unwrap_or_default()))
            .collect();
        text.push_str(&cells.join("\t"));
        text.push('\n');
    }
    text
}

/// RFC 4180 with line feeds; NULL is empty.
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
