//! An index of a catalog: where each source is written, and all joins.
//!
//! The catalog notes which unread sources an answer needs ([`Catalog::unread`]); the caller reads
//! them and asks again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use ktx_sql::Dialect;
use serde::{Deserialize, Serialize};

use super::{Catalog, load};
use crate::catalog::graph::StoredGraph;
use crate::model::error::ErrorKind;
use crate::model::resolved::{Counted, Join, JoinOrigin, MeasurePlaces, Origin, Relation, Source};
use crate::model::source_file::SourceFile;

/// Above this number an index costs as much as the files.
const MOST_EDGES: usize = 400_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CatalogIndex {
    sources: Vec<IndexedSource>,
    graph: StoredGraph,
    reaches_far: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IndexedSource {
    name: String,
    pieces: Vec<Piece>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    own_joins: Vec<OwnJoin>,
}

/// A file of a source, or its entry in a shard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Piece {
    /// Within the connection's folder.
    pub file: String,
    /// Byte range of the entry; absent for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<(usize, usize)>,
}

/// A join of a source to itself, which the graph does not have.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OwnJoin {
    relationship: crate::model::authored::Relationship,
    on: String,
    pairs: Vec<(String, String)>,
    origin: JoinOrigin,
    counted: Counted,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    pub sources: BTreeSet<String>,
    pub all: bool,
}

#[derive(Debug)]
pub(super) struct Stubs {
    pieces: Vec<Vec<Piece>>,
    is_unread: Vec<bool>,
    asked: Mutex<Unread>,
}

impl Clone for Stubs {
    fn clone(&self) -> Self {
        Self {
            pieces: self.pieces.clone(),
            is_unread: self.is_unread.clone(),
            asked: Mutex::new(self.asked()),
        }
    }
}

