//! Positions in source files: the line and column of the subject of a finding.
//!
//! Files are read by indentation, which both ktx and people write. In a file of another form the
//! position is that of the nearest element found.

use std::collections::BTreeMap;
use std::ops::Range;

use ktx_diagnostics::{LineIndex, Location};

use crate::catalog::Catalog;
use crate::model::part::Part;
use crate::model::resolved::{Origin, Source};

/// Returns the position of a part of a source, within the connection's folder.
pub fn place_of(catalog: &Catalog, source: &Source, part: &Part) -> Location {
    Places::new(catalog).of(source, part)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    Part(Part),
    /// A join as written, which may have failed to parse.
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

/// Finds positions; reads each file once, however many positions are requested.
pub(crate) struct Places<'a> {
    catalog: &'a Catalog,
    texts: BTreeMap<String, Text<'a>>,
}

struct Text<'a> {
    whole: &'a str,
    lines: LineIndex<'a>,
    /// Per table: the offset of its key, and the range of its content.
    tables: BTreeMap<&'a str, (usize, Range<usize>)>,
    /// The parsed bodies: the file itself (`None`), or one of its tables.
    bodies: BTreeMap<Option<String>, Body<'a>>,
}

struct Body<'a> {
    start: usize,
    lines: Vec<Line<'a>>,
    sections: BTreeMap<&'static str, Option<Section<'a>>>,
}

struct Section<'a> {
    start: usize,
    /// The offsets of list entries, by key and value, and by their `on`.
    entries: BTreeMap<(&'static str, &'a str, Option<&'a str>), usize>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            texts: BTreeMap::new(),
        }
    }

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

    pub(crate) fn spot(&mut self, source: &Source, spot: &Spot) -> Location {
        let wanted = Wanted::new(source, spot);
        let own = source.path.split('#').next().unwrap_or(&source.path);
        let mut candidates: Vec<(String, Option<String>)> = Vec::new();
        if source.origin != Origin::Manifest {
            candidates.push((own.to_owned(), None));
        }
        // The shard of the table has what the overlay lacks.
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
            let (left, offset) = text.find(table, &wanted);
            // The deeper position is the better one; fewer steps are left to find.
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

    fn text(&mut self, file: &str) -> Option<&mut Text<'a>> {
        if !self.texts.contains_key(file) {
            let text = Text::new(self.catalog.file_text(file)?);
            self.texts.insert(file.to_owned(), text);
        }
        self.texts.get_mut(file)
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
            bodies: BTreeMap::new(),
        }
    }

    /// Returns how many steps are left to find in the file or in one of its tables, and the offset
    /// of the last step found.
    fn find(&mut self, table: Option<String>, wanted: &Wanted<'_>) -> (usize, usize) {
        let place = match &table {
            None => None,
            Some(table) => match self.tables.get(table.as_str()) {
                Some(place) => Some(place.clone()),
                None => return (wanted.steps() + 1, 0),
            },
        };
        let whole = self.whole;
        let body = self.bodies.entry(table).or_insert_with(|| match place {
            Some((start, inside)) => {
                let text = whole.get(inside.clone()).unwrap_or_default();
                Body::new(lines_of(text, inside.start), Some(start))
            }
            None => Body::new(lines_of(whole, 0), None),
        });
        body.find(wanted)
    }
}

impl<'a> Body<'a> {
    fn new(lines: Vec<Line<'a>>, start: Option<usize>) -> Self {
        let first = || lines.first().map_or(0, |line| line.start);
        Self {
            start: start.unwrap_or_else(first),
            lines,
            sections: BTreeMap::new(),
        }
    }

    fn find(&mut self, wanted: &Wanted<'_>) -> (usize, usize) {
        let lines = &self.lines;
        let section = self
            .sections
            .entry(wanted.section)
            .or_insert_with(|| Section::new(lines, wanted.section));
        let Some(section) = section else {
            return (wanted.steps(), self.start);
        };
        match &wanted.entry {
            None => (0, section.start),
            Some(entry) => section
                .find(entry)
                .map_or((1, section.start), |place| (0, place)),
        }
    }
}

