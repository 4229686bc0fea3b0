//! What the YAML of a dbt project says about tables and columns.

use std::collections::BTreeMap;

use ktx_secrets::Redactor;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde_yaml::{Mapping, Value};

use super::yaml::{mapping, maps, plain, text};
use super::{PROJECT_FILES, has_ending, is_yaml, project_of};
use crate::facts::{ColumnFacts, Facts, TableFacts};
use crate::snapshot::Snapshot;

/// What the metadata says about tables, without a model. A file that cannot be understood is a warning, and
/// the others count.
pub fn facts(snapshot: &Snapshot) -> Facts {
    let mut reader = Reader {
        words: words(snapshot),
        facts: Facts {
            is_complete: snapshot.left_out.is_empty(),
            ..Facts::default()
        },
        path: "",
    };
    for (path, text) in &snapshot.files {
        if !is_yaml(path) || PROJECT_FILES.contains(&path.as_str()) {
            continue;
        }
        reader.path = path;
        match mapping(path, text) {
            Ok(map) => reader.file(&map),
            Err(wrong) => {
                reader.facts.is_complete = false;
                reader
                    .facts
                    .warnings
                    .push(format!("{}: {}", wrong.place, wrong.what));
            }
        }
    }
    let mut facts = reader.facts;
    let place = |table: &TableFacts| (table.name.to_lowercase(), table.schema.clone());
    facts.tables.sort_by_key(place);
    facts
}

/// Everything that Jinja in a text may ask for.
fn words(snapshot: &Snapshot) -> Environment<'static> {
    let vars = project_of(&snapshot.files).map(|(_, project)| project.vars);
    let vars = vars.unwrap_or_default();
    let mut docs = BTreeMap::new();
    for (path, body) in &snapshot.files {
        if has_ending(path, &["md"]) {
            doc_blocks(body, &mut docs);
        }
    }
    let mut words = Environment::new();
    words.set_undefined_behavior(UndefinedBehavior::Strict);
    let missing = |what: String| Error::new(ErrorKind::UndefinedError, what);
    words.add_function("doc", move |first: String, second: Option<String>| {
        // With two arguments the first one is the package.
        let name = second.unwrap_or(first);
        docs.get(&name)
            .cloned()
            .ok_or_else(|| missing(format!("there is no doc block `{name}`")))
    });
    words.add_function("var", move |name: String, default: Option<String>| {
        let value = vars.get(&name).cloned().or(default);
        value.ok_or_else(|| missing(format!("there is no variable `{name}`")))
    });
    words.add_function("env_var", move |name: String, default: Option<String>| {
        default.ok_or_else(|| missing(format!("the environment variable `{name}` is not read")))
    });
    words
}

/// The doc blocks of a Markdown file, by name.
fn doc_blocks(body: &str, into: &mut BTreeMap<String, String>) {
    let mut rest = body;
    while let Some((_, behind)) = rest.split_once("{%") {
        let Some((tag, after)) = behind.split_once("%}") else {
            return;
        };
        rest = after;
        let tag = tag.trim_matches(|letter: char| letter == '-' || letter.is_whitespace());
        let Some(name) = tag.strip_prefix("docs ") else {
            continue;
        };
        let Some((text, _)) = after.split_once("{%") else {
            return;
        };
        into.entry(name.trim().to_owned())
            .or_insert_with(|| text.trim().to_owned());
    }
}

struct Reader<'a> {
    words: Environment<'static>,
    facts: Facts,
    path: &'a str,
}

