//! Fields from the command line.

use std::io::{IsTerminal as _, Read as _};

use ktx_config::{Driver, FieldKind, field_kind, field_names};
use ktx_diagnostics::{Code, Failure};
use ktx_secrets::Secret;
use serde_json::{Map, Value};

use super::StoredSecret;
use crate::cli::ConnectionSettings;
use crate::connections::mask::{holds_secret, is_reference, kind_of, mask_text};
use crate::report::{Outcome, Report as _};

pub(super) struct EntryDraft {
    pub fields: Map<String, Value>,
    pub secrets: Vec<StoredSecret>,
    pub notes: Vec<String>,
}

pub(super) fn password_from_stdin(args: &ConnectionSettings) -> Outcome<Option<Secret>> {
    if !args.password_stdin {
        return Ok(None);
    }
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Err(usage("stdin is a terminal, which would show the password")
            .hint("pipe the password, or use `--password-env` or `--password-file`"));
    }
    let mut text = String::new();
    stdin.read_to_string(&mut text).map_err(|error| {
        Failure::from_error(Code::Input, &error).context("stdin cannot be read")
    })?;
    let password = text.trim();
    if password.is_empty() {
        return Err(usage("stdin holds no password"));
    }
    Ok(Some(Secret::new(password)))
}

impl EntryDraft {
    pub(super) fn of(
        args: &ConnectionSettings,
        driver: Driver,
        password: Option<Secret>,
        name: impl Fn(&str) -> String,
    ) -> Outcome<Self> {
        let mut draft = Self {
            fields: Map::new(),
            secrets: Vec::new(),
            notes: Vec::new(),
        };
        if let Some(url) = &args.url {
            let written = draft.url(driver, url, &name);
            draft.option(driver, "url", Value::from(written))?;
        }
        let texts = [
            ("path", &args.path),
            ("host", &args.host),
            ("port", &args.port),
            ("database", &args.database),
            ("username", &args.username),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                draft.option(driver, key, plain(key, text))?;
            }
        }
        let reference = match (&args.password_env, &args.password_file, password) {
            (Some(variable), _, _) => Some(environment(variable)?),
            (None, Some(path), _) => Some(format!("file:{path}")),
            (None, None, Some(secret)) => Some(draft.keep(name("password"), secret)),
            (None, None, None) => None,
        };
        if let Some(reference) = reference {
            draft.option(driver, "password", Value::from(reference))?;
        }
        if !args.schema.is_empty() {
            let key = schema_key(driver)
                .ok_or_else(|| usage(format!("driver `{driver}` has no schemas to choose from")))?;
            draft.option(driver, key, Value::from(args.schema.clone()))?;
        }
        for field in &args.field {
            draft.field(driver, field)?;
        }
        Ok(draft)
    }

    /// A URL replaces its parts.
    pub(super) fn over(&self, known: &Map<String, Value>) -> Outcome<Map<String, Value>> {
        if self.fields.is_empty() {
            return Err(usage("no setting is named").hint(
                "name what changes, such as `--url env:DATABASE_URL` or `--field context.queryHistory.enabled=true`",
            ));
        }
        let parts = ["host", "port", "database", "username", "user", "password"];
        let gives_part = parts.iter().find(|part| self.fields.contains_key(**part));
        if let Some(part) = gives_part
            && known.contains_key("url")
            && !self.fields.contains_key("url")
        {
            return Err(usage(format!(
                "the connection has a `url`, which already sets `{part}`"
            ))
            .hint("give the whole URL with `--url`"));
        }
        let mut fields = known.clone();
        if self.fields.contains_key("url") {
            fields.retain(|key, _| !parts.contains(&key.as_str()));
        }
        merge(&mut fields, &self.fields);
        Ok(fields)
    }

    fn url(&mut self, driver: Driver, url: &str, name: &impl Fn(&str) -> String) -> String {
        if is_reference(driver, "url", url) || !holds_secret(url) {
            return url.to_owned();
        }
        let file = name("url");
        self.notes.push(format!(
            "the URL has a password, so ktx stored it in `.ktx/secrets/{file}`; remove the command from \
             the history of your shell"
        ));
        self.keep(file, Secret::new(url))
    }

    fn keep(&mut self, name: String, secret: Secret) -> String {
        let reference = format!("file:.ktx/secrets/{name}");
        self.secrets.push(StoredSecret { name, secret });
        reference
    }

    fn option(&mut self, driver: Driver, key: &str, value: Value) -> Outcome<()> {
        if field_kind(driver, &[key]).is_none() {
            return Err(
                usage(format!("driver `{driver}` has no field `{key}`")).hint(format!(
                    "its fields are {}",
                    field_names(driver).collect::<Vec<_>>().join(", ")
                )),
            );
        }
        self.fields.insert(key.to_owned(), value);
        Ok(())
    }

    fn field(&mut self, driver: Driver, text: &str) -> Outcome<()> {
        let Some((key, text)) = text.split_once('=') else {
            // Not repeated: can be a secret.
            return Err(usage("a `--field` has no `=`").hint("write `--field key=value`"));
        };
        let path: Vec<&str> = key.split('.').collect();
        let (Some((last, way)), true) = (path.split_last(), path.iter().all(|key| !key.is_empty()))
        else {
            return Err(usage(format!("`{key}` is not the name of a field")));
        };
        if path == ["driver"] {
            return Err(usage("set the driver with `--driver`"));
        }
        let kind = kind_of(driver, &path);
        let literal = !is_reference(driver, key, text);
        let secret = literal && mask_text(last, text, kind) != *text;
        if secret {
            let hint = match *last {
                "url" => "give the URL with `--url`, which stores it in a file".to_owned(),
                "password" => {
                    "use `--password-env`, `--password-file` or `--password-stdin`".to_owned()
                }
                _ => format!("write `--field {key}=env:NAME` or `--field {key}=file:PATH`"),
            };
            return Err(usage(format!(
                "`{key}` holds a secret, which does not belong on a command line or in ktx.yaml"
            ))
            .hint(hint));
        }
        self.note_unknown(driver, &path);
        let mut place = &mut self.fields;
        for key in way {
            let inner = place
                .entry((*key).to_owned())
                .or_insert_with(|| Value::Object(Map::new()));
            place = inner
                .as_object_mut()
                .ok_or_else(|| usage(format!("`{key}` already has a value")))?;
        }
        if place.contains_key(*last) {
            return Err(usage(format!("`{key}` is given twice")));
        }
        place.insert((*last).to_owned(), value(kind, text));
        Ok(())
    }

    fn note_unknown(&mut self, driver: Driver, path: &[&str]) {
        let (Some(first), None) = (path.first(), field_kind(driver, path)) else {
            return;
        };
        let near = ktx_diagnostics::nearest(first, field_names(driver));
        let hint = match near.first() {
            Some(near) if near != first => format!("; did you mean `{near}`?"),
            _ => String::new(),
        };
        self.notes.push(format!(
            "warning: driver `{driver}` does not know the field `{}`{hint}",
            path.join(".")
        ));
    }
}

