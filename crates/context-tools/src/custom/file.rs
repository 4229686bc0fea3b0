//! Parses the file of a tool and locates its problems.

use std::collections::BTreeSet;

use ktx_config::yaml::{LoadedYaml, YamlPositions, load};
use ktx_diagnostics::{Code, Diagnostic, Diagnostics, Severity, nearest};
use ktx_read_only_sql::parameter_names;
use ktx_sql::Dialect;
use serde_json::{Map, Value};

use super::{Body, CustomTool, Parameter, ParameterKind};

const KEYS: [&str; 8] = [
    "name",
    "title",
    "description",
    "connection",
    "parameters",
    "sql",
    "query",
    "max_rows",
];

const PARAMETER_KEYS: [&str; 5] = ["name", "type", "description", "default", "values"];

const LONGEST_NAME: usize = 64;

pub fn parse_tool(file: &str, bytes: &[u8]) -> Result<CustomTool, Diagnostics> {
    let LoadedYaml { value, places } = load(bytes, file)?;
    let mut read = FileReader {
        places: &places,
        found: Vec::new(),
    };
    let tool = read.tool(file, &value);
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    match tool {
        Some(tool) if !read.found.iter().any(is_error) => Ok(tool),
        _ => Err(Diagnostics(read.found)),
    }
}

struct FileReader<'a> {
    places: &'a YamlPositions,
    found: Vec<Diagnostic>,
}

