//! Measures code style next to large Rust projects (`cargo xtask style`); the audit enforces rules.

mod code;
mod graph;
mod words;

use anyhow::Result;

use crate::audit::source::Source;
use crate::repository::{Repository, TextFile};
use crate::{Verdict, terminal};

use code::Code;

/// A regular expression, a tab, an alternative.
const PHRASES: &str = "fixtures/style/avoid.txt";

const EXAMPLES: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Figure {
    name: &'static str,
    anchor: &'static str,
    target: &'static str,
    ours: String,
}

pub(crate) fn run(repository: &Repository, details: StyleDetails) -> Result<Verdict> {
    let files = repository.text_files()?;
    let code = Code::read(&files);
    let graph = graph::CrateGraph::read(repository)?;
    let hits = words::hits(&files, PHRASES)?;
    let mut figures = graph.figures();
    figures.extend(code.figures());
    figures.push(Figure {
        name: "phrases to avoid",
        anchor: "-",
        target: "0",
        ours: hits
            .iter()
            .map(|hit| hit.places.len())
            .sum::<usize>()
            .to_string(),
    });
    terminal::line(&table(&figures));
    for path in code.unreadable() {
        terminal::problem(&format!("{path}: not read: it is not valid Rust"));
    }
    if details == StyleDetails::Shown {
        for line in code.details(EXAMPLES) {
            terminal::line(&line);
        }
        for hit in &hits {
            terminal::line(&hit.line(EXAMPLES));
        }
    }
    Ok(Verdict::Pass)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StyleDetails {
    Hidden,
    Shown,
}

fn table(figures: &[Figure]) -> String {
    let mut rows = vec![["figure", "best anchor", "target", "ours"].map(str::to_owned)];
    rows.extend(figures.iter().map(|figure| {
        [
            figure.name.to_owned(),
            figure.anchor.to_owned(),
            figure.target.to_owned(),
            figure.ours.clone(),
        ]
    }));
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| Some(row.get(column)?.chars().count()))
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    rows.iter()
        .map(|[name, anchor, target, ours]| {
            let [first, second, third] = widths;
            format!("{name:<first$}  {anchor:>second$}  {target:>third$}  {ours}")
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Value at this percentile.
fn percentile(sorted: &[usize], percent: usize) -> usize {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(last * percent / 100)
        .copied()
        .unwrap_or_default()
}

fn percent(part: usize, whole: usize) -> String {
    let hundredths = (part * 10_000 + whole / 2)
        .checked_div(whole)
        .unwrap_or_default();
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn product(files: &[TextFile]) -> Vec<Source> {
    files
        .iter()
        .filter(|file| file.has_extension("rs") && !file.path.contains("/generated/"))
        .map(|file| Source::new(&file.path, &file.text))
        .collect()
}

#[cfg(test)]
mod tests;