impl Stubs {
    fn asked(&self) -> Unread {
        let asked = self.asked.lock();
        asked.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, change: impl FnOnce(&mut Unread)) {
        let asked = self.asked.lock();
        change(&mut asked.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Catalog {
    /// `None` for a catalog whose files have problems.
    pub fn index(&self) -> Option<CatalogIndex> {
        let is_sound = self.stubs.is_none()
            && self.broken.is_empty()
            && self.sources.iter().all(|source| source.problem.is_none());
        let edges: usize = (0..self.sources.len())
            .map(|node| self.graph.edges_from(node).len())
            .sum();
        if !is_sound || edges > MOST_EDGES {
            return None;
        }
        let entries = Entries::of(self);
        let sources = self.sources.iter().map(|source| {
            let own = source.joins.iter().filter(|join| join.to == source.name);
            Some(IndexedSource {
                name: source.name.clone(),
                pieces: entries.pieces(self, source)?,
                own_joins: own
                    .filter(|join| join.alias.is_none())
                    .map(|join| OwnJoin {
                        relationship: join.relationship,
                        on: join.on.clone(),
                        pairs: join.pairs.clone(),
                        origin: join.origin,
                        counted: join.counted,
                    })
                    .collect(),
            })
        });
        Some(CatalogIndex {
            sources: sources.collect::<Option<_>>()?,
            graph: StoredGraph::of(&self.graph, self.sources.len())?,
            reaches_far: self.reaches_far,
        })
    }

    pub fn known(&self, names: BTreeSet<String>) -> BTreeSet<String> {
        let names = names.into_iter();
        names
            .filter(|name| self.by_name.contains_key(name))
            .collect()
    }

    pub fn pieces(&self, names: &BTreeSet<String>) -> Vec<Piece> {
        let Some(stubs) = &self.stubs else {
            return Vec::new();
        };
        let places = names.iter().filter_map(|name| self.by_name.get(name));
        let pieces = places.filter_map(|at| stubs.pieces.get(*at)).flatten();
        let all: BTreeSet<&Piece> = pieces.collect();
        all.into_iter().cloned().collect()
    }

    /// Returns `None` if the sources changed since the index was built.
    #[must_use]
    pub fn with_read(mut self, names: &BTreeSet<String>, pieces: Vec<SourceFile>) -> Option<Self> {
        let part = load::load_part(pieces, self.dialect, &self.by_name);
        let stubs = self.stubs.as_mut()?;
        let mut read: BTreeMap<String, Source> = part
            .sources
            .into_iter()
            .map(|source| (source.name.clone(), source))
            .collect();
        let mut composed = part.composed;
        for name in names {
            let at = *self.by_name.get(name)?;
            let found = read
                .remove(name)
                .filter(|source| source.problem.is_none())?;
            *self.sources.get_mut(at)? = found;
            *stubs.is_unread.get_mut(at)? = false;
            self.composed.insert(name.clone(), composed.remove(name)?);
        }
        if !part.broken.is_empty() {
            return None;
        }
        stubs.note(|asked| *asked = Unread::default());
        self.manifest = part.manifest;
        self.texts = part.texts;
        Some(self)
    }

    pub fn unread(&self) -> Unread {
        self.stubs.as_ref().map(Stubs::asked).unwrap_or_default()
    }

    /// True if the file of a source changes another source.
    pub fn reaches_far(&self) -> bool {
        self.reaches_far
    }

    pub(crate) fn source_at(&self, at: usize) -> Option<&Source> {
        let source = self.sources.get(at)?;
        if let Some(stubs) = &self.stubs
            && stubs.is_unread.get(at) == Some(&true)
        {
            stubs.note(|asked| {
                asked.sources.insert(source.name.clone());
            });
        }
        Some(source)
    }

    pub(crate) fn need_all(&self) {
        if let Some(stubs) = &self.stubs {
            stubs.note(|asked| asked.all = true);
        }
    }
}

impl CatalogIndex {
    pub fn catalog(self, dialect: Dialect) -> Catalog {
        let names = self.sources.iter().map(|source| source.name.as_str());
        let graph = self.graph.graph(names);
        let by_name = self.sources.iter().enumerate();
        let by_name = by_name.map(|(at, source)| (source.name.clone(), at));
        let by_name = by_name.collect();
        let mut sources = Vec::with_capacity(self.sources.len());
        let mut pieces = Vec::with_capacity(self.sources.len());
        for source in self.sources {
            pieces.push(source.pieces);
            sources.push(stub(source.name, source.own_joins));
        }
        Catalog {
            dialect,
            graph,
            members: OnceLock::new(),
            by_name,
            composed: BTreeMap::new(),
            broken: Vec::new(),
            manifest: super::ScannedTables::default(),
            diagnostics: Vec::new(),
            texts: BTreeMap::new(),
            reaches_far: self.reaches_far,
            stubs: Some(Stubs {
                is_unread: vec![true; sources.len()],
                pieces,
                asked: Mutex::default(),
            }),
            sources,
        }
    }
}

impl Piece {
    /// `None` if the text has become shorter.
    pub fn cut(&self, bytes: &[u8]) -> Option<SourceFile> {
        let Some((start, end)) = self.entry else {
            return Some(SourceFile::new(self.file.clone(), bytes.to_vec()));
        };
        let mut alone = b"tables:\n".to_vec();
        alone.extend_from_slice(bytes.get(start..end)?);
        // Several pieces of one shard are separate files.
        let (folder, name) = self.file.rsplit_once('/')?;
        Some(SourceFile::new(format!("{folder}/{start}-{name}"), alone))
    }
}

fn stub(name: String, own_joins: Vec<OwnJoin>) -> Source {
    let joins = own_joins.into_iter().map(|join| Join {
        to: name.clone(),
        alias: None,
        relationship: join.relationship,
        on: join.on,
        pairs: join.pairs,
        origin: join.origin,
        weight: None,
        counted: join.counted,
    });
    Source {
        joins: joins.collect(),
        path: String::new(),
        origin: Origin::Manifest,
        relation: Relation::Table(String::new()),
        grain: Vec::new(),
        has_declared_grain: false,
        scanned_key: Vec::new(),
        columns: Vec::new(),
        measures: Vec::new(),
        segments: Vec::new(),
        descriptions: BTreeMap::new(),
        problem: Some((ErrorKind::InvalidSource, "its file is not read".to_owned())),
        measure_places: MeasurePlaces::default(),
        name,
    }
}

struct Entries {
    places: BTreeMap<(String, String), Range<usize>>,
    tables: BTreeMap<String, usize>,
}

impl Entries {
    fn of(catalog: &Catalog) -> Self {
        let mut tables: BTreeMap<String, usize> = BTreeMap::new();
        for table in catalog.manifest.iter() {
            *tables.entry(table.shard.clone()).or_default() += 1;
        }
        let mut places = BTreeMap::new();
        for (shard, _) in tables.iter().filter(|(_, count)| **count > 1) {
            let text = catalog.texts.get(shard).map_or("", String::as_str);
            for (key, place) in entries(text) {
                places.insert((shard.clone(), key), place);
            }
        }
        Self { places, tables }
    }

    fn pieces(&self, catalog: &Catalog, source: &Source) -> Option<Vec<Piece>> {
        let mut pieces = BTreeSet::new();
        let whole = |file: &str| Piece {
            file: file.to_owned(),
            entry: None,
        };
        let mut scanned: Vec<&super::ScannedTable> = Vec::new();
        scanned.extend(catalog.manifest.called(&source.name));
        if let Relation::Table(table) = &source.relation {
            scanned.extend(catalog.manifest.matches(table));
        }
        if source.origin == Origin::Standalone
            && let Some(composed) = catalog.composed.get(&source.name)
        {
            let written = &composed.source;
            let inherited = written.inherits_columns_from.as_deref();
            let inherited = inherited.map(|name| catalog.manifest.meant_by(name));
            scanned.extend(inherited.unwrap_or_default());
        }
        for table in &scanned {
            if self.tables.get(&table.shard) == Some(&1) {
                pieces.insert(whole(&table.shard));
                continue;
            }
            let place = self.places.get(&(table.shard.clone(), table.key.clone()));
            pieces.insert(Piece {
                file: table.shard.clone(),
                entry: place.map(|place| (place.start, place.end)),
            });
        }
        let shards: BTreeSet<&str> = scanned.iter().map(|table| table.shard.as_str()).collect();
        for file in catalog.files_of(&source.name) {
            if !shards.contains(file) {
                pieces.insert(whole(file));
            }
        }
        (!pieces.is_empty()).then(|| pieces.into_iter().collect())
    }
}

/// Entries at two spaces below `tables:`, as a scan writes them.
fn entries(text: &str) -> Vec<(String, Range<usize>)> {
    let mut found: Vec<(String, Range<usize>)> = Vec::new();
    let mut is_inside = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        if line.trim_end() == "tables:" {
            is_inside = true;
            continue;
        }
        if !is_inside || line.trim().is_empty() {
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        match (indent, line.trim().strip_suffix(':')) {
            (0, _) => is_inside = false,
            (2, Some(key)) if is_plain(key) => found.push((key.to_owned(), start..end)),
            (0..=2, _) => return Vec::new(),
            _ => {
                if let Some((_, place)) = found.last_mut() {
                    place.end = end;
                }
            }
        }
    }
    found
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
