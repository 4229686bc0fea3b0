//! Builds a catalog from files.

mod overlays;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use ktx_diagnostics::{Diagnostic, Location, Position};
use ktx_sql::Dialect;
use ktx_sql::deep::deep;
use ktx_vocabulary::SourceName;

use super::contradictions::{self, Author};
use super::disabled::ByOverlays;
use super::scanned::{ScannedTable, ScannedTables};
use super::{BrokenFile, Catalog, back_joins, finding, reading, resolve};
use crate::catalog::graph::{Graph, Missing, targets};
use crate::catalog::places::Places;
use crate::model::authored::{
    Authored, Join, Manifest, Overlay, OverlayJoin, Problem, Standalone, is_column_name,
};
use crate::model::composed::{self, Composed};
use crate::model::error::ErrorKind;
use crate::model::resolved::{Origin, Source};
use crate::model::source_file::SourceFile;

/// Limits searches for suggestions.
const MOST_SEARCHED: usize = 64;

#[derive(Default)]
struct Loading {
    composed: BTreeMap<String, Composed>,
    broken: Vec<BrokenFile>,
    broken_names: BTreeMap<String, Repeated>,
    unmatched: usize,
    diagnostics: Vec<Diagnostic>,
    texts: BTreeMap<String, String>,
    shards: Vec<(String, Manifest)>,
    standalones: Vec<(String, Standalone)>,
    imports: Vec<(String, Overlay)>,
    overlays: Vec<(String, Overlay)>,
    by_overlays: ByOverlays,
    /// Sources that exist but are not loaded.
    absent: BTreeSet<String>,
    reaches_far: bool,
    replaced: Vec<(String, resolve::Flaw)>,
}

pub(super) fn load(files: Vec<SourceFile>, dialect: Dialect) -> Catalog {
    Loading::default().load(files, dialect)
}

/// Loads some sources, without joins to the others.
pub(super) fn load_part(
    files: Vec<SourceFile>,
    dialect: Dialect,
    all: &BTreeMap<String, usize>,
) -> Catalog {
    let loading = Loading {
        absent: all.keys().cloned().collect(),
        ..Loading::default()
    };
    loading.load(files, dialect)
}

impl Loading {
    fn load(mut self, mut files: Vec<SourceFile>, dialect: Dialect) -> Catalog {
        files.retain(|file| file.is_yaml() && !file.is_hidden());
        files.sort_by(|left, right| left.path.cmp(&right.path));
        let read = reading::read_all(&files);
        for (file, read) in files.into_iter().zip(read) {
            self.add_file(file, read);
        }
        let manifest = ScannedTables::new(std::mem::take(&mut self.shards));
        for table in manifest.iter() {
            self.add_scanned(table);
        }
        // Only all tables show which schemas share a key.
        self.reaches_far |= manifest.has_qualified();
        self.reaches_far |= back_joins::complete(&mut self.composed, dialect);
        self.drop_half_read(&manifest);
        for (path, import) in std::mem::take(&mut self.imports) {
            self.add_import(&path, import, dialect);
        }
        self.add_overlays(&manifest, dialect);
        for (path, source) in std::mem::take(&mut self.standalones) {
            self.add_standalone(&path, source, &manifest);
        }
        self.leave_out_disabled();
        self.finish(dialect, manifest)
    }
}

