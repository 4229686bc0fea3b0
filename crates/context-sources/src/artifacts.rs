//! The artifacts of dbt: `manifest.json` (the parsed project) and `catalog.json` (its tables in the
//! warehouse). Never runs dbt.

mod node;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_yaml::{Mapping, Value};

use crate::facts::{SchemaOrigin, TableLocation};
use wire::{CatalogFile, Lenient, ManifestFile};

pub(crate) use node::Node;

const VERSIONS: std::ops::RangeInclusive<u32> = 9..=12;

/// Maximum size of an artifact in bytes.
const LONGEST: u64 = 1 << 30;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Artifacts {
    pub(crate) manifest: Option<String>,
    project: Option<String>,
    nodes: BTreeMap<String, Node>,
    disabled: BTreeMap<String, Node>,
    /// Node ids by reference name; the project's own package wins.
    names: BTreeMap<String, String>,
    items: Vec<Item>,
    seen: BTreeMap<String, TableLocation>,
    pub(crate) strange: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    package: String,
    file: String,
    section: &'static str,
    map: Mapping,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeRelation {
    At(TableLocation),
    /// Disabled or ephemeral.
    NotBuilt,
}

impl Artifacts {
    pub(crate) fn read_manifest(&mut self, place: &Path, shown: &str) -> Result<(), String> {
        let file: ManifestFile = parse(place)?;
        let named = file.metadata.dbt_schema_version;
        let version = version(&named, "manifest").ok_or_else(|| no_version(&named))?;
        if !VERSIONS.contains(&version) {
            return Err(format!(
                "it is a manifest of version {version}, and ktx reads versions {} to {}",
                VERSIONS.start(),
                VERSIONS.end()
            ));
        }
        self.manifest = Some(shown.to_owned());
        self.project = file.metadata.project_name;
        for (id, node) in file.nodes.into_iter().chain(file.sources) {
            match node {
                Lenient::Known(node) => {
                    self.nodes.insert(id, *node);
                }
                Lenient::Strange(_) => self.strange += 1,
            }
        }
        for (id, nodes) in file.disabled {
            for node in nodes {
                if let Lenient::Known(node) = node {
                    self.disabled.insert(id.clone(), *node);
                }
            }
        }
        self.names = self.named();
        let sections = [
            ("semantic_models", file.semantic_models),
            ("metrics", file.metrics),
            ("saved_queries", file.saved_queries),
            ("exposures", file.exposures),
        ];
        for (section, items) in sections {
            for map in items.into_values() {
                let item = self.item(section, map);
                self.items.push(item);
            }
        }
        self.items
            .sort_by(|one, other| (&one.file, one.section).cmp(&(&other.file, other.section)));
        Ok(())
    }

    pub(crate) fn read_catalog(&mut self, place: &Path) -> Result<(), String> {
        let file: CatalogFile = parse(place)?;
        let named = file.metadata.dbt_schema_version;
        version(&named, "catalog").ok_or_else(|| no_version(&named))?;
        let built = file.nodes.into_iter();
        let built = built.map(|(id, table)| (id, SchemaOrigin::Target, table));
        let read = file.sources.into_iter();
        let read = read.map(|(id, table)| (id, SchemaOrigin::Named, table));
        for (id, origin, table) in built.chain(read) {
            let Lenient::Known(table) = table else {
                self.strange += 1;
                continue;
            };
            let place = TableLocation {
                name: table.metadata.name,
                schema: table.metadata.schema,
                database: table.metadata.database,
                origin,
            };
            self.seen.insert(id, place);
        }
        Ok(())
    }

    pub fn manifest(&self) -> Option<&str> {
        self.manifest.as_deref()
    }

    /// The name includes the version if the model has several.
    pub(crate) fn relation(&self, name: &str) -> Option<NodeRelation> {
        let id = self.names.get(name)?;
        let Some(node) = self.nodes.get(id) else {
            return Some(NodeRelation::NotBuilt);
        };
        let place = node.place().filter(|_| node.is_built());
        Some(place.map_or(NodeRelation::NotBuilt, |place| {
            NodeRelation::At(self.seen.get(id).cloned().unwrap_or(place))
        }))
    }

    pub(crate) fn source_table(&self, source: &str, table: &str) -> Option<&Node> {
        let mut nodes = self.nodes.values();
        nodes.find(|node| node.is_source(source, table))
    }

    pub(crate) fn model(&self, name: &str) -> Option<&Node> {
        self.nodes.get(self.names.get(name)?)
    }

    fn named(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for nodes in [&self.nodes, &self.disabled] {
            let relations = || nodes.iter().filter(|(_, node)| node.is_relation());
            let own = relations().filter(|(_, node)| self.is_own(&node.package_name));
            let foreign = relations().filter(|(_, node)| !self.is_own(&node.package_name));
            for (id, node) in own.chain(foreign) {
                names.entry(node.reference()).or_insert_with(|| id.clone());
            }
        }
        names
    }

    fn is_own(&self, package: &str) -> bool {
        self.project.as_deref().is_none_or(|own| own == package)
    }

    /// Returns the tables of other packages as YAML.
    pub(crate) fn of_packages(&self) -> Vec<PackageTable> {
        let foreign = self.nodes.iter().filter(|(_, node)| {
            !self.is_own(&node.package_name) && (node.is_relation() || node.has_source())
        });
        let mut tests: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
        for test in self.nodes.values() {
            if let Some(about) = test.tested() {
                tests.entry(about).or_default().push(test);
            }
        }
        let tables = foreign.filter_map(|(id, node)| {
            let place = self.seen.get(id).cloned().or_else(|| node.place())?;
            let tests = tests.remove(id.as_str()).unwrap_or_default();
            Some(PackageTable {
                node: node.clone(),
                place: node.is_built().then_some(place),
                map: node.as_yaml(tests.into_iter()),
            })
        });
        tables.collect()
    }

    /// Returns the items of other packages and of unreadable files, by file.
    pub(crate) fn items(&self, is_unread: impl Fn(&str) -> bool) -> BTreeMap<String, Mapping> {
        let mut files: BTreeMap<String, Mapping> = BTreeMap::new();
        for item in &self.items {
            if self.is_own(&item.package) && !is_unread(&item.file) {
                continue;
            }
            let file = files.entry(item.file.clone()).or_default();
            let list = file
                .entry(item.section.into())
                .or_insert_with(|| Value::Sequence(Vec::new()));
            if let Some(list) = list.as_sequence_mut() {
                list.push(Value::Mapping(item.map.clone()));
            }
        }
        files
    }

    fn item(&self, section: &'static str, mut map: Mapping) -> Item {
        let word = |map: &Mapping, key: &str| {
            let text = map.get(key).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let depends = map.get("depends_on").and_then(Value::as_mapping);
        let ids = depends.and_then(|depends| depends.get("nodes")?.as_sequence());
        let calls = ids.into_iter().flatten().filter_map(Value::as_str);
        let calls: Vec<Value> = calls.filter_map(|id| self.call(id)).collect();
        map.insert("depends_on".into(), Value::Sequence(calls));
        wire::as_written(&mut map);
        Item {
            package: word(&map, "package_name"),
            file: word(&map, "original_file_path"),
            section,
            map,
        }
    }

    fn call(&self, id: &str) -> Option<Value> {
        let node = self.nodes.get(id)?;
        Some(Value::from(node.call()))
    }

    /// Returns the project's model files that the manifest lacks. Compares paths, because a version
    /// can be in a file of another name.
    pub(crate) fn unknown<'n>(&self, paths: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
        if self.manifest.is_none() {
            return Vec::new();
        }
        let nodes = self.nodes.values().chain(self.disabled.values());
        let own = nodes.filter(|node| self.is_own(&node.package_name));
        let known: BTreeSet<String> = own
            .map(|node| node.original_file_path.replace('\\', "/"))
            .collect();
        paths.filter(|path| !known.contains(*path)).collect()
    }
}

pub(crate) struct PackageTable {
    pub(crate) node: Node,
    pub(crate) place: Option<TableLocation>,
    pub(crate) map: Mapping,
}

fn parse<T: DeserializeOwned>(place: &Path) -> Result<T, String> {
    let file = File::open(place).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    if length > LONGEST {
        return Err(format!("it has {length} bytes, at most {LONGEST} are read"));
    }
    serde_json::from_reader(BufReader::new(file))
        .map_err(|error| format!("it is not whole or not an artifact of dbt ({error})"))
}

fn version(address: &str, kind: &str) -> Option<u32> {
    let name = address.rsplit_once(&format!("/{kind}/v"))?.1;
    name.strip_suffix(".json").unwrap_or(name).parse().ok()
}

fn no_version(named: &str) -> String {
    if named.is_empty() {
        "it does not say its version (`metadata.dbt_schema_version`)".to_owned()
    } else {
        format!("its version `{named}` is not known")
    }
}
