//! Reads facts about tables and columns from the YAML of a dbt project.

use std::collections::BTreeMap;

use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde_yaml::{Mapping, Value};

use super::PROJECT_FILES;
use super::checks;
use super::docs::blocks;
use super::models::{Models, is_false, latest, versions};
use super::references::{Node, NodeTable, References, node_of};
use super::sql::Given;
use crate::definitions::Definitions;
use crate::facts::{ColumnFacts, Facts, Place, TableFacts, Writer, is_secret};
use crate::folder::{has_ending, is_yaml};
use crate::metricflow;
use crate::snapshot::Snapshot;
use crate::yaml::{maps, text, told_mapping};

/// Maximum steps of the Jinja in one text.
const FUEL: u64 = 10_000;

/// Returns the facts about tables, without a model. A file that cannot be parsed becomes a warning;
/// the others still count.
pub fn facts(snapshot: &Snapshot) -> Facts {
    let mut facts = read(snapshot).settled();
    facts.sort();
    facts
}

/// Returns what the semantic models and metrics of a project define, without a model.
pub fn definitions(snapshot: &Snapshot) -> Definitions {
    let mut reader = read(snapshot);
    let references = std::mem::take(&mut reader.references);
    let definitions = metricflow::definitions::definitions(snapshot, |model| {
        let node = node_of(&text(model, "model")?)?;
        match (references.known(&node), &node) {
            (NodeTable::At(place), _) => Some(place.clone()),
            (NodeTable::Undescribed, Node::Model(name)) => reader.undescribed(name),
            (NodeTable::NotInWarehouse, _) | (NodeTable::Undescribed, Node::Source(..)) => None,
        }
    });
    Definitions {
        writer: Writer::Dbt,
        ..definitions
    }
}

