//! Positions of findings in source files, or of the nearest existing element.

use std::collections::BTreeMap;

use ktx_diagnostics::{LineIndex, Location, Position};
use ktx_yaml::{Content, Entry as Key, Node, scalar_text, tree};

use crate::catalog::Catalog;
use crate::model::composed::Element;
use crate::model::part::Part;
use crate::model::resolved::{Origin, Source};

/// Within the connection's folder.
pub fn place_of(catalog: &Catalog, source: &Source, part: &Part) -> Location {
    Places::new(catalog).of(source, part)
}

pub(crate) fn position_in(text: &str, element: Element) -> Option<Position> {
    let root = tree(text);
    let keys = keys_of(root.as_ref());
    let key = keys
        .iter()
        .find(|key| key.name.as_deref() == Some(element.key))?;
    let items = match key.value.as_ref().map(|node| &node.content) {
        Some(Content::Sequence { items, .. }) => items.as_slice(),
        _ => &[],
    };
    let item = element.at.and_then(|at| items.get(at));
    let offset = item.map_or(key.key.start, |item| item.range.start);
    Some(LineIndex::new(text).position(offset))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    Part(Part),
    /// May have failed to parse.
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

pub(crate) struct Places<'a> {
    catalog: &'a Catalog,
    texts: BTreeMap<String, Text<'a>>,
}

struct Text<'a> {
    whole: &'a str,
    lines: LineIndex<'a>,
    root: Option<Node>,
    tables: BTreeMap<String, usize>,
    /// Sections of the file (`None`) or of one of its tables.
    sections: BTreeMap<(Option<String>, &'static str), Option<Section>>,
}

struct Body<'n> {
    start: usize,
    keys: &'n [Key],
}

struct Section {
    start: usize,
    /// Offsets of list entries, by key and value, and by their `on`.
    entries: BTreeMap<(&'static str, String, Option<String>), usize>,
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
        let composed = self.catalog.composed.get(&source.name);
        let imports = composed.into_iter().flat_map(|own| &own.imported.paths);
        candidates.extend(imports.map(|path| (path.clone(), None)));
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
        let root = tree(text);
        let mut tables = BTreeMap::new();
        for (at, table) in tables_of(root.as_ref()).iter().enumerate() {
            tables.extend(table.name.clone().map(|name| (name, at)));
        }
        Self {
            whole: text,
            lines: LineIndex::new(text),
            root,
            tables,
            sections: BTreeMap::new(),
        }
    }

    /// Number of missing steps, and offset of the last one found.
    fn find(&mut self, table: Option<String>, wanted: &Wanted<'_>) -> (usize, usize) {
        let body = match &table {
            None => Body {
                start: self.root.as_ref().map_or(0, |root| root.range.start),
                keys: keys_of(self.root.as_ref()),
            },
            Some(table) => {
                let place = self.tables.get(table.as_str()).copied();
                let tables = tables_of(self.root.as_ref());
                match place.and_then(|at| tables.get(at)) {
                    Some(key) => Body {
                        start: key.key.start,
                        keys: keys_of(key.value.as_ref()),
                    },
                    None => return (wanted.steps() + 1, 0),
                }
            }
        };
        let section = self
            .sections
            .entry((table, wanted.section))
            .or_insert_with(|| Section::new(self.whole, body.keys, wanted.section));
        let Some(section) = section else {
            return (wanted.steps(), body.start);
        };
        match &wanted.entry {
            None => (0, section.start),
            Some(entry) => section
                .find(entry)
                .map_or((1, section.start), |place| (0, place)),
        }
    }
}

fn keys_of(node: Option<&Node>) -> &[Key] {
    match node.map(|node| &node.content) {
        Some(Content::Mapping { entries, .. }) => entries,
        _ => &[],
    }
}

fn tables_of(root: Option<&Node>) -> &[Key] {
    let tables = keys_of(root)
        .iter()
        .find(|key| key.name.as_deref() == Some("tables"));
    keys_of(tables.and_then(|key| key.value.as_ref()))
}

impl Section {
    fn new(text: &str, keys: &[Key], name: &str) -> Option<Self> {
        let key = keys.iter().find(|key| key.name.as_deref() == Some(name))?;
        let mut section = Self {
            start: key.key.start,
            entries: BTreeMap::new(),
        };
        if let Some(Content::Sequence { items, .. }) = key.value.as_ref().map(|node| &node.content)
        {
            for item in items {
                section.add(text, keys_of(Some(item)));
            }
        }
        Some(section)
    }

    /// The first of several equal entries counts.
    fn add(&mut self, text: &str, keys: &[Key]) {
        let value = |name: &str| {
            let key = keys.iter().find(|key| key.name.as_deref() == Some(name))?;
            Some((scalar_text(text, key.value.as_ref()?)?, key.key.start))
        };
        let on = value("on").map(|(on, _)| on);
        for key in ["name", "to", "alias"] {
            if let Some((value, place)) = value(key) {
                for on in [on.clone(), None] {
                    self.entries
                        .entry((key, value.clone(), on))
                        .or_insert(place);
                }
            }
        }
    }

    fn find(&self, entry: &Entry<'_>) -> Option<usize> {
        let with = |on: Option<&str>| {
            let on = on.map(str::to_owned);
            self.entries.get(&(entry.key, entry.value.to_owned(), on))
        };
        let exact = entry.on.and_then(|on| with(Some(on)));
        exact.or_else(|| with(None)).copied()
    }
}

struct Wanted<'s> {
    section: &'static str,
    entry: Option<Entry<'s>>,
}

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

#[cfg(test)]
mod tests;
