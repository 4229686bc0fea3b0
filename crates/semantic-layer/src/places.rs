//! Where things stand in source files: line and column of what a finding is about.
//!
//! The files are read by their indentation, which is how people and ktx write them; in a file of
//! another form the place is that of the nearest thing that is found.

use ktx_diagnostics::{LineIndex, Location};

use crate::catalog::Catalog;
use crate::probes::Part;
use crate::resolved::{Origin, Source};

/// The place of a part of a source, within the connection's folder.
pub fn place_of(catalog: &Catalog, source: &Source, part: &Part) -> Location {
    let mut candidates: Vec<(String, Vec<Step>)> = Vec::new();
    let own = source.path.split('#').next().unwrap_or(&source.path);
    if source.origin != Origin::Manifest {
        candidates.push((own.to_owned(), steps(source, part)));
    }
    // What an overlay does not say stands in the shard of its table.
    if source.origin != Origin::Standalone
        && let Some(table) = catalog.manifest.only_match(&source.name)
    {
        let key = table.name.rsplit('.').next().unwrap_or(&table.name);
        let mut path = vec![Step::Key("tables".to_owned()), Step::Key(key.to_owned())];
        path.extend(steps(source, part));
        candidates.push((table.shard.clone(), path));
    }
    let mut best: Option<(usize, Location)> = None;
    for (file, steps) in candidates {
        let Some(text) = catalog.file_text(&file) else {
            continue;
        };
        let (taken, offset) = walk(text, &steps);
        // The deeper place is the better one, counted by what is left to find.
        let left = steps.len() - taken;
        if best.as_ref().is_none_or(|(other, _)| left < *other) {
            let position = LineIndex::new(text).position(offset);
            let position = Some(position);
            best = Some((left, Location { file, position }));
        }
    }
    best.map_or_else(
        || Location {
            file: own.to_owned(),
            position: None,
        },
        |(_, location)| location,
    )
}

/// One step into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The value of a key.
    Key(String),
    /// The entry of a list whose key has this value.
    Entry(&'static str, String),
}

fn steps(source: &Source, part: &Part) -> Vec<Step> {
    let section = |key: &str| Step::Key(key.to_owned());
    match part {
        Part::Relation => vec![section(match source.relation {
            crate::Relation::Table(_) => "table",
            crate::Relation::Sql(_) => "sql",
        })],
        Part::Column(name) => vec![section("columns"), Step::Entry("name", name.clone())],
        Part::Grain => vec![section("grain")],
        Part::Join(at) => {
            let join = source.joins.get(*at);
            let entry = join.map(|join| match &join.alias {
                Some(alias) => Step::Entry("alias", alias.clone()),
                None => Step::Entry("to", join.to.clone()),
            });
            std::iter::once(section("joins")).chain(entry).collect()
        }
        Part::Measure(name) => vec![section("measures"), Step::Entry("name", name.clone())],
        Part::Segment(name) => vec![section("segments"), Step::Entry("name", name.clone())],
    }
}

/// One line with its place.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    start: usize,
    indent: usize,
    text: &'a str,
}

/// Goes as far as the steps can be found; how many could, and where the last one is.
fn walk(text: &str, steps: &[Step]) -> (usize, usize) {
    let mut start = 0;
    let mut lines: Vec<Line<'_>> = Vec::new();
    for raw in text.split_inclusive('\n') {
        let content = raw.trim_end();
        let inner = content.trim_start();
        if !inner.is_empty() && !inner.starts_with('#') {
            let indent = content.len() - inner.len();
            lines.push(Line {
                start: start + indent,
                indent,
                text: inner,
            });
        }
        start += raw.len();
    }
    let mut place = lines.first().map_or(0, |line| line.start);
    for (taken, step) in steps.iter().enumerate() {
        let found = match step {
            Step::Key(key) => find_key(&lines, key),
            Step::Entry(key, value) => find_entry(&lines, key, value),
        };
        let Some((offset, rest)) = found else {
            return (taken, place);
        };
        place = offset;
        lines = rest;
    }
    (steps.len(), place)
}

/// The key among the least indented lines, and the lines of its value.
fn find_key<'a>(lines: &[Line<'a>], key: &str) -> Option<(usize, Vec<Line<'a>>)> {
    let indent = lines.iter().map(|line| line.indent).min()?;
    let is_key = |line: &Line<'_>| {
        line.indent == indent && value_after(line.text, key).is_some_and(|(at, _)| at == 0)
    };
    let at = lines.iter().position(is_key)?;
    let line = lines.get(at)?;
    let value = lines.get(at + 1..)?;
    let is_inside = |line: &&Line<'_>| {
        line.indent > indent || (line.indent == indent && line.text.starts_with('-'))
    };
    let inner: Vec<Line<'a>> = value.iter().take_while(is_inside).copied().collect();
    Some((line.start, inner))
}

/// The entry of a list that has the value under the key: the place of the key in it.
fn find_entry<'a>(lines: &[Line<'a>], key: &str, value: &str) -> Option<(usize, Vec<Line<'a>>)> {
    let indent = lines.iter().map(|line| line.indent).min()?;
    let begins = |line: &Line<'_>| line.indent == indent && line.text.starts_with('-');
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(begins))
        .collect();
    for (nth, start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).copied().unwrap_or(lines.len());
        let entry = lines.get(*start..end)?;
        let found = entry.iter().find_map(|line| {
            let (at, found) = value_after(line.text, key)?;
            (found == value).then_some(line.start + at)
        });
        if let Some(offset) = found {
            return Some((offset, entry.to_vec()));
        }
    }
    None
}

/// Where a key stands in a line, and its value without quotes.
fn value_after<'a>(text: &'a str, key: &str) -> Option<(usize, &'a str)> {
    for spelled in [
        format!("{key}:"),
        format!("\"{key}\":"),
        format!("'{key}':"),
    ] {
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find(&spelled)) {
            let at = from + found;
            let before = text.get(..at).unwrap_or_default().trim_end();
            let rest = text.get(at + spelled.len()..).unwrap_or_default();
            let is_key = before.is_empty() || before.ends_with(['-', '{', ',']);
            if is_key && (rest.is_empty() || rest.starts_with(' ')) {
                return Some((at, scalar(rest.trim_start())));
            }
            from = at + spelled.len();
        }
    }
    None
}

/// The scalar at the beginning of a text.
fn scalar(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            return rest.split(quote).next().unwrap_or(rest);
        }
    }
    let end = text.find([',', '}', ']']).unwrap_or(text.len());
    let plain = text.get(..end).unwrap_or(text);
    plain.split(" #").next().unwrap_or(plain).trim_end()
}

#[cfg(test)]
mod tests;
