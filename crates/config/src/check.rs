//! Checks a value against the table.

mod clients;
mod connections;
mod say;

use ktx_diagnostics::{Code, Diagnostic, Location, Severity, nearest};
use ktx_secrets::{SecretRef, redact_url};
use ktx_vocabulary::{Backend, ModelRole, Provider};
use serde_json::{Map, Value};

use crate::defaults::whole;
use crate::spec::{AbsentKey, Field, KeyRule, PRICE_BY_SIZE, ROOT, Shape};
use crate::yaml::YamlPositions;

pub(crate) use say::expected;
use say::{found, listed};

const MODEL_SECTION: &str = "llm";

#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) all: Vec<Diagnostic>,
    pub(crate) model: Vec<Diagnostic>,
}

impl Findings {
    /// Includes errors of the model section, because the whole file is refused.
    pub(crate) fn into_errors(self) -> Vec<Diagnostic> {
        let Self { all, model } = self;
        let refused = |found: &Diagnostic| {
            let same = |error: &&Diagnostic| {
                (&error.location, &error.message) == (&found.location, &found.message)
            };
            model.iter().find(same).cloned()
        };
        all.into_iter()
            .map(|found| refused(&found).unwrap_or(found))
            .collect()
    }
}

pub(crate) fn check(value: &Value, places: &YamlPositions) -> Findings {
    let mut check = Checker {
        places,
        path: Vec::new(),
        found: Findings::default(),
    };
    match value {
        Value::Null => {}
        Value::Object(object) => {
            check.object(object, ROOT, UnknownKeys::Warn);
            check.check_across_blocks(object);
        }
        _ => check.error(Code::BadValue, "the file must hold an object".to_owned()),
    }
    let Findings { all, model } = &mut check.found;
    for list in [all, model] {
        list.sort_by_key(|diagnostic| {
            diagnostic
                .location
                .as_ref()
                .and_then(|location| location.position)
        });
    }
    check.found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnknownKeys {
    Warn,
    Keep,
    Refuse,
}

struct Checker<'a> {
    places: &'a YamlPositions,
    path: Vec<String>,
    found: Findings,
}

