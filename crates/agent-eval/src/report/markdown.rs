//! The report as Markdown.

use super::grid::{self, Grid};
use super::wire::Report;

/// Texts of models and data cannot become headings, links or HTML.
pub fn markdown(report: &Report) -> String {
    let mut parts = vec![format!("# Tests of {}", escaped(&report.agent.name))];
    let facts = grid::facts(report);
    let facts = facts
        .iter()
        .map(|(name, value)| format!("- {name}: {}", escaped(value)));
    parts.push(facts.collect::<Vec<String>>().join("\n"));
    parts.push(table(&grid::arms(report)));
    let verdicts = grid::verdicts(report);
    if !verdicts.is_empty() {
        parts.push("## Does the layer help?".to_owned());
        let lines = verdicts
            .iter()
            .map(|(names, verdict)| format!("- {}: {}", escaped(names), escaped(verdict)));
        parts.push(lines.collect::<Vec<String>>().join("\n"));
    }
    parts.push("## Cases".to_owned());
    parts.push(table(&grid::cases(report)));
    for case in grid::failed_cases(report).filter(|case| !case.metrics.is_empty()) {
        let (name, arm) = (escaped(&case.name), escaped(&case.arm));
        parts.push(format!("### {name} ({arm})"));
        parts.push(table(&grid::metrics(case)));
    }
    let mut text = parts.join("\n\n");
    text.push('\n');
    text
}

fn table(grid: &Grid) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let head = grid.head.clone();
    let rule = grid.head.iter().map(|_| "---".to_owned()).collect();
    let rows = grid
        .rows
        .iter()
        .map(|row| line(row.iter().map(|cell| escaped(cell)).collect()));
    [line(head), line(rule)]
        .into_iter()
        .chain(rows)
        .collect::<Vec<String>>()
        .join("\n")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(sign);
            }
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            sign if sign.is_control() => escaped.push(' '),
            sign => escaped.push(sign),
        }
    }
    escaped
}
