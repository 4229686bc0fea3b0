//! Where things stand in source files: line and column of what a finding is about.
//!
//! The files are read by their indentation, which is how people and ktx write them; in a file of
//! another form the place is that of the nearest thing that is found.

use std::collections::BTreeMap;
use std::ops::Range;

use ktx_diagnostics::{LineIndex, Location};

use crate::catalog::Catalog;
use crate::probes::Part;
use crate::resolved::{Origin, Source};

/// The place of a part of a source, within the connection's folder.
pub fn place_of(catalog: &Catalog, source: &Source, part: &Part) -> Location {
    Places::new(catalog).of(source, part)
}

/// What is looked for in the files of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A part of the source.
    Part(Part),
    /// A join as it is written, which need not be one that could be read.
    Join {
        to: String,
        alias: Option<String>,
        on: String,
    },
}

impl From<Part> for Spot {
    fn from(part: Part) -> Self {
        Self::Part(part)
    }
}

/// Finds places; a file is gone through once, however many are asked for.
pub(crate) struct Places<'a> {
    catalog: &'a Catalog,
    texts: BTreeMap<String, Text<'a>>,
}

/// A file, and where the entries of a shard stand in it.
struct Text<'a> {
    whole: &'a str,
    lines: LineIndex<'a>,
    /// By table: its line, and from where to where what it says goes.
    tables: BTreeMap<&'a str, (usize, Range<usize>)>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            texts: BTreeMap::new(),
        }
    }

    /// The place of a part of a source.
    pub(crate) fn of(&mut self, source: &Source, part: &Part) -> Location {
        let spot = match part {
            Part::Join(at) => source.joins.get(*at).map(|join| Spot::Join {
                to: join.to.clone(),
                alias: join.alias.clone(),
                on: join.on.clone(),
            }),
            _ => None,
        };
        self.spot(source, &spot.unwrap_or_else(|| Spot::Part(part.clone())))
    }

    /// The place of what is looked for, or of the nearest thing that is found.
    pub(crate) fn spot(&mut self, source: &Source, spot: &Spot) -> Location {
        let steps = steps(source, spot);
        let own = source.path.split('#').next().unwrap_or(&source.path);
        let mut candidates: Vec<(String, Option<String>)> = Vec::new();
        if source.origin != Origin::Manifest {
            candidates.push((own.to_owned(), None));
        }
        // What an overlay does not say stands in the shard of its table.
        if source.origin != Origin::Standalone
            && let Some(table) = self.catalog.manifest.called(&source.name)
        {
            let key = table.key.clone();
            candidates.push((table.shard.clone(), Some(key)));
        }
        let mut best: Option<(usize, Location)> = None;
        for (file, table) in candidates {
            let Some(text) = self.text(&file) else {
                continue;
            };
            let (left, offset) = text.find(table.as_deref(), &steps);
            // The deeper place is the better one, counted by what is left to find.
            if best.as_ref().is_none_or(|(other, _)| left < *other) {
                let position = Some(text.lines.position(offset));
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

    fn text(&mut self, file: &str) -> Option<&Text<'a>> {
        if !self.texts.contains_key(file) {
            let text = Text::new(self.catalog.file_text(file)?);
            self.texts.insert(file.to_owned(), text);
        }
        self.texts.get(file)
    }
}

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        let lines = lines_of(text, 0);
        let entries = find_key(&lines, "tables").map_or_else(Vec::new, |(_, lines)| lines);
        let indent = entries.iter().map(|line| line.indent).min();
        let heads: Vec<&Line<'a>> = entries
            .iter()
            .filter(|line| Some(line.indent) == indent)
            .collect();
        let mut tables = BTreeMap::new();
        for (nth, head) in heads.iter().enumerate() {
            let end = heads.get(nth + 1).map_or(text.len(), |next| next.start);
            if let Some(key) = key_of(head.text) {
                let inside = (head.start + head.text.len()).min(end)..end;
                tables.insert(key, (head.start, inside));
            }
        }
        Self {
            whole: text,
            lines: LineIndex::new(text),
            tables,
        }
    }

    /// How many steps are left to find from the file or from one of its tables, and where the last
    /// one that is found stands.
    fn find(&self, table: Option<&str>, steps: &[Step]) -> (usize, usize) {
        let Some(table) = table else {
            let lines = lines_of(self.whole, 0);
            let first = lines.first().map_or(0, |line| line.start);
            return walk(lines, first, steps);
        };
        match self.tables.get(table) {
            Some((start, inside)) => {
                let text = self.whole.get(inside.clone()).unwrap_or_default();
                walk(lines_of(text, inside.start), *start, steps)
            }
            None => (steps.len() + 1, 0),
        }
    }
}

