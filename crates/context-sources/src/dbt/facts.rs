//! Reads facts about tables and columns from the YAML of a dbt project.

use std::collections::{BTreeMap, BTreeSet};

use ktx_diagnostics::counted;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde_yaml::{Mapping, Value};

use super::PROJECT_FILES;
use super::checks;
use super::circumstances::{self, ExposedNodes, GroupOwners};
use super::docs::blocks;
use super::models::{Models, is_false, latest, versions};
use super::references::{DbtNode, NodeTable, References, node_of};
use super::sql::ConfigValue;
use crate::artifacts::{Artifacts, Node, NodeRelation, PackageTable};
use crate::definitions::Definitions;
use crate::facts::{
    ColumnFacts, Facts, SchemaOrigin, TableFacts, TableLocation, Writer, is_secret,
};
use crate::folder::{has_ending, is_yaml};
use crate::metricflow;
use crate::snapshot::Snapshot;
use crate::yaml::{mapping_with_duplicates, maps, text};

const FUEL: u64 = 10_000;

pub fn facts(snapshot: &Snapshot) -> Facts {
    let mut facts = read(snapshot).settled();
    facts.sort();
    facts
}

pub fn definitions(snapshot: &Snapshot) -> Definitions {
    let mut reader = read(snapshot);
    let references = std::mem::take(&mut reader.references);
    let generated = generated(snapshot);
    let definitions = metricflow::definitions::definitions(snapshot, &generated, |model| {
        let node = node_of(&text(model, "model")?)?;
        match (references.table_of(&node), &node) {
            (NodeTable::At(place), _) => Some(place.clone()),
            (NodeTable::Undescribed, DbtNode::Model(name)) => reader.undescribed(name),
            (NodeTable::NotInWarehouse, _) | (NodeTable::Undescribed, DbtNode::Source(..)) => None,
        }
    });
    Definitions {
        writer: Writer::Dbt,
        ..definitions
    }
}

fn generated(snapshot: &Snapshot) -> BTreeMap<String, Mapping> {
    let left_out: BTreeSet<&str> = snapshot
        .left_out
        .iter()
        .map(|left| left.path.as_str())
        .collect();
    snapshot.artifacts.items(|path| left_out.contains(path))
}

fn read(snapshot: &Snapshot) -> DbtReader<'_> {
    let models = Models::of(snapshot);
    // SQL yields no facts, so a skipped SQL file leaves them complete.
    let mut left_out = snapshot.left_out.iter();
    let mut reader = DbtReader {
        words: words(snapshot, &models),
        facts: Facts {
            is_complete: left_out.all(|left| has_ending(&left.path, &["sql"])),
            ..Facts::default()
        },
        models,
        artifacts: &snapshot.artifacts,
        references: References::default(),
        owners: GroupOwners::of(snapshot),
        exposures: Vec::new(),
        path: "",
        body: "",
    };
    for (path, text) in &snapshot.files {
        if !is_yaml(path) || PROJECT_FILES.contains(&path.as_str()) {
            continue;
        }
        (reader.path, reader.body) = (path, text);
        match mapping_with_duplicates(path, text) {
            Ok((map, doubled)) => {
                // A duplicate key loses nothing, so the facts stay complete.
                let told = doubled.iter();
                let told = told.map(|wrong| format!("{}: {}", wrong.place, wrong.what));
                reader.facts.warnings.extend(told);
                reader.file(&map);
            }
            Err(wrong) => reader.warn(&wrong.place, &wrong.what),
        }
    }
    reader.manifest();
    let generated = generated(snapshot);
    for map in generated.values() {
        reader.exposures.extend(ExposedNodes::all(map));
    }
    reader
}

