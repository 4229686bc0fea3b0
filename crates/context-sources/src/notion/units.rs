//! Pages as files and units: one page per unit.

use std::fmt::Write as _;

use super::id::PageId;
use super::page::NotionPage;
use crate::snapshot::{Snapshot, Unit};

/// Maximum characters of a file; a longer page gets several.
const LONGEST: usize = 40_000;

pub(super) fn file_of(id: &PageId) -> String {
    format!("pages/{id}.md")
}

pub(super) fn page_of(file: &str) -> Option<PageId> {
    let name = file.strip_prefix("pages/")?.strip_suffix(".md")?;
    PageId::parse(name.split('.').next()?)
}

pub(super) fn files(page: &NotionPage, above: &[String], text: &str) -> Vec<(String, String)> {
    let mut head = String::new();
    if !above.is_empty() {
        let _ = writeln!(head, "Below: {}", above.join(" / "));
    }
    if let Some(url) = &page.url {
        let _ = writeln!(head, "Address: {url}");
    }
    let mut body = String::new();
    for (name, value) in &page.properties {
        let _ = writeln!(body, "- {name}: {value}");
    }
    if !page.properties.is_empty() && !text.is_empty() {
        body.push('\n');
    }
    body.push_str(text);
    let parts = parts(&body);
    let count = parts.len();
    let file = |(index, part): (usize, &str)| {
        let (place, title) = if index == 0 {
            (file_of(&page.id), page.title.clone())
        } else {
            let place = format!("pages/{}.part-{}.md", page.id, index + 1);
            (
                place,
                format!("{} (part {} of {count})", page.title, index + 1),
            )
        };
        let text = format!("# {title}\n{head}\n{part}");
        (place, format!("{}\n", text.trim_end()))
    };
    parts.into_iter().enumerate().map(file).collect()
}

/// Splits before a heading if possible, else between lines.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.char_indices().nth(LONGEST).map(|(at, _)| at);
        let Some(end) = end else {
            parts.push(rest);
            return parts;
        };
        let room = rest.get(..end).unwrap_or(rest);
        let half = room.len() / 2;
        let cut = ["\n# ", "\n## ", "\n### ", "\n"]
            .iter()
            .find_map(|mark| room.rfind(mark).filter(|at| *at > half));
        let (part, later) = rest.split_at(cut.unwrap_or(room.len()));
        parts.push(part);
        rest = later.trim_start_matches('\n');
        if rest.is_empty() {
            return parts;
        }
    }
}

pub fn units(snapshot: &Snapshot) -> Vec<Unit> {
    let unit = |(path, text): (&String, &String)| {
        let mut lines = text.lines();
        let title = lines.next().unwrap_or_default().trim_start_matches("# ");
        let says = |line: &str| {
            let names = ["Below: ", "Address: ", "Page below: ", "Database below: "];
            let is_name = names.iter().any(|name| line.starts_with(name));
            !line.trim().is_empty() && !is_name
        };
        if !lines.any(says) {
            return None;
        }
        let name = path.strip_prefix("pages/")?.strip_suffix(".md")?;
        let id = name.split('.').next()?;
        let others = snapshot.files.keys();
        let others = others.filter(|other| *other != path && other.contains(id));
        Some(Unit {
            key: format!("notion-page-{}", name.replace('.', "-")),
            label: Some(title.to_owned()),
            note: None,
            writes_sources: true,
            files: vec![path.clone()],
            dependencies: Vec::new(),
            peers: others.cloned().collect(),
        })
    };
    snapshot.files.iter().filter_map(unit).collect()
}
