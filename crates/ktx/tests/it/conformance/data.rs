//! The public cases, and their rows as SQL.
#![expect(clippy::panic, reason = "a helper that fails fails its test")]

use std::path::PathBuf;

use serde_json::Value;

fn fixtures() -> PathBuf {
    let place =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/semantic-layer-cases");
    place.canonicalize().expect("the cases are there")
}

fn json(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(path).expect("a file of the cases");
    serde_json::from_str(&text).expect("JSON")
}

pub(super) fn cases() -> Vec<Value> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(fixtures().join("cases"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut cases: Vec<Value> = files
        .into_iter()
        .flat_map(|file| json(file).as_array().expect("a list").clone())
        .collect();
    cases.sort_by_key(|case| case["model"].as_str().map(str::to_owned));
    cases
}

pub(super) fn sources_of(model: &str) -> PathBuf {
    fixtures().join("models").join(model).join("sources")
}

pub(super) struct Model {
    tables: Value,
}

/// An engine's names for the five types.
pub(super) struct Types {
    pub(super) quote: char,
    pub(super) int: &'static str,
    pub(super) float: &'static str,
    pub(super) text: &'static str,
    pub(super) bool: &'static str,
    pub(super) date: &'static str,
    pub(super) timestamp: &'static str,
}

impl Model {
    pub(super) fn read(model: &str) -> Self {
        let path = fixtures().join("models").join(model).join("data.json");
        Self {
            tables: json(path)["tables"].clone(),
        }
    }

    pub(super) fn statements(&self, types: &Types) -> Vec<String> {
        let quote = types.quote;
        let quoted = |name: &str| format!("{quote}{name}{quote}");
        let mut statements = Vec::new();
        for (name, table) in self.tables.as_object().expect("tables") {
            let name = quoted(name);
            let columns: Vec<String> = list(&table["columns"])
                .iter()
                .map(|column| {
                    let name = column[0].as_str().expect("a name");
                    let kind = match column[1].as_str().expect("a type") {
                        "int" => types.int,
                        "float" => types.float,
                        "text" => types.text,
                        "bool" => types.bool,
                        "date" => types.date,
                        "timestamp" => types.timestamp,
                        other => panic!("no type {other}"),
                    };
                    format!("{} {kind}", quoted(name))
                })
                .collect();
            statements.push(format!("DROP TABLE IF EXISTS {name}"));
            statements.push(format!("CREATE TABLE {name} ({})", columns.join(", ")));
            let rows: Vec<String> = list(&table["rows"])
                .iter()
                .map(|row| {
                    let cells: Vec<String> = list(row).iter().map(literal).collect();
                    format!("({})", cells.join(", "))
                })
                .collect();
            if !rows.is_empty() {
                statements.push(format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
            }
        }
        statements
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(true) => "TRUE".to_owned(),
        Value::Bool(false) => "FALSE".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => panic!("no cell: {other}"),
    }
}
