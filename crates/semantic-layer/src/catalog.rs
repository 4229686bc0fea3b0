//! All sources of one connection.

mod back_joins;
mod contradictions;
mod disabled;
pub mod graph;
mod index;
mod load;
mod members;
pub(crate) mod near;
mod overlay_joins;
pub(crate) mod places;
mod reading;
mod resolve;
pub(crate) mod roles;
mod scanned;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use ktx_diagnostics::{Diagnostic, Location, Position};
use ktx_sql::Dialect;

use crate::catalog::graph::{Graph, aliases};
use crate::catalog::near::nearest;
use crate::model::authored::{Relationship, Standalone, Visibility};
use crate::model::composed::Composed;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::resolved::{Join, Origin, Source, Trust};
use crate::model::source_file::SourceFile;
use index::Stubs;
pub use index::{CatalogIndex, Piece, Unread};
use members::Members;
pub use scanned::ScannedTable;
use scanned::ScannedTables;
pub(crate) use scanned::lowered_parts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSummary {
    /// For a file that does not parse, the recovered name.
    pub name: String,
    /// Has `#entry` for manifest entries.
    pub path: String,
    pub origin: Option<Origin>,
    /// The description with the highest priority.
    pub description: Option<String>,
    pub column_count: usize,
    pub measure_count: usize,
    pub join_count: usize,
    pub is_broken: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct BrokenFile {
    pub(crate) name: Option<String>,
    pub(crate) path: String,
    pub(crate) position: Option<Position>,
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

impl BrokenFile {
    fn stands_for(&self) -> Option<String> {
        let is_shard = self.path.trim_start_matches("./").starts_with("_schema/");
        let named = self.name.clone();
        named.or_else(|| (!is_shard).then(|| file_stem(&self.path)))
    }

    fn place(&self) -> String {
        match self.position {
            Some(position) => format!("{}:{position}", self.path),
            None => self.path.clone(),
        }
    }
}

/// The sources of one connection, resolved, with the problems of its files.
#[derive(Debug, Clone)]
pub struct Catalog {
    dialect: Dialect,
    pub(crate) sources: Vec<Source>,
    pub(crate) composed: BTreeMap<String, Composed>,
    pub(crate) by_name: BTreeMap<String, usize>,
    pub(crate) broken: Vec<BrokenFile>,
    pub(crate) manifest: ScannedTables,
    pub(crate) graph: Graph,
    members: OnceLock<Members>,
    diagnostics: Vec<Diagnostic>,
    texts: BTreeMap<String, String>,
    /// True if the file of a source changes another source.
    reaches_far: bool,
    /// The unread sources of a catalog from an index.
    stubs: Option<Stubs>,
}

impl Catalog {
    /// Loads a connection's folder. Ignores files that are not YAML. A broken file becomes
    /// diagnostics and does not affect others.
    pub fn load(files: Vec<SourceFile>, dialect: Dialect) -> Self {
        load::load(files, dialect)
    }

    pub(crate) fn with_sources(&self, sources: Vec<Standalone>) -> Self {
        load::extended(self, sources)
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    pub fn source(&self, name: &str) -> Option<&Source> {
        self.by_name.get(name).and_then(|at| self.sources.get(*at))
    }

    /// Ordered by path; codes are the names of [`ErrorKind`]s.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Lists the sources by name, then path.
    pub fn list(&self) -> Vec<SourceSummary> {
        let sound = self.sources.iter().map(|source| SourceSummary {
            name: source.name.clone(),
            path: source.path.clone(),
            origin: Some(source.origin),
            description: source.description(),
            column_count: source
                .columns
                .iter()
                .filter(|column| column.visibility != Visibility::Hidden)
                .count(),
            measure_count: source.measures.len(),
            join_count: source.joins.len(),
            is_broken: source.problem.is_some(),
        });
        let broken = self.broken.iter().map(|file| SourceSummary {
            name: file.name.clone().unwrap_or_else(|| file_stem(&file.path)),
            path: file.path.clone(),
            origin: None,
            description: None,
            column_count: 0,
            measure_count: 0,
            join_count: 0,
            is_broken: true,
        });
        let mut all: Vec<SourceSummary> = sound.chain(broken).collect();
        all.sort_by(|left, right| (&left.name, &left.path).cmp(&(&right.name, &right.path)));
        all
    }

    pub fn read(&self, name: &str) -> Result<String, QueryError> {
        let Some(composed) = self.composed.get(name) else {
            let broken = self
                .broken
                .iter()
                .find(|file| file.name.as_deref() == Some(name));
            return match broken.and_then(|file| self.texts.get(&file.path)) {
                Some(text) => Ok(text.clone()),
                None => Err(self.unknown_source(name)),
            };
        };
        let inherits = composed.source.inherits_columns_from.is_some();
        if composed.origin == Origin::Standalone
            && !inherits
            && let Some(text) = self.texts.get(&composed.path)
        {
            return Ok(text.clone());
        }
        let mut shown = composed.source.clone();
        for join in &mut shown.joins {
            join.source = None;
        }
        let yaml = serde_yaml::to_string(&shown)
            .map_err(|error| QueryError::new(ErrorKind::InvalidSource, error.to_string()))?;
        Ok(self.with_join_names(name, yaml))
    }

    fn with_join_names(&self, name: &str, yaml: String) -> String {
        let joins = self.source(name).map_or(&[][..], |source| &source.joins);
        let names: Vec<Option<String>> = joins
            .iter()
            .map(|join| self.join_name(name, join))
            .collect();
        if names.iter().all(Option::is_none) {
            return yaml;
        }
        let mut names = names.into_iter();
        let mut is_inside = false;
        let mut commented = String::new();
        for line in yaml.lines() {
            is_inside = line == "joins:" || is_inside && line.starts_with([' ', '-']);
            commented.push_str(line);
            if is_inside
                && line.starts_with("- ")
                && let Some(name) = names.next().flatten()
            {
                commented.push_str("  # in queries: ");
                commented.push_str(&name);
            }
            commented.push('\n');
        }
        commented
    }

    /// Returns the name of the row that a join finds, such as `orders.billing_address`; `None` if
    /// the target or the alias says it.
    pub fn join_name(&self, source: &str, join: &Join) -> Option<String> {
        graph::join_name(self, self.source(source)?, join)
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns a source as its files write it, with the overlay applied.
    pub fn composed(&self, name: &str) -> Option<&Composed> {
        self.composed.get(name)
    }

    /// Returns the only scanned table whose path and the dotted name end alike.
    pub fn scanned_table(&self, name: &str) -> Option<&ScannedTable> {
        self.manifest.only_match(name)
    }

    /// Returns the grain, the primary key, or the columns that most scanned joins look up; empty if
    /// unknown.
    pub(crate) fn row_key(&self, source: &Source) -> Vec<String> {
        if source.has_declared_grain {
            return source.grain.clone();
        }
        if !source.scanned_key.is_empty() {
            return source.scanned_key.clone();
        }
        let node = self.by_name.get(&source.name).copied();
        let edges = node.map_or(&[][..], |node| self.graph.edges_from(node));
        // Rows can lack the column of a one-to-one join.
        let is_looked_up = |edge: &&graph::Edge| {
            edge.relationship == Relationship::OneToMany
                && edge.origin.is_scanned()
                && edge.origin.trust() < Trust::Named
        };
        let mut uses: BTreeMap<Vec<&String>, usize> = BTreeMap::new();
        for edge in edges.iter().filter(is_looked_up) {
            let near = edge.pairs.iter().map(|(near, _)| near);
            *uses.entry(near.collect()).or_default() += 1;
        }
        let best = uses.into_iter().min_by_key(|(_, uses)| Reverse(*uses));
        let key = best.map(|(key, _)| key.into_iter().cloned().collect());
        key.unwrap_or_default()
    }

    pub(crate) fn members(&self) -> &Members {
        self.need_all();
        self.members.get_or_init(|| Members::of(&self.sources))
    }

    /// Returns the file of a source, the shard of its table, and its imports.
    pub fn files_of(&self, name: &str) -> Vec<&str> {
        let own = self.source(name).map(|source| source.path.as_str());
        let own = own.map(|path| path.split_once('#').map_or(path, |(file, _)| file));
        let shard = self.manifest.called(name).map(|table| table.shard.as_str());
        let imports = self.composed.get(name).into_iter();
        let imports = imports.flat_map(|composed| &composed.imported.paths);
        let all = own.into_iter().chain(shard);
        all.chain(imports.map(String::as_str)).collect()
    }

    pub fn is_unreadable(&self, name: &str) -> bool {
        let mut broken = self.broken.iter();
        broken.any(|file| file.stands_for().as_deref() == Some(name))
    }

    pub fn file_text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// A broken file of that name is the better reason.
    pub(crate) fn unknown_source(&self, name: &str) -> QueryError {
        if let Some(file) = self
            .broken
            .iter()
            .find(|file| file.name.as_deref() == Some(name))
        {
            let message = format!(
                "source `{name}` cannot be used: {}: {}",
                file.place(),
                file.message
            );
            return QueryError::new(file.kind, message).about(name);
        }
        if let Some((alias, file)) = self.broken_role(name) {
            let owner = file.name.as_deref().unwrap_or(&file.path);
            let message = format!(
                "`{alias}` is a join alias of `{owner}`, which cannot be used: {}: {}",
                file.place(),
                file.message
            );
            return QueryError::new(file.kind, message).about(name);
        }
        if let Some((owner, file)) = self.role_of_broken(name) {
            let message = format!(
                "`{name}` is a join alias of `{owner}` for a source that cannot be used: {}: {}",
                file.place(),
                file.message
            );
            return QueryError::new(file.kind, message).about(name);
        }
        let near = nearest(name, self.graph.node_names());
        // A file without a readable name may declare the source.
        if let Some(file) = self.broken.iter().find(|file| file.name.is_none()) {
            let message = format!(
                "unknown source `{name}`; `{}` cannot be read: {}",
                file.place(),
                file.message
            );
            return QueryError::new(file.kind, message)
                .about(name)
                .suggest(near);
        }
        QueryError::new(ErrorKind::UnknownSource, format!("unknown source `{name}`"))
            .about(name)
            .suggest(near)
    }

    fn role_of_broken(&self, name: &str) -> Option<(&str, &BrokenFile)> {
        let named = |to: &str| {
            let mut broken = self.broken.iter();
            broken.find(|file| file.name.as_deref() == Some(to))
        };
        self.composed.iter().find_map(|(owner, composed)| {
            let mut joins = composed.source.joins.iter();
            let join = joins.find(|join| join.alias.as_deref() == Some(name))?;
            Some((owner.as_str(), named(&join.to)?))
        })
    }

    fn broken_role<'a>(&'a self, name: &str) -> Option<(&'a str, &'a BrokenFile)> {
        self.broken.iter().find_map(|file| {
            let text = self.texts.get(&file.path)?;
            let is_it = |alias: &&str| {
                let rest = name.strip_prefix(*alias);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            Some((aliases(text).into_iter().find(is_it)?, file))
        })
    }
}

fn file_stem(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.rsplit_once('.')
        .map_or(file, |(stem, _)| stem)
        .to_owned()
}

fn finding(kind: ErrorKind, message: &str, path: &str, position: Option<Position>) -> Diagnostic {
    let location = Location {
        file: path.to_owned(),
        position,
    };
    Diagnostic::error(kind.code(), message).at(location)
}
