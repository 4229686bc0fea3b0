//! From files to a catalog.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::{Diagnostic, Location};
use ktx_vocabulary::SourceName;
use ktx_warehouse::Dialect;

use super::{BrokenFile, Catalog, ScannedTable, finding, resolve};
use crate::authored::{self, Authored, Manifest, Overlay, Standalone};
use crate::composed::{self, Composed};
use crate::graph::Graph;
use crate::resolved::Origin;
use crate::sql_text::table_parts;
use crate::{ErrorKind, SourceFile};

/// What has been gathered so far.
#[derive(Default)]
struct Loading {
    composed: BTreeMap<String, Composed>,
    broken: Vec<BrokenFile>,
    diagnostics: Vec<Diagnostic>,
    texts: BTreeMap<String, String>,
    shards: Vec<(String, Manifest)>,
    standalones: Vec<(String, Standalone)>,
    overlays: Vec<(String, Overlay)>,
}

pub(super) fn load(mut files: Vec<SourceFile>, dialect: Dialect) -> Catalog {
    files.retain(SourceFile::is_yaml);
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let mut loading = Loading::default();
    for file in &files {
        loading.read(file);
    }
    let manifest = loading.scanned_tables();
    for table in &manifest {
        loading.add_scanned(table);
    }
    for (path, overlay) in std::mem::take(&mut loading.overlays) {
        loading.add_overlay(&path, overlay);
    }
    for (path, source) in std::mem::take(&mut loading.standalones) {
        loading.add_standalone(&path, source, &manifest);
    }
    loading.finish(dialect, manifest)
}

impl Loading {
    fn read(&mut self, file: &SourceFile) {
        if let Ok(text) = std::str::from_utf8(&file.bytes) {
            self.texts.insert(
                file.path.clone(),
                text.trim_start_matches('\u{feff}').to_owned(),
            );
        }
        let path = file.path.clone();
        match authored::read(file) {
            Ok(Authored::Manifest(manifest)) => self.shards.push((path, manifest)),
            Ok(Authored::Overlay(overlay)) => self.overlays.push((path, *overlay)),
            Ok(Authored::Standalone(source)) => self.standalones.push((path, *source)),
            Err(problem) => {
                self.diagnostics.push(finding(
                    problem.kind,
                    &problem.message,
                    &path,
                    problem.position,
                ));
                self.broken.push(BrokenFile {
                    name: problem.name,
                    path,
                    kind: problem.kind,
                    message: problem.message,
                });
            }
        }
    }

