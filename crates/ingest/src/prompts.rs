//! The prompts for reading a context source.

use std::fmt::Write as _;

use ktx_context_sources::{Snapshot, Unit};
use ktx_memory::{fenced, one_line};

use crate::artifacts::Artifacts;

pub(crate) const UNIT: &str = include_str!("prompts/unit.system.md");

pub(crate) const RECONCILE: &str = include_str!("prompts/reconcile.system.md");

const LISTED: usize = 200;

pub(crate) fn unit(known: &str, source: &str, unit: &Unit, snapshot: &Snapshot) -> String {
    let mut text = format!(
        "{known}\nUnit {} of the source {source}.\n",
        one_line(&unit.key)
    );
    if let Some(note) = unit.note {
        let _ = writeln!(text, "{note}");
    }
    names(
        &mut text,
        "Files that it builds on, for `read_raw_file`",
        &unit.dependencies,
    );
    names(
        &mut text,
        "Other files of the source, for `read_raw_file`",
        &unit.peers,
    );
    for path in &unit.files {
        let body = snapshot.files.get(path).map_or("", String::as_str);
        let _ = write!(
            text,
            "\n{}",
            fenced(&format!("The file {}", one_line(path)), body)
        );
    }
    text
}

pub(crate) fn reconcile(
    known: &str,
    source: &str,
    written: &[Artifacts],
    gone: &[Artifacts],
) -> String {
    let mut text = format!("{known}\nThe source {source} was read.\n");
    artifacts(&mut text, "What its units have written", written);
    artifacts(
        &mut text,
        "Files that are no longer there, by unit, with what was once written from the unit",
        gone,
    );
    text
}

fn artifacts(text: &mut String, what: &str, all: &[Artifacts]) {
    if all.is_empty() {
        return;
    }
    let _ = write!(text, "\n{what}:\n");
    for unit in all {
        let _ = write!(
            text,
            "- {}: pages {}; sources {}",
            one_line(&unit.unit),
            listed(&unit.wiki),
            listed(&unit.sl)
        );
        if unit.files.is_empty() {
            text.push('\n');
        } else {
            let _ = writeln!(text, "; files that are gone: {}", listed(&unit.files));
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    names.join(", ")
}

fn names(text: &mut String, what: &str, all: &[String]) {
    if all.is_empty() {
        return;
    }
    let _ = write!(text, "\n{what}:\n");
    for name in all.iter().take(LISTED) {
        let _ = writeln!(text, "- {}", one_line(name));
    }
    if all.len() > LISTED {
        let _ = writeln!(text, "- and {} more", all.len() - LISTED);
    }
}