/// One step into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The value of a key.
    Key(String),
    /// The entry of a list whose key has this value; of several, the one with this `on`.
    Entry(&'static str, String, Option<String>),
}

fn steps(source: &Source, spot: &Spot) -> Vec<Step> {
    let section = |key: &str| Step::Key(key.to_owned());
    let named =
        |key: &str, name: &str| vec![section(key), Step::Entry("name", name.to_owned(), None)];
    match spot {
        Spot::Join { to, alias, on } => {
            let (key, value) = match alias {
                Some(alias) => ("alias", alias),
                None => ("to", to),
            };
            let entry = Step::Entry(key, value.clone(), Some(on.clone()));
            vec![section("joins"), entry]
        }
        Spot::Part(Part::Relation) => vec![section(match source.relation {
            crate::Relation::Table(_) => "table",
            crate::Relation::Sql(_) => "sql",
        })],
        Spot::Part(Part::Grain) => vec![section("grain")],
        Spot::Part(Part::Join(_)) => vec![section("joins")],
        Spot::Part(Part::Column(name)) => named("columns", name),
        Spot::Part(Part::Measure(name)) => named("measures", name),
        Spot::Part(Part::Segment(name)) => named("segments", name),
    }
}

/// One line with its place.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    start: usize,
    indent: usize,
    text: &'a str,
}

/// The lines that say something; `base` is where the text begins in its file.
fn lines_of(text: &str, base: usize) -> Vec<Line<'_>> {
    let mut start = base;
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
    lines
}

/// Goes as far as the steps can be found; how many are left, and where the last one is.
fn walk(mut lines: Vec<Line<'_>>, mut place: usize, steps: &[Step]) -> (usize, usize) {
    for (taken, step) in steps.iter().enumerate() {
        let found = match step {
            Step::Key(key) => find_key(&lines, key),
            Step::Entry(key, value, on) => on
                .as_ref()
                .and_then(|on| find_entry(&lines, &[(key, value), ("on", on)]))
                .or_else(|| find_entry(&lines, &[(key, value)])),
        };
        let Some((offset, rest)) = found else {
            return (steps.len() - taken, place);
        };
        place = offset;
        lines = rest;
    }
    (0, place)
}

/// The key that a line begins with, without quotes.
fn key_of(line: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(rest) = line.strip_prefix(quote) {
            return rest.split(quote).next();
        }
    }
    let (key, rest) = line.split_once(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| key.trim_end())
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

/// The entry of a list that has all the values under their keys: the place of the first key in it.
fn find_entry<'a>(
    lines: &[Line<'a>],
    wanted: &[(&str, &String)],
) -> Option<(usize, Vec<Line<'a>>)> {
    let indent = lines.iter().map(|line| line.indent).min()?;
    let begins = |line: &Line<'_>| line.indent == indent && line.text.starts_with('-');
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(begins))
        .collect();
    for (nth, start) in starts.iter().enumerate() {
        let end = starts.get(nth + 1).copied().unwrap_or(lines.len());
        let entry = lines.get(*start..end)?;
        let place = |(key, value): &(&str, &String)| {
            entry.iter().find_map(|line| {
                let (at, found) = value_after(line.text, key)?;
                (found == value.as_str()).then_some(line.start + at)
            })
        };
        let places: Option<Vec<usize>> = wanted.iter().map(place).collect();
        if let Some(offset) = places.and_then(|places| places.first().copied()) {
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
