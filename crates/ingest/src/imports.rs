//! Imports: writes the definitions of a context source as files of the semantic layer, without a
//! model.
//!
//! Each file is about one scanned table, `_imports/<source>/<table>.yaml`, and belongs to the
//! source: each run rewrites it. ktx imports only definitions that compile against the warehouse's
//! sources.

mod check;
mod convert;
mod needs;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_sources::{
    DefinitionKind, Definitions, Facts, Model, ModelJoin, Purpose, SkippedDefinition,
    SourcePosition, TableLocation, WhyLeft,
};
use ktx_project_store::{Change, ProjectPath};
use ktx_semantic_layer::authored::{self, Authored, Measure};
use ktx_semantic_layer::{Catalog, SourceFile};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use serde::Serialize;

use convert::Converter;
use needs::Names;
use write::{ImportEntry, ImportFile};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Number of definitions that keep their exact meaning.
    pub exact: usize,
    pub partly: Vec<PartialImport>,
    pub left: Vec<SkippedDefinition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartialImport {
    pub kind: DefinitionKind,
    pub name: String,
    pub spot: SourcePosition,
    pub lost: Vec<String>,
}

impl ImportReport {
    pub fn all(&self) -> usize {
        self.exact + self.partly.len() + self.left.len()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ImportTarget<'a> {
    pub(crate) warehouse: &'a ConnectionId,
    pub(crate) dialect: Dialect,
    pub(crate) files: &'a BTreeMap<ProjectPath, Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    Whole,
    /// A file of the source could not be read: its earlier imports stay.
    Partial,
}

impl Coverage {
    pub(crate) const fn of(facts: &Facts) -> Self {
        if facts.is_complete {
            Self::Whole
        } else {
            Self::Partial
        }
    }
}

pub(crate) fn import(
    definitions: &Definitions,
    source: &ConnectionId,
    target: ImportTarget<'_>,
    coverage: Coverage,
) -> (Vec<Change>, ImportReport) {
    let folder = format!("semantic-layer/{}/", target.warehouse);
    let own = format!("_imports/{source}/");
    let mut others = Vec::new();
    let mut before: BTreeMap<String, &[u8]> = BTreeMap::new();
    for (path, bytes) in target.files {
        let Some(path) = path.as_str().strip_prefix(&folder) else {
            continue;
        };
        if path.starts_with(&own) {
            before.insert(path.to_owned(), bytes);
        } else if !path.starts_with("_review/") {
            others.push(SourceFile::new(path, bytes.clone()));
        }
    }
    let mut report = ImportReport {
        left: definitions.left.clone(),
        ..ImportReport::default()
    };
    if definitions.models.is_empty() && before.is_empty() {
        return (Vec::new(), report);
    }
    let catalog = Catalog::load(others.clone(), target.dialect);
    let known = KnownLayer {
        catalog: &catalog,
        imported: imported_elsewhere(&others),
    };
    let mut imports = gathered(definitions, &known, &mut report);
    if coverage == Coverage::Partial {
        keep(&mut imports, &before, &own);
    }
    check::settle(&mut imports, &own, &others, target.dialect, &mut report);
    for import in imports.values() {
        import.count(&mut report);
    }
    report.left.sort();
    (changes(&imports, &before, &folder, &own), report)
}

pub(crate) fn orphans(
    warehouse: &ConnectionId,
    files: &BTreeMap<ProjectPath, Vec<u8>>,
    known: &BTreeSet<&ConnectionId>,
) -> Vec<Change> {
    let folder = format!("semantic-layer/{warehouse}/_imports/");
    let is_orphan = |path: &&ProjectPath| {
        let inner = path.as_str().strip_prefix(&folder);
        let source = inner.and_then(|inner| inner.split('/').next());
        source.is_some_and(|source| !known.iter().any(|id| id.as_str() == source))
    };
    let orphans = files.keys().filter(is_orphan);
    orphans.map(|path| Change::delete(path.clone())).collect()
}

type Imports = BTreeMap<String, ImportFile>;

fn gathered(
    definitions: &Definitions,
    known: &KnownLayer<'_>,
    report: &mut ImportReport,
) -> Imports {
    let catalog = known.catalog;
    let mut tables: BTreeMap<&str, &str> = BTreeMap::new();
    for model in &definitions.models {
        match scanned(catalog, &model.table) {
            Some(table) => {
                tables.insert(&model.name, table);
            }
            None => leave_all(model, report),
        }
    }
    let converter = Converter {
        catalog,
        tables,
        writer: definitions.writer.key(),
    };
    let mut imports = Imports::new();
    let mut names = Names::default();
    for model in &definitions.models {
        let Some(table) = converter.tables.get(model.name.as_str()) else {
            continue;
        };
        let import = imports
            .entry((*table).to_owned())
            .or_insert_with(|| ImportFile::new(table));
        import.set_time(converter.time(model, table));
        for entry in converter.entries(model, table, report) {
            let name = entry.id.clone();
            names.note(name, import.add(entry, known, report));
        }
    }
    names.leave_dependents(&mut imports, &converter, report);
    imports
}

struct KnownLayer<'a> {
    catalog: &'a Catalog,
    imported: BTreeMap<(String, String), (String, Measure)>,
}