impl Reader<'_> {
    fn file(&mut self, map: &Mapping) {
        for source in maps(map, "sources") {
            let schema = self
                .text(source, "schema")
                .or_else(|| self.text(source, "name"));
            for table in maps(source, "tables") {
                let name = self
                    .text(table, "identifier")
                    .or_else(|| self.text(table, "name"));
                self.table(table, name, schema.clone());
            }
        }
        for kind in ["models", "seeds", "snapshots"] {
            for model in maps(map, kind) {
                let config = model.get("config").and_then(Value::as_mapping);
                let alias = config.and_then(|config| self.text(config, "alias"));
                let alias = alias.or_else(|| self.text(model, "alias"));
                let name = alias.or_else(|| self.text(model, "name"));
                // The schema of a model depends on the target that dbt runs with.
                self.table(model, name, None);
            }
        }
    }

    fn table(&mut self, map: &Mapping, name: Option<String>, schema: Option<String>) {
        let Some(name) = name else { return };
        let mut table = TableFacts {
            description: self.text(map, "description"),
            columns: Vec::new(),
            name,
            schema,
        };
        for column in maps(map, "columns") {
            let column = self.column(column);
            table
                .columns
                .extend(column.filter(|column| !column.is_empty()));
        }
        if !table.is_empty() {
            self.add(table);
        }
    }

    fn column(&mut self, map: &Mapping) -> Option<ColumnFacts> {
        let mut column = ColumnFacts {
            name: self.text(map, "name")?,
            description: self.text(map, "description"),
            ..ColumnFacts::default()
        };
        let tests = ["data_tests", "tests"].into_iter();
        let tests = tests.filter_map(|key| map.get(key)?.as_sequence());
        for test in tests.flatten() {
            let (name, arguments) = match test {
                Value::Mapping(test) => match test.iter().next() {
                    Some((name, arguments)) => (plain(name), arguments.as_mapping()),
                    None => continue,
                },
                test => (plain(test), None),
            };
            match name.as_deref() {
                Some("not_null" | "dbt.not_null") if is_plain(arguments) => {
                    column.is_not_null = true;
                }
                Some("unique" | "dbt.unique") if is_plain(arguments) => column.is_unique = true,
                Some("accepted_values" | "dbt.accepted_values") if is_plain(arguments) => {
                    column.accepted = column.accepted.or_else(|| accepted(arguments?));
                }
                _ => {}
            }
        }
        Some(column)
    }

    /// A text with its Jinja written out; an empty one says nothing.
    fn text(&mut self, map: &Mapping, key: &str) -> Option<String> {
        let raw = text(map, key)?;
        let shown = if raw.contains("{{") || raw.contains("{%") {
            match self.words.render_str(&raw, ()) {
                Ok(shown) => shown,
                Err(error) => {
                    let why = error
                        .detail()
                        .map_or_else(|| error.to_string(), str::to_owned);
                    self.facts.is_complete = false;
                    self.facts
                        .warnings
                        .push(format!("{}: `{key}` was left out: {why}", self.path));
                    return None;
                }
            }
        } else {
            raw
        };
        let shown = shown.trim();
        if Redactor::new().redact(shown) != shown {
            let told = format!(
                "{}: a `{key}` that looks like a password or key was left out",
                self.path
            );
            self.facts.warnings.push(told);
            return None;
        }
        (!shown.is_empty()).then(|| shown.to_owned())
    }

    /// Adds what is said to what was said of the same table before; the first text counts.
    fn add(&mut self, table: TableFacts) {
        let same = |known: &&mut TableFacts| {
            known.schema == table.schema && known.name.eq_ignore_ascii_case(&table.name)
        };
        let Some(known) = self.facts.tables.iter_mut().find(same) else {
            self.facts.tables.push(table);
            return;
        };
        let mut differing = Vec::new();
        if !agrees(&mut known.description, table.description) {
            differing.push(known.name.clone());
        }
        for column in table.columns {
            let same = |known: &&mut ColumnFacts| known.name.eq_ignore_ascii_case(&column.name);
            match known.columns.iter_mut().find(same) {
                None => known.columns.push(column),
                Some(own) => {
                    own.is_not_null |= column.is_not_null;
                    own.is_unique |= column.is_unique;
                    own.accepted = own.accepted.take().or(column.accepted);
                    if !agrees(&mut own.description, column.description) {
                        differing.push(format!("{}.{}", known.name, own.name));
                    }
                }
            }
        }
        for name in differing {
            let path = self.path;
            let told =
                format!("{path}: another file describes `{name}` already, and that text counts");
            self.facts.warnings.push(told);
        }
    }
}

/// Takes a text over where there is none; whether no other one was lost.
fn agrees(known: &mut Option<String>, text: Option<String>) -> bool {
    match (&known, text) {
        (_, None) => true,
        (None, text) => {
            *known = text;
            true
        }
        (Some(known), Some(text)) => *known == text,
    }
}

/// Whether a test is about all rows and fails the build: a condition or a warning makes it less than a fact.
fn is_plain(arguments: Option<&Mapping>) -> bool {
    let Some(arguments) = arguments else {
        return true;
    };
    let config = arguments.get("config").and_then(Value::as_mapping);
    let is_weak = |map: &Mapping| {
        let is_off = map.get("enabled") == Some(&Value::Bool(false));
        let is_warning =
            text(map, "severity").is_some_and(|level| level.eq_ignore_ascii_case("warn"));
        is_off || is_warning || map.contains_key("where")
    };
    !is_weak(arguments) && !config.is_some_and(is_weak)
}

/// The values of `accepted_values`, as they are spelled.
fn accepted(arguments: &Mapping) -> Option<Vec<String>> {
    let inner = arguments.get("arguments").and_then(Value::as_mapping);
    let values = inner.and_then(|inner| inner.get("values"));
    let values = values.or_else(|| arguments.get("values"))?.as_sequence()?;
    values.iter().map(plain).collect()
}