impl<'a> Section<'a> {
    fn new(lines: &[Line<'a>], key: &str) -> Option<Self> {
        let (start, lines) = find_key(lines, key)?;
        let mut section = Self {
            start,
            entries: BTreeMap::new(),
        };
        for entry in entries_of(&lines) {
            section.add(entry);
        }
        Some(section)
    }

    /// Indexes an entry; the first of several equal ones counts.
    fn add(&mut self, lines: &[Line<'a>]) {
        let values = |key: &str| -> Vec<(&'a str, usize)> {
            let values = lines.iter().filter_map(|line| {
                let (at, value) = value_after(line.text, key)?;
                Some((value, line.start + at))
            });
            values.collect()
        };
        let conditions = values("on");
        for key in ["name", "to", "alias"] {
            for (value, place) in values(key) {
                let on = conditions.iter().map(|(on, _)| Some(*on));
                for on in on.chain([None]) {
                    self.entries.entry((key, value, on)).or_insert(place);
                }
            }
        }
    }

    fn find(&self, entry: &Entry<'_>) -> Option<usize> {
        let with = |on| self.entries.get(&(entry.key, entry.value, on));
        let exact = entry.on.and_then(|on| with(Some(on)));
        exact.or_else(|| with(None)).copied()
    }
}

/// The element to find within a file: a key, and optionally an entry of its list.
struct Wanted<'s> {
    section: &'static str,
    entry: Option<Entry<'s>>,
}

/// The list entry whose key has this value; of several, the one with this `on`.
struct Entry<'s> {
    key: &'static str,
    value: &'s str,
    on: Option<&'s str>,
}

impl<'s> Wanted<'s> {
    fn new(source: &Source, spot: &'s Spot) -> Self {
        let section = |section| Self {
            section,
            entry: None,
        };
        let entry = |section, key, value: &'s str, on| Self {
            section,
            entry: Some(Entry { key, value, on }),
        };
        match spot {
            Spot::Join { to, alias, on } => {
                let (key, value) = match alias {
                    Some(alias) => ("alias", alias),
                    None => ("to", to),
                };
                entry("joins", key, value, Some(on))
            }
            Spot::Part(Part::Relation) => section(match source.relation {
                crate::model::resolved::Relation::Table(_) => "table",
                crate::model::resolved::Relation::Sql(_) => "sql",
            }),
            Spot::Part(Part::Grain) => section("grain"),
            Spot::Part(Part::Join(_)) => section("joins"),
            Spot::Part(Part::Column(name)) => entry("columns", "name", name, None),
            Spot::Part(Part::Measure(name)) => entry("measures", "name", name, None),
            Spot::Part(Part::Segment(name)) => entry("segments", "name", name, None),
        }
    }

    fn steps(&self) -> usize {
        1 + usize::from(self.entry.is_some())
    }
}

#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    start: usize,
    indent: usize,
    text: &'a str,
}

/// Returns the lines with content; `base` is the offset of the text in its file.
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

fn key_of(line: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(rest) = line.strip_prefix(quote) {
            return rest.split(quote).next();
        }
    }
    let (key, rest) = line.split_once(':')?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| key.trim_end())
}

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

fn entries_of<'l, 'a>(lines: &'l [Line<'a>]) -> impl Iterator<Item = &'l [Line<'a>]> {
    let indent = lines.iter().map(|line| line.indent).min();
    let begins = move |line: &Line<'_>| Some(line.indent) == indent && line.text.starts_with('-');
    let first = lines.iter().position(begins).unwrap_or(lines.len());
    let inside = lines.get(first..).unwrap_or_default();
    inside.chunk_by(move |_, next| !begins(next))
}

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