impl Checker<'_> {
    fn object(&mut self, object: &Map<String, Value>, fields: &[Field], extra: UnknownKeys) {
        for (key, value) in object {
            match fields.iter().find(|field| field.accepts(key)) {
                Some(_) if value.is_null() => {}
                Some(field) => self.within(key, |check| check.value(value, &field.shape)),
                None if extra == UnknownKeys::Warn => {
                    self.within(key, |check| {
                        check.unknown(fields.iter().map(|field| field.name));
                    });
                }
                None if extra == UnknownKeys::Refuse => {
                    self.within(key, |check| {
                        check.refused(fields.iter().map(|field| field.name));
                    });
                }
                None => {}
            }
        }
        self.missing(object, fields.iter());
    }

    fn missing<'f>(
        &mut self,
        object: &Map<String, Value>,
        fields: impl Iterator<Item = &'f Field>,
    ) {
        for field in fields.filter(|field| field.absent == AbsentKey::Refused) {
            let written = object
                .iter()
                .any(|(key, value)| field.accepts(key) && !value.is_null());
            if !written {
                self.within(field.name, |check| {
                    check.error(
                        Code::MissingKey,
                        format!("`{}` is missing", check.path.join(".")),
                    );
                });
            }
        }
    }

    fn value(&mut self, value: &Value, shape: &Shape) {
        match shape {
            Shape::Object(fields) => match value.as_object() {
                Some(object) => self.object(object, fields, UnknownKeys::Warn),
                None => self.report_mismatch(value, shape),
            },
            Shape::OpenObject(fields) => match value.as_object() {
                Some(object) => self.object(object, fields, UnknownKeys::Keep),
                None => self.report_mismatch(value, shape),
            },
            Shape::ClosedObject(fields) => self.closed(value, fields, shape),
            Shape::Price if value.is_object() => self.closed(value, PRICE_BY_SIZE, shape),
            Shape::List(fields) => match value.as_array() {
                Some(items) => self.list(items, fields),
                None => self.report_mismatch(value, shape),
            },
            Shape::Map(rule, inner) => match value.as_object() {
                Some(object) => self.map(object, *rule, inner),
                None => self.report_mismatch(value, shape),
            },
            Shape::Connections => match value.as_object() {
                Some(object) => self.connections(object),
                None => self.report_mismatch(value, shape),
            },
            Shape::Backend => self.backend(value),
            Shape::Nullable(inner) if !value.is_null() => self.value(value, inner),
            Shape::Secret => {
                if let Some(text) = value.as_str() {
                    self.secret(text);
                } else {
                    self.report_mismatch(value, shape);
                }
            }
            _ if fits(value, shape) => {}
            Shape::Texts | Shape::TextOrTexts | Shape::FunctionNames | Shape::Counts => {
                self.items(value, shape);
            }
            _ => self.report_mismatch(value, shape),
        }
    }

    fn closed(&mut self, value: &Value, fields: &[Field], shape: &Shape) {
        match value.as_object() {
            Some(object) => self.object(object, fields, UnknownKeys::Refuse),
            None => self.report_mismatch(value, shape),
        }
    }

    fn list(&mut self, items: &[Value], fields: &'static [Field]) {
        for (index, item) in items.iter().enumerate() {
            let shape = Shape::ClosedObject(fields);
            self.within(&index.to_string(), |check| check.value(item, &shape));
        }
    }

    fn items(&mut self, value: &Value, shape: &Shape) {
        let item_shape = match shape {
            Shape::Counts => Shape::Count { min: 1, max: None },
            Shape::FunctionNames => Shape::FunctionName,
            _ => Shape::Text,
        };
        let Some(items) = value.as_array() else {
            return self.report_mismatch(value, shape);
        };
        for (index, item) in items.iter().enumerate() {
            if !fits(item, &item_shape) {
                self.within(&index.to_string(), |check| {
                    check.report_mismatch(item, &item_shape);
                });
            }
        }
    }

    fn map(&mut self, object: &Map<String, Value>, rule: KeyRule, inner: &Shape) {
        for (key, value) in object {
            self.within(key, |check| match rule {
                KeyRule::Role if ModelRole::parse(key).is_none() => {
                    check.unknown(ModelRole::ALL.into_iter().map(ModelRole::as_str));
                }
                KeyRule::Number if key.parse::<u64>().map_or(true, |number| number == 0) => {
                    let message = format!(
                        "`{}`: the key must be a whole number from 1, not `{key}`",
                        check.path.join(".")
                    );
                    check.error_at_key(Code::BadValue, message);
                }
                _ if value.is_null() && !matches!(inner, Shape::Nullable(_)) => {}
                _ => check.value(value, inner),
            });
        }
    }

    fn backend(&mut self, value: &Value) {
        let Some(text) = value.as_str() else {
            return self.report_mismatch(value, &Shape::Text);
        };
        if Backend::parse(text).is_some() {
            return;
        }
        let names = Backend::all().map(Backend::as_str).collect::<Vec<_>>();
        let path = self.path.join(".");
        let allowed = names.join(", ");
        let diagnostic = if text == "codex" {
            let message =
                format!("Unsupported {path}: codex is not supported yet (allowed: {allowed})");
            Diagnostic::error(Code::UnsupportedBackend, message)
        } else {
            let message = format!("Unsupported {path}: {text} (allowed: {allowed})");
            with_nearest(
                Diagnostic::error(Code::UnknownBackend, message),
                text,
                names,
            )
        };
        self.report(diagnostic.at(self.value_place()));
    }

    /// Warns about a literal secret, because `ktx.yaml` is committed.
    fn secret(&mut self, text: &str) {
        let holds_one = if text.contains("://") {
            redact_url(text) != text
        } else {
            let is_address = self.path.last().is_some_and(|key| key == "url");
            !is_address && !text.is_empty()
        };
        if !matches!(SecretRef::parse(text), SecretRef::Literal(_)) || !holds_one {
            return;
        }
        let path = self.path.join(".");
        let message = format!("`{path}` holds a secret as plain text, and the file is in git");
        let variable = text.trim_start_matches('$').trim_matches(['{', '}']);
        let hint = if text.starts_with('$') {
            format!("write `env:{variable}` to use the environment variable")
        } else {
            "write `env:NAME` or `file:PATH` and keep the secret there".to_owned()
        };
        let diagnostic = Diagnostic::warning(Code::PlainSecret, message).hint(hint);
        self.report(diagnostic.at(self.value_place()));
    }

    fn check_across_blocks(&mut self, root: &Map<String, Value>) {
        let provider = root.get("llm").and_then(|llm| llm.get("provider"));
        self.stored(provider);
        self.clients(root);
        let backend = provider
            .and_then(|provider| provider.get("backend"))
            .and_then(Value::as_str);
        let own = |key: &str| {
            let block = provider.and_then(|provider| provider.get("openai-compatible"));
            block
                .and_then(|block| block.get(key))
                .is_some_and(|value| !value.is_null())
        };
        if backend == Some(Provider::OpenAiCompatible.as_str()) && !own("base_url") {
            self.path = ["llm", "provider", "openai-compatible", "base_url"]
                .map(str::to_owned)
                .to_vec();
            self.error(
                Code::MissingKey,
                format!("`{}` is missing", self.path.join(".")),
            );
            self.path.clear();
        }
    }

    /// Only the Responses protocol stores answers. `openai` uses it by default.
    fn stored(&mut self, provider: Option<&Value>) {
        for name in [
            Provider::OpenAi,
            Provider::Gateway,
            Provider::OpenAiCompatible,
        ] {
            let block = provider.and_then(|provider| provider.get(name.as_str()));
            let stores = block.and_then(|block| block.pointer("/reasoning/store"));
            let protocol = block
                .and_then(|block| block.get("protocol"))
                .and_then(Value::as_str);
            let usual = (name == Provider::OpenAi).then_some("responses");
            if stores == Some(&Value::Bool(true)) && protocol.or(usual) != Some("responses") {
                let keys = ["llm", "provider", name.as_str(), "reasoning", "store"];
                self.path = keys.map(str::to_owned).to_vec();
                let path = self.path.join(".");
                let message = format!("`{path}` needs the protocol `responses`");
                let error = Diagnostic::error(Code::BadValue, message).hint(format!(
                    "add `protocol: responses` under `llm.provider.{name}`"
                ));
                self.report(error.at(self.value_place()));
                self.path.clear();
            }
        }
    }

    fn unknown<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let path = self.path.join(".");
        let message = format!("Unsupported {path}: unknown field (ignored)");
        let key = self.path.last().map(String::as_str).unwrap_or_default();
        let mut diagnostic =
            with_nearest(Diagnostic::warning(Code::UnknownKey, message), key, names);
        if !diagnostic.hints.is_empty() {
            diagnostic.code = Code::MisspelledKey;
        }
        self.report(diagnostic.at(self.key_place()));
    }

    fn refused<'n>(&mut self, names: impl Iterator<Item = &'n str> + Clone) {
        let key = self.path.last().map(String::as_str).unwrap_or_default();
        let known: Vec<&str> = names.clone().collect();
        let message = format!(
            "Unsupported {}: unknown field (allowed: {})",
            self.path.join("."),
            known.join(", ")
        );
        let diagnostic = with_nearest(Diagnostic::error(Code::UnknownKey, message), key, names);
        self.report(diagnostic.at(self.key_place()));
    }

    fn report_mismatch(&mut self, value: &Value, shape: &Shape) {
        let path = self.path.join(".");
        let message = format!(
            "`{path}` must be {}, not {}",
            expected(shape),
            found(value, shape)
        );
        let mut diagnostic = Diagnostic::error(Code::BadValue, message);
        if let (Shape::Choice(names), Some(text)) = (shape, value.as_str()) {
            diagnostic = with_nearest(diagnostic, text, names.iter().copied());
        }
        self.report(diagnostic.at(self.value_place()));
    }

    fn error(&mut self, code: Code, message: String) {
        self.report(Diagnostic::error(code, message).at(self.value_place()));
    }

    fn error_at_key(&mut self, code: Code, message: String) {
        self.report(Diagnostic::error(code, message).at(self.key_place()));
    }

    fn report(&mut self, mut diagnostic: Diagnostic) {
        let in_model_section = self.path.first().is_some_and(|key| key == MODEL_SECTION);
        if in_model_section && diagnostic.severity == Severity::Error {
            self.found.model.push(diagnostic.clone());
            diagnostic.severity = Severity::Warning;
        }
        self.found.all.push(diagnostic);
    }

    fn within(&mut self, key: &str, inner: impl FnOnce(&mut Self)) {
        self.path.push(key.to_owned());
        inner(self);
        self.path.pop();
    }

    fn value_place(&self) -> Location {
        self.places
            .value(&self.path.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn key_place(&self) -> Location {
        self.places
            .key(&self.path.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn with_nearest<'n>(
    diagnostic: Diagnostic,
    wanted: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Diagnostic {
    match nearest(wanted, names).first() {
        Some(name) => diagnostic.hint(format!("did you mean `{name}`?")),
        None => diagnostic,
    }
}

fn fits(value: &Value, shape: &Shape) -> bool {
    match shape {
        Shape::Text | Shape::Reference | Shape::Secret => value.is_string(),
        Shape::LooseText => value.is_string() || value.is_number() || value.is_boolean(),
        Shape::Flag => value.is_boolean(),
        Shape::Count { min, max } => {
            whole(value).is_some_and(|number| number >= *min && max.is_none_or(|max| number <= max))
        }
        Shape::Ratio => value
            .as_f64()
            .is_some_and(|number| (0.0..=1.0).contains(&number)),
        Shape::Amount | Shape::Price => value.as_f64().is_some_and(|price| price >= 0.0),
        Shape::Choice(names) => value.as_str().is_some_and(|text| names.contains(&text)),
        Shape::Texts => all(value, Value::is_string),
        Shape::TextOrTexts => value.is_string() || all(value, Value::is_string),
        Shape::FunctionName => value.as_str().is_some_and(is_function_name),
        Shape::FunctionNames => all(value, |item| fits(item, &Shape::FunctionName)),
        Shape::Counts => all(value, |item| whole(item).is_some_and(|number| number > 0)),
        Shape::Either(shapes) => shapes.iter().any(|shape| fits(value, shape)),
        Shape::Nullable(inner) => value.is_null() || fits(value, inner),
        Shape::Object(_)
        | Shape::OpenObject(_)
        | Shape::ClosedObject(_)
        | Shape::AnyObject
        | Shape::Map(..) => value.is_object(),
        Shape::List(_) => all(value, Value::is_object),
        Shape::Backend | Shape::Connections => false,
    }
}

fn is_function_name(text: &str) -> bool {
    let is_identifier = |part: &str| {
        let begins = |letter: char| letter.is_alphabetic() || letter == '_';
        part.starts_with(begins)
            && part
                .chars()
                .all(|letter| letter.is_alphanumeric() || "_$-".contains(letter))
    };
    text.split('.').count() <= 3 && text.split('.').all(is_identifier)
}

fn all(value: &Value, good: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(good))
}

#[cfg(test)]
mod tests;