fn read(snapshot: &Snapshot) -> Reader<'_> {
    let models = Models::of(snapshot);
    // SQL yields no facts, so a skipped SQL file leaves them complete.
    let mut left_out = snapshot.left_out.iter();
    let mut reader = Reader {
        words: words(snapshot, &models),
        facts: Facts {
            is_complete: left_out.all(|left| has_ending(&left.path, &["sql"])),
            ..Facts::default()
        },
        models,
        references: References::default(),
        path: "",
        body: "",
    };
    for (path, text) in &snapshot.files {
        if !is_yaml(path) || PROJECT_FILES.contains(&path.as_str()) {
            continue;
        }
        (reader.path, reader.body) = (path, text);
        match told_mapping(path, text) {
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
    // An endless text would block all others.
    words.set_fuel(Some(FUEL));
    words.set_undefined_behavior(UndefinedBehavior::Strict);
    let missing = |what: String| Error::new(ErrorKind::UndefinedError, what);
    words.add_function("doc", move |first: String, second: Option<String>| {
        // With two arguments, the first is the package.
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

struct Reader<'a> {
    words: Environment<'static>,
    facts: Facts,
    models: Models<'a>,
    references: References,
    path: &'a str,
    body: &'a str,
}

/// A text that only dbt can evaluate. The warning has already been reported.
struct Unclear;

impl Reader<'_> {
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
                    // The schema of a model depends on the target that dbt runs with.
                    let relation = self.relation(kind, &version.map, version.name.clone());
                    let table = relation.map(|name| TableFacts {
                        name,
                        ..TableFacts::default()
                    });
                    let place = table.as_ref().map(TableFacts::place);
                    if latest.as_ref() == Some(&version.name) {
                        self.references
                            .place(Node::Model(name.clone()), place.clone());
                    }
                    self.references.place(Node::Model(version.name), place);
                    if let Some(table) = table {
                        self.table(&version.map, table);
                    }
                }
            }
        }
    }

    fn source(&mut self, source: &Mapping) {
        if self.is_off(source) {
            return;
        }
        let schema = match self.read(source, "schema") {
            Ok(None) => self.read(source, "name"),
            found => found,
        };
        let Ok(schema) = schema else { return };
        let named = text(source, "name").unwrap_or_default();
        let database = text(source, "database").filter(|name| !name.contains("{{"));
        for table in maps(source, "tables") {
            let name = match self.read(table, "identifier") {
                Ok(None) => self.read(table, "name"),
                found => found,
            };
            if let Ok(Some(name)) = name
                && !self.is_off(table)
            {
                let place = TableFacts {
                    name,
                    schema: schema.clone(),
                    database: database.clone(),
                    ..TableFacts::default()
                };
                let node = Node::Source(named.clone(), text(table, "name").unwrap_or_default());
                self.references.place(node, Some(place.place()));
                self.table(table, place);
            }
        }
    }

    fn is_off(&mut self, map: &Mapping) -> bool {
        let config = map.get("config").and_then(Value::as_mapping);
        let off = |found: Option<String>| found.is_some_and(|text| is_false(&text));
        let in_config = config.and_then(|config| self.text(config, "enabled"));
        off(in_config.or_else(|| self.text(map, "enabled")))
    }

    /// Returns the warehouse name of a model; `None` if it is disabled or dbt computes its name.
    fn relation(&mut self, kind: &str, model: &Mapping, name: String) -> Option<String> {
        let in_sql = |reader: &Self, key: &str| reader.models.in_sql(&name, key);
        let is_off = match in_sql(self, "enabled") {
            Some(Given::Plain(text)) => is_false(&text),
            Some(Given::Computed) => false,
            None => self.is_off(model) || self.models.is_off(kind, &name, self.path),
        };
        let config = model.get("config").and_then(Value::as_mapping);
        let materialized = match in_sql(self, "materialized") {
            Some(Given::Plain(text)) => Some(text),
            Some(Given::Computed) => None,
            None => config
                .and_then(|config| text(config, "materialized"))
                .or_else(|| self.models.set(kind, &name, self.path, "materialized")),
        };
        if is_off || materialized.as_deref() == Some("ephemeral") {
            return None;
        }
        match in_sql(self, "alias") {
            Some(Given::Plain(alias)) => return Some(alias),
            Some(Given::Computed) => {
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

    fn table(&mut self, map: &Mapping, mut table: TableFacts) {
        table.description = self.text(map, "description");
        let defaults = self.models.checks(self.path);
        for column in maps(map, "columns") {
            let column = self.column(column, &table.place(), &defaults);
            table
                .columns
                .extend(column.filter(|column| !column.is_empty()));
        }
        if table.schema.is_some() || !table.is_empty() {
            self.facts.add(table, self.path);
        }
    }

    fn column(&mut self, map: &Mapping, table: &Place, defaults: &Mapping) -> Option<ColumnFacts> {
        let mut column = ColumnFacts {
            name: self.text(map, "name")?,
            description: self.text(map, "description"),
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
        // A model that only SQL describes may have another name in the warehouse. Its warnings are
        // dropped: no YAML asked about it.
        references.settle(&mut facts, |name| self.undescribed(name));
        facts
    }

    /// Returns the table of a model that only SQL describes.
    fn undescribed(&mut self, name: &str) -> Option<Place> {
        let relation = self.relation("models", &Mapping::new(), name.to_owned());
        relation.map(|name| Place {
            name,
            schema: None,
            database: None,
        })
    }

    /// Returns a text with its Jinja rendered; `None` if it is empty.
    fn text(&mut self, map: &Mapping, key: &str) -> Option<String> {
        self.read(map, key).ok().flatten()
    }

    fn read(&mut self, map: &Mapping, key: &str) -> Result<Option<String>, Unclear> {
        let Some(raw) = text(map, key) else {
            return Ok(None);
        };
        let shown = if raw.contains("{{") || raw.contains("{%") {
            match self.words.render_str(&raw, ()) {
                Ok(shown) => shown,
                Err(error) => {
                    let why = error
                        .detail()
                        .map_or_else(|| error.kind().to_string(), str::to_owned);
                    let place = self.place(&raw);
                    self.warn(&place, &format!("`{key}` was left out: {why}"));
                    return Err(Unclear);
                }
            }
        } else {
            raw
        };
        let shown = shown.trim();
        // Only descriptions are checked: names may look like secrets.
        if key == "description" && is_secret(shown) {
            let told = format!(
                "{}: a `{key}` that looks like a password or key was left out",
                self.path
            );
            // The facts stay complete, so that an earlier copy of this text is removed.
            self.facts.warnings.push(told);
            return Err(Unclear);
        }
        Ok((!shown.is_empty()).then(|| shown.to_owned()))
    }

    /// Returns the position of the first Jinja of a text in the file.
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

    /// Reports a fact that was skipped, and marks the facts incomplete.
    fn warn(&mut self, place: &str, what: &str) {
        self.facts.is_complete = false;
        self.facts.warnings.push(format!("{place}: {what}"));
    }
}