pub(super) fn extended(catalog: &Catalog, sources: Vec<Standalone>) -> Catalog {
    catalog.need_all();
    let broken = catalog.broken.iter().filter_map(BrokenFile::stands_for);
    let mut loading = Loading {
        composed: catalog.composed.clone(),
        broken_names: broken.map(|name| (name, Repeated::No)).collect(),
        broken: catalog.broken.clone(),
        texts: catalog.texts.clone(),
        ..Loading::default()
    };
    let manifest = catalog.manifest.clone();
    for source in sources {
        loading.add_standalone("", source, &manifest);
    }
    loading.finish(catalog.dialect, manifest)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated {
    No,
    Yes,
}

impl Loading {
    fn add_file(&mut self, file: SourceFile, read: Result<Authored, Problem>) {
        let path = file.path;
        if let Ok(mut text) = String::from_utf8(file.bytes) {
            let marks = text.len() - text.trim_start_matches('\u{feff}').len();
            text.drain(..marks);
            self.texts.insert(path.clone(), text);
        }
        match read {
            Ok(Authored::Manifest(manifest)) => self.shards.push((path, manifest)),
            Ok(Authored::Import(import)) => self.imports.push((path, *import)),
            Ok(Authored::Overlay(overlay)) => self.overlays.push((path, *overlay)),
            Ok(Authored::Standalone(source)) => self.standalones.push((path, *source)),
            Err(problem) => {
                self.diagnostics.push(finding(
                    problem.kind,
                    &problem.message,
                    &path,
                    problem.position,
                ));
                self.note_broken(BrokenFile {
                    name: problem.name,
                    path,
                    position: problem.position,
                    kind: problem.kind,
                    message: problem.message,
                });
            }
        }
    }

    fn note_broken(&mut self, file: BrokenFile) {
        if let Some(name) = file.stands_for() {
            let repeated = self.broken_names.entry(name).or_insert(Repeated::No);
            if file.kind == ErrorKind::DuplicateSource {
                *repeated = Repeated::Yes;
            }
        }
        self.broken.push(file);
    }

    fn break_file(&mut self, name: &str, path: &str, kind: ErrorKind, message: &str) {
        self.break_file_at((name, path, None), kind, message);
    }

    fn break_file_at(
        &mut self,
        (name, path, position): (&str, &str, Option<Position>),
        kind: ErrorKind,
        message: &str,
    ) {
        self.diagnostics
            .push(finding(kind, message, path, position));
        self.note_broken(BrokenFile {
            name: Some(name.to_owned()),
            path: path.to_owned(),
            position,
            kind,
            message: message.to_owned(),
        });
    }

    fn warn(&mut self, kind: ErrorKind, message: String, path: &str) {
        let location = Location {
            file: path.to_owned(),
            position: None,
        };
        self.diagnostics
            .push(Diagnostic::warning(kind.code(), message).at(location));
    }

    fn add_scanned(&mut self, table: &ScannedTable) {
        let path = format!("{}#{}", table.shard, table.name);
        if self.composed.contains_key(&table.name) {
            let message = format!("table `{}` is in two manifest shards", table.name);
            self.diagnostics.push(finding(
                ErrorKind::DuplicateSource,
                &message,
                &table.shard,
                None,
            ));
            return;
        }
        let mut composed = composed::from_manifest(&table.name, &table.entry, path);
        self.leave_out_nameless(&mut composed, &table.shard);
        self.composed.insert(table.name.clone(), composed);
    }

    fn leave_out_nameless(&mut self, composed: &mut Composed, shard: &str) {
        let source = &mut composed.source;
        let all = source.columns.len();
        source.columns.retain(|column| is_column_name(&column.name));
        if source.columns.len() == all {
            return;
        }
        let some = all - source.columns.len();
        // A key without one of its columns is not a key.
        if !source.grain.iter().all(|name| is_column_name(name)) {
            let rest = source.columns.iter().map(|column| column.name.clone());
            source.grain = rest.collect();
            composed.scanned_key.clear();
            composed.is_grain_assumed = true;
        }
        let message = format!(
            "table `{}` has {some} column(s) without a usable name, which are left out",
            source.name
        );
        self.warn(ErrorKind::ColumnLeftOut, message, shard);
    }

    /// An unreadable file may hide or change anything in its table.
    fn drop_half_read(&mut self, manifest: &ScannedTables) {
        for at in 0..self.broken.len() {
            let Some(file) = self.broken.get(at).cloned() else {
                continue;
            };
            let Some(name) = file.stands_for() else {
                continue;
            };
            if self.composed.contains_key(&name) {
                continue;
            }
            for table in self.meant(&name, manifest) {
                self.note_broken(BrokenFile {
                    name: Some(table),
                    ..file.clone()
                });
            }
        }
        for name in self.broken_names.keys() {
            self.composed.remove(name);
        }
    }

    fn meant(&self, name: &str, manifest: &ScannedTables) -> Vec<String> {
        let lowered = name.to_lowercase();
        let alike = self.composed.keys();
        let alike = alike.filter(|table| table.to_lowercase() == lowered);
        let by_path = manifest.meant_by(name).into_iter().map(|table| &table.name);
        let by_path = by_path.filter(|table| self.composed.contains_key(*table));
        let both: BTreeSet<&String> = alike.chain(by_path).collect();
        both.into_iter().cloned().collect()
    }

    fn add_import(&mut self, path: &str, mut import: Overlay, dialect: Dialect) {
        let name = import.name.clone();
        // ktx wrote the file, so no warning is needed.
        let wholes = import.joins.iter().cloned().filter_map(OverlayJoin::whole);
        let mut joins: Vec<Join> = wholes.collect();
        let written = joins.len();
        let own = (name.as_str(), &mut joins);
        let replaced =
            contradictions::replace(&mut self.composed, own, Author::ContextSource, dialect);
        self.reaches_far |= !replaced.is_empty();
        let plain = joins.into_iter().skip(written);
        import.joins.extend(plain.map(OverlayJoin::from));
        match self.composed.get_mut(&name) {
            Some(base) => {
                if let Err((kind, message)) = composed::apply_import(base, import, path) {
                    self.composed.remove(&name);
                    self.break_file(&name, path, kind, &message);
                }
            }
            None if self.broken_names.contains_key(&name) => {}
            None => {
                let message =
                    format!("no table `{name}` for this import; `ktx ingest` rewrites imports");
                self.warn(ErrorKind::UnmatchedOverlay, message, path);
            }
        }
    }

    fn add_standalone(&mut self, path: &str, source: Standalone, manifest: &ScannedTables) {
        let name = source.name.clone();
        if let Err(error) = SourceName::parse(&name) {
            let message = format!("source name `{}`: {}", error.text, error.rule);
            return self.break_file(&name, path, ErrorKind::InvalidSource, &message);
        }
        if let Some(other) = self.composed.get(&name) {
            let message = format!("source `{name}` is declared in `{}` as well", other.path);
            self.composed.remove(&name);
            return self.break_file(&name, path, ErrorKind::DuplicateSource, &message);
        }
        if self.broken_names.get(&name) == Some(&Repeated::Yes) {
            let message = format!("source `{name}` is declared more than once");
            return self.break_file(&name, path, ErrorKind::DuplicateSource, &message);
        }
        let mut composed = Composed {
            source,
            origin: Origin::Standalone,
            path: path.to_owned(),
            native_types: BTreeMap::new(),
            required: BTreeSet::new(),
            is_grain_assumed: false,
            scanned_key: Vec::new(),
            imported: composed::Imported::default(),
        };
        if let Some(table) = &composed.source.table
            && let Some(scanned) = manifest.only_match(table)
        {
            composed.scanned_key = composed::primary_key(&scanned.entry);
        }
        if let Some(reference) = composed.source.inherits_columns_from.clone() {
            match manifest.meant_by(&reference).as_slice() {
                [table] => composed::inherit(&mut composed, &table.entry),
                tables => {
                    let some = if tables.is_empty() {
                        "no"
                    } else {
                        "more than one"
                    };
                    let message =
                        format!("`inherits_columns_from: {reference}` names {some} scanned table");
                    self.warn(ErrorKind::UnmatchedOverlay, message, path);
                }
            }
        }
        self.composed.insert(name, composed);
    }

    fn finish(mut self, dialect: Dialect, manifest: ScannedTables) -> Catalog {
        let replaced = std::mem::take(&mut self.replaced);
        self.reaches_far |= !replaced.is_empty();
        let mut broken: BTreeSet<String> = self.broken_names.into_keys().collect();
        broken.extend(self.absent);
        let composed = &self.composed;
        let (sources, mut flaws) = deep(|| resolved(composed, &broken, dialect));
        let by_name: BTreeMap<String, usize> = sources
            .iter()
            .enumerate()
            .map(|(at, source)| (source.name.clone(), at))
            .collect();
        let at = |(name, flaw): (String, resolve::Flaw)| Some((*by_name.get(&name)?, flaw));
        flaws.extend(replaced.into_iter().filter_map(at));
        let mut catalog = Catalog {
            dialect,
            graph: Graph::new(&sources, &by_name),
            members: OnceLock::new(),
            sources,
            by_name,
            composed: self.composed,
            broken: self.broken,
            manifest,
            diagnostics: self.diagnostics,
            texts: self.texts,
            reaches_far: self.reaches_far,
            stubs: None,
        };
        catalog.graph.missing = missing(&catalog);
        let located = located(&catalog, flaws);
        catalog.diagnostics.extend(located);
        let file =
            |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(|place| place.file.clone());
        catalog.diagnostics.sort_by_cached_key(file);
        catalog
    }
}

/// Flaws come with the index of their source.
fn resolved(
    all: &BTreeMap<String, Composed>,
    broken: &BTreeSet<String>,
    dialect: Dialect,
) -> (Vec<Source>, Vec<(usize, resolve::Flaw)>) {
    let known = resolve::Known {
        names: all,
        broken,
        dialect,
        searches: Cell::new(MOST_SEARCHED),
    };
    let mut sources = Vec::with_capacity(all.len());
    let mut flaws = Vec::new();
    for composed in all.values() {
        let (source, found) = resolve::source(composed, &known);
        flaws.extend(found.into_iter().map(|flaw| (sources.len(), flaw)));
        sources.push(source);
    }
    (sources, flaws)
}

fn missing(catalog: &Catalog) -> Missing {
    let names: BTreeSet<String> = catalog
        .broken
        .iter()
        .filter_map(BrokenFile::stands_for)
        .collect();
    let mut missing = Missing::new(names.iter().cloned());
    if names.is_empty() {
        return missing;
    }
    for (node, source) in catalog.sources.iter().enumerate() {
        let joins = catalog.composed.get(&source.name);
        let joins = joins
            .into_iter()
            .flat_map(|composed| &composed.source.joins);
        for join in joins.filter(|join| join.alias.is_none() && names.contains(&join.to)) {
            missing.joined(node, &join.to, join.relationship);
        }
    }
    let node = |name: &str| catalog.by_name.get(name).copied();
    for file in &catalog.broken {
        let text = catalog.texts.get(&file.path);
        if let (Some(name), Some(text)) = (&file.stands_for(), text) {
            for target in targets(text) {
                missing.joins_to(name, target, node(target));
            }
        }
    }
    for table in catalog.manifest.iter() {
        for join in table
            .entry
            .joins
            .iter()
            .filter(|_| names.contains(&table.name))
        {
            missing.joins_to(&table.name, &join.to, node(&join.to));
        }
    }
    missing
}

fn located(catalog: &Catalog, flaws: Vec<(usize, resolve::Flaw)>) -> Vec<Diagnostic> {
    let mut places = Places::new(catalog);
    let diagnostic = |(at, flaw): (usize, resolve::Flaw)| {
        let source = catalog.sources.get(at)?;
        let place = places.spot(source, &flaw.spot);
        let code = flaw.kind.code();
        let diagnostic = if flaw.is_warning {
            Diagnostic::warning(code, flaw.message)
        } else {
            Diagnostic::error(code, flaw.message)
        };
        Some(diagnostic.at(place))
    };
    flaws.into_iter().filter_map(diagnostic).collect()
}