const fn schema_key(driver: Driver) -> Option<&'static str> {
    match driver {
        Driver::Postgres
        | Driver::Redshift
        | Driver::MySql
        | Driver::MariaDb
        | Driver::SqlServer
        | Driver::DuckDb => Some("schemas"),
        Driver::ClickHouse => Some("databases"),
        Driver::Snowflake => Some("schema_names"),
        Driver::BigQuery => Some("dataset_ids"),
        Driver::Sqlite
        | Driver::Dbt
        | Driver::MetricFlow
        | Driver::LookMl
        | Driver::Cube
        | Driver::Looker
        | Driver::Metabase
        | Driver::Notion => None,
    }
}

/// Merges objects by key.
fn merge(fields: &mut Map<String, Value>, settings: &Map<String, Value>) {
    for (key, value) in settings {
        match (fields.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(given)) => merge(known, given),
            _ => {
                fields.insert(key.clone(), value.clone());
            }
        }
    }
}

fn plain(key: &str, text: &str) -> Value {
    match (key, text.parse::<u16>()) {
        ("port", Ok(port)) => Value::from(port),
        _ => Value::from(text),
    }
}

/// Strings stay; other kinds are JSON if valid.
fn value(kind: FieldKind, text: &str) -> Value {
    let json = match kind {
        FieldKind::Text | FieldKind::Secret => None,
        FieldKind::Texts => text
            .starts_with('[')
            .then(|| serde_json::from_str(text).ok())
            .flatten(),
        // Invalid JSON is a string.
        FieldKind::Other => serde_json::from_str(text).ok(),
    };
    json.unwrap_or_else(|| Value::from(text))
}

fn environment(variable: &str) -> Outcome<String> {
    let mut letters = variable.chars();
    let good = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if good {
        return Ok(format!("env:{variable}"));
    }
    // Not repeated: can be the password.
    Err(
        usage("`--password-env` takes the name of an environment variable")
            .hint("give the variable's name, not its value"),
    )
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::new(Code::Usage, message)
}

#[cfg(test)]
mod tests;