fn words(snapshot: &Snapshot, models: &Models<'_>) -> Environment<'static> {
    let vars = models.vars();
    let mut docs = BTreeMap::new();
    for (path, body) in &snapshot.files {
        if has_ending(path, &["md"]) {
            for (name, text) in blocks(body) {
                docs.entry(name).or_insert(text);
            }
        }
    }
    let mut words = Environment::new();
    // Stops endless Jinja.
    words.set_fuel(Some(FUEL));
    words.set_undefined_behavior(UndefinedBehavior::Strict);
    let missing = |what: String| Error::new(ErrorKind::UndefinedError, what);
    words.add_function("doc", move |first: String, second: Option<String>| {
        let name = second.unwrap_or(first);
        docs.get(&name)
            .cloned()
            .ok_or_else(|| missing(format!("there is no doc block `{name}`")))
    });
    words.add_function(
        "var",
        move |name: String, default: Option<minijinja::Value>| {
            let default = default.filter(|value| !value.is_none() && !value.is_undefined());
            let default = default.map(|value| value.to_string());
            let value = vars.get(&name).cloned().or(default);
            value.ok_or_else(|| missing(format!("there is no variable `{name}`")))
        },
    );
    words.add_function("env_var", move |name: String, default: Option<String>| {
        default.ok_or_else(|| missing(format!("the environment variable `{name}` is not read")))
    });
    words
}

struct DbtReader<'a> {
    words: Environment<'static>,
    facts: Facts,
    models: Models<'a>,
    artifacts: &'a Artifacts,
    references: References,
    owners: GroupOwners,
    exposures: Vec<ExposedNodes>,
    path: &'a str,
    body: &'a str,
}