fn imported_elsewhere(others: &[SourceFile]) -> BTreeMap<(String, String), (String, Measure)> {
    let mut imported = BTreeMap::new();
    for file in others
        .iter()
        .filter(|file| file.path.starts_with("_imports/"))
    {
        if let Ok(Authored::Import(overlay)) = authored::read(file) {
            for measure in overlay.measures {
                let key = (overlay.name.clone(), measure.name.to_lowercase());
                imported.insert(key, (file.path.clone(), measure));
            }
        }
    }
    imported
}

/// Returns `None` if several tables match or a person's file replaces the table.
fn scanned<'c>(catalog: &'c Catalog, place: &TableLocation) -> Option<&'c str> {
    let loosened = || at(catalog, &place.loosened()?);
    at(catalog, place).or_else(loosened)
}

fn at<'c>(catalog: &'c Catalog, place: &TableLocation) -> Option<&'c str> {
    let parts = [&place.database, &place.schema];
    let parts = parts.into_iter().flatten().chain([&place.name]);
    let name: Vec<String> = parts.map(|part| quoted(part)).collect();
    let table = catalog.scanned_table(&name.join("."))?;
    let source = catalog.source(&table.name)?;
    Some(source.name.as_str())
}

fn quoted(part: &str) -> String {
    if part.contains('.') {
        format!("\"{part}\"")
    } else {
        part.to_owned()
    }
}

fn leave_all(model: &Model, report: &mut ImportReport) {
    let reason = format!("no scan has found the table `{}`", model.table.name);
    let mut leave = |kind, name: &str, spot: &SourcePosition| {
        report.left.push(SkippedDefinition {
            why: WhyLeft::UnknownTable,
            kind,
            name: name.to_owned(),
            spot: spot.clone(),
            reason: reason.clone(),
        });
    };
    for column in &model.columns {
        leave(DefinitionKind::Column, &column.name, &column.spot);
    }
    for ModelJoin { to, spot, .. } in &model.joins {
        leave(
            DefinitionKind::Join,
            &format!("{} → {to}", model.name),
            spot,
        );
    }
    let offered =
        |measure: &&ktx_context_sources::MeasureDefinition| measure.purpose == Purpose::Offered;
    for measure in model.measures.iter().filter(offered) {
        leave(DefinitionKind::Measure, &measure.name, &measure.spot);
    }
    for segment in &model.segments {
        leave(DefinitionKind::Segment, &segment.name, &segment.spot);
    }
}

/// Keeps earlier entries that the definitions lack, because some definitions are unknown.
fn keep(imports: &mut Imports, before: &BTreeMap<String, &[u8]>, own: &str) {
    for (path, bytes) in before {
        let file = SourceFile::new(path.clone(), bytes.to_vec());
        if !path.starts_with(own) {
            continue;
        }
        if let Ok(ktx_semantic_layer::authored::Authored::Import(overlay)) =
            ktx_semantic_layer::authored::read(&file)
        {
            let name = overlay.name.clone();
            let import = imports
                .entry(name.clone())
                .or_insert_with(|| ImportFile::new(&name));
            import.keep(*overlay);
        }
    }
}

fn changes(
    imports: &Imports,
    before: &BTreeMap<String, &[u8]>,
    folder: &str,
    own: &str,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut written = BTreeSet::new();
    for import in imports.values().filter(|import| !import.is_empty()) {
        let path = format!("{own}{}", SourceFile::name_for(import.table()));
        let text = import.text();
        written.insert(path.clone());
        let is_same = before
            .get(&path)
            .is_some_and(|bytes| *bytes == text.as_bytes());
        if let (false, Ok(path)) = (is_same, ProjectPath::parse(&format!("{folder}{path}"))) {
            changes.push(Change::write(path, text));
        }
    }
    let gone = before.keys().filter(|path| !written.contains(*path));
    for path in gone {
        if let Ok(path) = ProjectPath::parse(&format!("{folder}{path}")) {
            changes.push(Change::delete(path));
        }
    }
    changes
}

fn leave(entry: &ImportEntry, why: WhyLeft, reason: String, report: &mut ImportReport) {
    if entry.purpose == Purpose::Offered {
        report.left.push(SkippedDefinition {
            why,
            kind: entry.kind,
            name: entry.name.clone(),
            spot: entry.spot.clone(),
            reason,
        });
    }
}