impl FileReader<'_> {
    fn wrong(&mut self, path: &[&str], message: String, hint: &str) {
        let error = Diagnostic::error(Code::InvalidTool, message).at(self.places.value(path));
        self.found.push(if hint.is_empty() {
            error
        } else {
            error.hint(hint)
        });
    }

    fn keys(&mut self, path: &[&str], object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = match nearest(key, known.iter().copied()).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of: {}", known.join(", ")),
            };
            let mut place = path.to_vec();
            place.push(key);
            let error =
                Diagnostic::error(Code::InvalidTool, format!("`{key}` is not a key of a tool"));
            self.found
                .push(error.at(self.places.key(&place)).hint(hint));
        }
    }

    fn text(&mut self, path: &[&str], object: &Map<String, Value>, key: &str) -> String {
        match object.get(key).and_then(Value::as_str).map(str::trim) {
            Some(text) if !text.is_empty() => text.to_owned(),
            _ => {
                let mut place = path.to_vec();
                place.push(key);
                self.wrong(&place, format!("`{key}` must be a text"), "");
                String::new()
            }
        }
    }

    fn tool(&mut self, file: &str, value: &Value) -> Option<CustomTool> {
        let Some(object) = value.as_object() else {
            self.wrong(
                &[],
                "the file must hold an object".to_owned(),
                "write `name`, `description` and `sql` or `query`",
            );
            return None;
        };
        self.keys(&[], object, &KEYS);
        let name = self.text(&[], object, "name");
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase());
        if !name.is_empty()
            && (!begins || !name.chars().all(is_letter) || name.len() > LONGEST_NAME)
        {
            self.wrong(
                &["name"],
                format!("`{name}` is not a valid name of a tool"),
                "write lower-case letters, digits and `_`, 64 at most, a letter first",
            );
        }
        let description = self.text(&[], object, "description");
        let parameters = self.parameters(object.get("parameters"));
        let (key, body) = self.body(object)?;
        self.check_names(key, &body, &parameters);
        let max_rows = object.get("max_rows").filter(|value| !value.is_null());
        let rows = max_rows
            .and_then(Value::as_u64)
            .filter(|rows| (1..=10_000).contains(rows));
        if max_rows.is_some() && rows.is_none() {
            self.wrong(
                &["max_rows"],
                "`max_rows` must be a whole number from 1 to 10000".to_owned(),
                "",
            );
        }
        let optional = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(CustomTool {
            title: optional("title").unwrap_or_else(|| name.clone()),
            name,
            description,
            file: file.to_owned(),
            connection: optional("connection"),
            parameters,
            body,
            max_rows: rows.and_then(|rows| usize::try_from(rows).ok()),
            place: self.places.value(&[key]),
        })
    }

    fn body(&mut self, object: &Map<String, Value>) -> Option<(&'static str, Body)> {
        match (object.get("sql"), object.get("query")) {
            (Some(Value::String(sql)), None) => Some(("sql", Body::Sql(sql.clone()))),
            (None, Some(Value::Object(query))) => Some(("query", Body::Query(query.clone()))),
            (Some(_), Some(_)) => {
                self.wrong(
                    &["query"],
                    "the tool has both `sql` and `query`".to_owned(),
                    "keep one of the two",
                );
                None
            }
            (None, None) => {
                self.wrong(
                    &[],
                    "the tool has neither `sql` nor `query`".to_owned(),
                    "add one of the two",
                );
                None
            }
            (Some(_), None) => {
                self.wrong(&["sql"], "`sql` must be a text".to_owned(), "");
                None
            }
            (None, Some(_)) => {
                self.wrong(
                    &["query"],
                    "`query` must be an object".to_owned(),
                    "write the arguments of `sl_query`",
                );
                None
            }
        }
    }

    fn parameters(&mut self, value: Option<&Value>) -> Vec<Parameter> {
        let items = match value {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.wrong(
                    &["parameters"],
                    "`parameters` must be a list".to_owned(),
                    "",
                );
                return Vec::new();
            }
        };
        let mut found: Vec<Parameter> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let index = index.to_string();
            let path = ["parameters", index.as_str()];
            let Some(object) = item.as_object() else {
                self.wrong(
                    &path,
                    "a parameter must be an object".to_owned(),
                    "write `name`, `type` and `description`",
                );
                continue;
            };
            if let Some(parameter) = self.parameter(&path, object) {
                if found.iter().any(|other| other.name == parameter.name) {
                    self.wrong(
                        &path,
                        format!("the parameter `{}` is there twice", parameter.name),
                        "remove one of the two",
                    );
                }
                found.push(parameter);
            }
        }
        found
    }

    fn parameter(&mut self, path: &[&str], object: &Map<String, Value>) -> Option<Parameter> {
        self.keys(path, object, &PARAMETER_KEYS);
        let name = self.text(path, object, "name");
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        let taken = ["cursor", "format", "maxTokens"].contains(&name.as_str());
        if !name.is_empty() && (taken || !begins || !name.chars().all(is_letter)) {
            let hint = if taken {
                "every tool has this argument: take another name"
            } else {
                "write letters, digits and `_`"
            };
            self.wrong(
                path,
                format!("`{name}` is not a valid name of a parameter"),
                hint,
            );
        }
        let description = self.text(path, object, "description");
        let kind = self.text(path, object, "type");
        let Some(kind) = ParameterKind::parse(&kind) else {
            let known = ParameterKind::ALL.map(ParameterKind::as_str).join(", ");
            let mut place = path.to_vec();
            place.push("type");
            self.wrong(
                &place,
                format!("`{kind}` is not a type of a parameter"),
                &format!("use one of: {known}"),
            );
            return None;
        };
        let values = object
            .get("values")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let default = object.get("default").cloned();
        for (key, value) in values
            .iter()
            .map(|value| ("values", value))
            .chain(default.iter().map(|value| ("default", value)))
        {
            let is_null = value.is_null() && key == "default";
            if !is_null && kind.value(value).is_none() {
                let mut place = path.to_vec();
                place.push(key);
                self.wrong(
                    &place,
                    format!("`{value}` does not have the type `{}`", kind.as_str()),
                    "",
                );
            }
        }
        Some(Parameter {
            name,
            kind,
            description,
            default,
            values,
        })
    }

    fn check_names(&mut self, key: &str, body: &Body, parameters: &[Parameter]) {
        let mut used = BTreeSet::new();
        match body {
            Body::Sql(sql) => collect(&Value::String(sql.clone()), &mut used),
            Body::Query(query) => query.values().for_each(|value| collect(value, &mut used)),
        }
        for name in &used {
            if !parameters.iter().any(|parameter| parameter.name == *name) {
                let names = parameters.iter().map(|parameter| parameter.name.as_str());
                let hint = match nearest(name, names).first() {
                    Some(near) => format!("did you mean `:{near}`?"),
                    None => format!("add `{name}` to `parameters`"),
                };
                self.wrong(&[key], format!("the tool has no parameter `{name}`"), &hint);
            }
        }
        for (index, parameter) in parameters.iter().enumerate() {
            if !used.contains(&parameter.name) {
                let index = index.to_string();
                let message = format!("the parameter `{}` is not used", parameter.name);
                let hint = format!("write `:{}` where its value belongs", parameter.name);
                self.wrong(&["parameters", &index], message, &hint);
            }
        }
    }
}

fn collect(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        // The gate reports an unterminated text.
        Value::String(text) => {
            used.extend(parameter_names(text, Dialect::Postgres).unwrap_or_default());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, used)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, used)),
        _ => {}
    }
}