fn has_jinja(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

struct UnresolvedText;

impl DbtReader<'_> {
    fn file(&mut self, map: &Mapping) {
        for source in maps(map, "sources") {
            self.source(source);
        }
        for kind in ["models", "seeds", "snapshots"] {
            for model in maps(map, kind) {
                let Some(name) = text(model, "name") else {
                    continue;
                };
                let latest = latest(model, &name);
                for version in versions(model, &name) {
                    let place = self.relation(kind, &version.map, version.name.clone());
                    if latest.as_ref() == Some(&version.name) {
                        self.references
                            .place(DbtNode::Model(name.clone()), place.clone());
                    }
                    self.references
                        .place(DbtNode::Model(version.name.clone()), place.clone());
                    if let Some(place) = place {
                        let rendered = self.artifacts.model(&version.name);
                        let mut table = TableFacts::at(place);
                        table.tags = self.models.tags(kind, &version.name, self.path);
                        self.table(&version.map, table, rendered);
                    }
                }
            }
        }
        self.exposures.extend(ExposedNodes::all(map));
    }

    fn source(&mut self, source: &Mapping) {
        if self.is_off(source) {
            return;
        }
        let named = text(source, "name").unwrap_or_default();
        let database = text(source, "database").filter(|name| !name.contains("{{"));
        let origin = self.origin(source);
        let mut is_reported = false;
        for table in maps(source, "tables") {
            let own = text(table, "name").unwrap_or_default();
            let rendered = self.artifacts.source_table(&named, &own);
            let resolved = rendered.and_then(Node::place);
            let schema = resolved.as_ref().and_then(|place| place.schema.as_deref());
            if is_reported && schema.is_none() {
                continue;
            }
            let schema = match self.read_or(source, "schema", schema) {
                Ok(None) => self.read(source, "name"),
                found => found,
            };
            let Ok(schema) = schema else {
                is_reported = true;
                continue;
            };
            let name = resolved.as_ref().map(|place| place.name.as_str());
            let name = match self.read_or(table, "identifier", name) {
                Ok(None) => self.read(table, "name"),
                found => found,
            };
            if let Ok(Some(name)) = name
                && !self.is_off(table)
            {
                let place = TableLocation {
                    name,
                    schema,
                    database: database.clone(),
                    origin,
                };
                let node = DbtNode::Source(named.clone(), own);
                self.references.place(node, Some(place.clone()));
                let map = circumstances::inherited(source, table);
                self.table(&map, TableFacts::at(place), rendered);
            }
        }
    }

    /// A schema that only dbt can evaluate depends on its target.
    fn origin(&self, source: &Mapping) -> SchemaOrigin {
        let raw = text(source, "schema").unwrap_or_default();
        if has_jinja(&raw) && self.words.render_str(&raw, ()).is_err() {
            SchemaOrigin::Target
        } else {
            SchemaOrigin::Named
        }
    }

    fn manifest(&mut self) {
        let Some(manifest) = self.artifacts.manifest.as_deref() else {
            return;
        };
        for PackageTable { node, place, map } in self.artifacts.of_packages() {
            if let Some((source, table)) = node.source() {
                let node = DbtNode::Source(source.to_owned(), table.to_owned());
                self.references.place(node, place.clone());
            }
            for name in node.references() {
                self.references.place(DbtNode::Model(name), place.clone());
            }
            if let Some(place) = place {
                (self.path, self.body) = (manifest, "");
                self.table(&map, TableFacts::at(place), None);
            }
        }
        if self.artifacts.strange > 0 {
            let what = format!(
                "ktx does not know the form of {} and left them out",
                counted(self.artifacts.strange, "node")
            );
            self.warn(manifest, &what);
        }
        let unknown = self.artifacts.unknown(self.models.files());
        if let Some(first) = unknown.first() {
            let what = format!(
                "{manifest}: it is older than the project: it does not have {} (`{first}`); run `dbt parse`",
                counted(unknown.len(), "model")
            );
            self.facts.warnings.push(what);
        }
    }

    fn is_off(&mut self, map: &Mapping) -> bool {
        let config = map.get("config").and_then(Value::as_mapping);
        let off = |found: Option<String>| found.is_some_and(|text| is_false(&text));
        let in_config = config.and_then(|config| self.text(config, "enabled"));
        off(in_config.or_else(|| self.text(map, "enabled")))
    }

    /// Returns `None` if the model is disabled or dbt computes its name.
    fn relation(&mut self, kind: &str, model: &Mapping, name: String) -> Option<TableLocation> {
        match self.artifacts.relation(&name) {
            Some(NodeRelation::At(place)) => Some(place),
            Some(NodeRelation::NotBuilt) => None,
            None => self.named(kind, model, name).map(|name| TableLocation {
                name,
                ..TableLocation::default()
            }),
        }
    }

    fn named(&mut self, kind: &str, model: &Mapping, name: String) -> Option<String> {
        let in_sql = |reader: &Self, key: &str| reader.models.in_sql(&name, key);
        let is_off = match in_sql(self, "enabled") {
            Some(ConfigValue::Plain(text)) => is_false(&text),
            Some(ConfigValue::Computed) => false,
            None => self.is_off(model) || self.models.is_off(kind, &name, self.path),
        };
        let config = model.get("config").and_then(Value::as_mapping);
        let materialized = match in_sql(self, "materialized") {
            Some(ConfigValue::Plain(text)) => Some(text),
            Some(ConfigValue::Computed) => None,
            None => config
                .and_then(|config| text(config, "materialized"))
                .or_else(|| self.models.set(kind, &name, self.path, "materialized")),
        };
        if is_off || materialized.as_deref() == Some("ephemeral") {
            return None;
        }
        match in_sql(self, "alias") {
            Some(ConfigValue::Plain(alias)) => return Some(alias),
            Some(ConfigValue::Computed) => {
                let what = format!("`{name}` was left out: its SQL computes its alias");
                self.warn(self.path, &what);
                return None;
            }
            None => {}
        }
        let alias = match config.map(|config| self.read(config, "alias")) {
            Some(Ok(Some(alias))) => Ok(Some(alias)),
            Some(Err(unclear)) => Err(unclear),
            Some(Ok(None)) | None => self.read(model, "alias"),
        };
        Some(alias.ok()?.unwrap_or(name))
    }

    fn table(&mut self, map: &Mapping, mut table: TableFacts, rendered: Option<&Node>) {
        let told = rendered.and_then(|node| node.description.as_deref());
        table.description = self.text_or(map, "description", told);
        circumstances::add(&mut table, map, &self.owners);
        let defaults = self.models.checks(self.path);
        for column in maps(map, "columns") {
            let column = self.column(column, &table.place(), &defaults, rendered);
            table
                .columns
                .extend(column.filter(|column| !column.is_empty()));
        }
        if table.schema.is_some() || !table.is_empty() {
            self.facts.add(table, self.path);
        }
    }

    fn column(
        &mut self,
        map: &Mapping,
        table: &TableLocation,
        defaults: &Mapping,
        rendered: Option<&Node>,
    ) -> Option<ColumnFacts> {
        let name = self.text(map, "name")?;
        let told = rendered.and_then(|node| node.column(&name));
        let mut column = ColumnFacts {
            description: self.text_or(map, "description", told),
            name,
            ..ColumnFacts::default()
        };
        for (check, arguments) in checks::of(map) {
            if !checks::is_fact(arguments, defaults) {
                continue;
            }
            match check.as_str() {
                "not_null" => column.is_not_null = true,
                "unique" => column.is_unique = true,
                "accepted_values" => {
                    let values = arguments.and_then(checks::accepted);
                    column.accepted = column.accepted.or(values);
                }
                "relationships" => {
                    let arguments = arguments.unwrap_or(defaults);
                    self.references
                        .test(table, &column.name, arguments, self.path);
                }
                _ => {}
            }
        }
        Some(column)
    }

    fn settled(mut self) -> Facts {
        let references = std::mem::take(&mut self.references);
        let mut facts = std::mem::take(&mut self.facts);
        for exposed in std::mem::take(&mut self.exposures) {
            for node in &exposed.nodes {
                let place = match (references.located(node), node) {
                    (Some(place), _) => Some(place.clone()),
                    (None, DbtNode::Model(name)) => self.undescribed(name),
                    (None, DbtNode::Source(..)) => None,
                };
                let table = place.map(|place| TableFacts {
                    exposures: vec![exposed.exposure.clone()],
                    ..TableFacts::at(place)
                });
                if let Some(table) = table {
                    facts.add(table, self.path);
                }
            }
        }
        // A model that only SQL describes may have another name in the warehouse. No YAML asked
        // about it, so its warnings are dropped.
        references.settle(&mut facts, |name| self.undescribed(name));
        facts
    }

    fn undescribed(&mut self, name: &str) -> Option<TableLocation> {
        self.relation("models", &Mapping::new(), name.to_owned())
    }

    fn text(&mut self, map: &Mapping, key: &str) -> Option<String> {
        self.read(map, key).ok().flatten()
    }

    /// Like [`Self::text`], but falls back to dbt's own rendering.
    fn text_or(&mut self, map: &Mapping, key: &str, rendered: Option<&str>) -> Option<String> {
        self.read_or(map, key, rendered).ok().flatten()
    }

    fn read(&mut self, map: &Mapping, key: &str) -> Result<Option<String>, UnresolvedText> {
        self.read_or(map, key, None)
    }

    fn read_or(
        &mut self,
        map: &Mapping,
        key: &str,
        rendered: Option<&str>,
    ) -> Result<Option<String>, UnresolvedText> {
        let Some(raw) = text(map, key) else {
            return Ok(None);
        };
        let shown = if has_jinja(&raw) {
            match (self.words.render_str(&raw, ()), rendered) {
                (Ok(shown), _) => shown,
                (Err(_), Some(rendered)) => rendered.to_owned(),
                (Err(error), None) => {
                    let why = error
                        .detail()
                        .map_or_else(|| error.kind().to_string(), str::to_owned);
                    let place = self.place(&raw);
                    self.warn(&place, &format!("`{key}` was left out: {why}"));
                    return Err(UnresolvedText);
                }
            }
        } else {
            raw
        };
        let shown = shown.trim();
        // Names may look like secrets, so only descriptions are checked.
        if key == "description" && is_secret(shown) {
            let told = format!(
                "{}: a `{key}` that looks like a password or key was left out",
                self.path
            );
            // The facts stay complete, so that an earlier copy of this text is removed.
            self.facts.warnings.push(told);
            return Err(UnresolvedText);
        }
        Ok((!shown.is_empty()).then(|| shown.to_owned()))
    }

    fn place(&self, raw: &str) -> String {
        let begin = raw.find('{').and_then(|at| raw.get(at..));
        let tag = begin.and_then(|begin| begin.split_inclusive('}').next());
        let line = tag.and_then(|tag| {
            let (before, _) = self.body.split_once(tag)?;
            let column = before.rsplit('\n').next().unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Some((line, column.chars().count() + 1))
        });
        match line {
            Some((line, column)) => format!("{}:{line}:{column}", self.path),
            None => self.path.to_owned(),
        }
    }

    fn warn(&mut self, place: &str, what: &str) {
        self.facts.is_complete = false;
        self.facts.warnings.push(format!("{place}: {what}"));
    }
}