    fn break_file(&mut self, name: &str, path: &str, kind: ErrorKind, message: &str) {
        self.diagnostics.push(finding(kind, message, path, None));
        self.broken.push(BrokenFile {
            name: Some(name.to_owned()),
            path: path.to_owned(),
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
            .push(Diagnostic::warning(kind.as_str(), message).at(location));
    }

    /// The manifest's entries under names that tell them apart: the key of the shard, or the whole
    /// table path where two schemas have one key.
    fn scanned_tables(&mut self) -> Vec<ScannedTable> {
        let shards = std::mem::take(&mut self.shards);
        let mut paths_by_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (_, manifest) in &shards {
            for (key, entry) in &manifest.tables.0 {
                let whole = table_parts(&entry.table).join(".");
                let known = paths_by_key.entry(key).or_default();
                if !known.contains(&whole) {
                    known.push(whole);
                }
            }
        }
        let name_of = |key: &str, table: &str| match paths_by_key.get(key) {
            Some(paths) if paths.len() > 1 => table_parts(table).join("."),
            _ => key.to_owned(),
        };
        let mut tables: Vec<ScannedTable> = Vec::new();
        for (shard, manifest) in &shards {
            for (key, entry) in &manifest.tables.0 {
                let mut entry = entry.clone();
                for join in &mut entry.joins {
                    let here = manifest
                        .tables
                        .0
                        .get(&join.to)
                        .map(|other| other.table.as_str());
                    if let Some(table) = here {
                        join.to = name_of(&join.to, table);
                    }
                }
                let name = name_of(key, &entry.table);
                tables.push(ScannedTable {
                    name,
                    shard: shard.clone(),
                    entry,
                });
            }
        }
        tables
    }

    fn add_scanned(&mut self, table: &ScannedTable) {
        let path = format!("{}#{}", table.shard, table.name);
        if self.composed.contains_key(&table.name) {
            let message = format!("table `{}` stands in two manifest shards", table.name);
            self.diagnostics.push(finding(
                ErrorKind::DuplicateSource,
                &message,
                &table.shard,
                None,
            ));
            return;
        }
        let composed = composed::from_manifest(&table.name, &table.entry, path);
        self.composed.insert(table.name.clone(), composed);
    }

    fn add_overlay(&mut self, path: &str, overlay: Overlay) {
        let name = overlay.name.clone();
        let is_broken = self.is_broken(&name);
        match self.composed.get_mut(&name) {
            Some(base) if base.origin == Origin::Overlay => {
                let message = format!("two files extend source `{name}`");
                self.composed.remove(&name);
                self.break_file(&name, path, ErrorKind::DuplicateSource, &message);
            }
            Some(base) => {
                if let Err((kind, message)) = composed::apply_overlay(base, overlay, path) {
                    self.composed.remove(&name);
                    self.break_file(&name, path, kind, &message);
                }
            }
            None if is_broken => {}
            None => {
                let near =
                    ktx_diagnostics::nearest(&name, self.composed.keys().map(String::as_str));
                let hint = near
                    .first()
                    .map_or(String::new(), |name| format!("; did you mean `{name}`"));
                let message = format!("no table `{name}` for this overlay to extend{hint}");
                self.warn(ErrorKind::UnmatchedOverlay, message, path);
            }
        }
    }

    fn is_broken(&self, name: &str) -> bool {
        self.broken
            .iter()
            .any(|file| file.name.as_deref() == Some(name))
    }

    fn add_standalone(&mut self, path: &str, source: Standalone, manifest: &[ScannedTable]) {
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
        if self.broken.iter().any(|file| {
            file.name.as_deref() == Some(&name) && file.kind == ErrorKind::DuplicateSource
        }) {
            let message = format!("source `{name}` is declared more than once");
            return self.break_file(&name, path, ErrorKind::DuplicateSource, &message);
        }
        let mut composed = Composed {
            source,
            origin: Origin::Standalone,
            path: path.to_owned(),
            native_types: BTreeMap::new(),
        };
        if let Some(reference) = composed.source.inherits_columns_from.clone() {
            let named = |table: &&ScannedTable| {
                composed::names_entry(&reference, &table.name, &table.entry)
            };
            let found: Vec<&ScannedTable> = manifest.iter().filter(named).collect();
            match found.as_slice() {
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

    fn finish(mut self, dialect: Dialect, manifest: Vec<ScannedTable>) -> Catalog {
        let broken: BTreeSet<String> = self
            .broken
            .iter()
            .filter_map(|file| file.name.clone())
            .collect();
        let mut sources = Vec::with_capacity(self.composed.len());
        for composed in self.composed.values() {
            let known = resolve::Known {
                names: &self.composed,
                broken: &broken,
                dialect,
            };
            let (source, warnings) = resolve::source(composed, &known);
            if let Some((kind, message)) = &source.problem {
                self.diagnostics
                    .push(finding(*kind, message, &source.path, None));
            }
            for (kind, message) in warnings {
                let location = Location {
                    file: source.path.clone(),
                    position: None,
                };
                self.diagnostics
                    .push(Diagnostic::warning(kind.as_str(), message).at(location));
            }
            sources.push(source);
        }
        let file =
            |diagnostic: &Diagnostic| diagnostic.location.as_ref().map(|place| place.file.clone());
        self.diagnostics.sort_by_key(file);
        let by_name = sources
            .iter()
            .enumerate()
            .map(|(at, source)| (source.name.clone(), at))
            .collect();
        Catalog {
            dialect,
            graph: Graph::new(&sources, &by_name),
            sources,
            by_name,
            composed: self.composed,
            broken: self.broken,
            manifest,
            diagnostics: self.diagnostics,
            texts: self.texts,
        }
    }
}
