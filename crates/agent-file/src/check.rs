//! Checks a value against the table and collects every fault.

mod say;

use ktx_config::yaml::YamlPositions;
use ktx_diagnostics::{Code, Diagnostic, Location, nearest};
use serde_json::{Map, Value};

use crate::form::{
    FormFault, TextForm, is_reference, is_secret_name, listed, looks_like_secret,
    plain_secret_fault,
};
use crate::spec::{
    AbsentEffect, Field, ListShape, PathKind, ShortForm, TaggedShape, ValueShape, Variant,
    VariantBody,
};

use say::{alternatives, kind_of, out_of_range};
pub(crate) use say::{at_path, expected};

const MOST_NAMES: usize = 12;

/// A path that remains to be resolved.
#[derive(Debug, Clone)]
pub(crate) struct NamedPath {
    pub(crate) at: Vec<String>,
    pub(crate) path: String,
    pub(crate) to: PathKind,
}

#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) faults: Vec<Diagnostic>,
    pub(crate) paths: Vec<NamedPath>,
}

pub(crate) fn check(
    value: &Value,
    shape: &ValueShape,
    places: &YamlPositions,
    above: &[String],
) -> Findings {
    let mut check = FileCheck {
        places,
        path: above.to_vec(),
        found: Findings::default(),
    };
    check.value(value, shape);
    let position = |fault: &Diagnostic| fault.location.as_ref().and_then(|place| place.position);
    check.found.faults.sort_by_key(position);
    check.found
}

struct FileCheck<'a> {
    places: &'a YamlPositions,
    path: Vec<String>,
    found: Findings,
}

impl FileCheck<'_> {
    fn value(&mut self, value: &Value, shape: &ValueShape) {
        match shape {
            ValueShape::Text { most } => self.text(value, *most),
            ValueShape::Form(TextForm::Loose) => self.loose_value(value),
            ValueShape::Form(form) => self.form(value, *form),
            ValueShape::Path(to) => self.named_path(value, *to),
            ValueShape::Choice(names) => self.choice(value, names),
            ValueShape::Flag
            | ValueShape::Yes
            | ValueShape::Count { .. }
            | ValueShape::Odd { .. }
            | ValueShape::AnyNumber
            | ValueShape::Number { .. } => {
                self.plain(value, shape);
            }
            ValueShape::Object(fields) => {
                self.object(value, &fields.iter().collect::<Vec<_>>(), &[]);
            }
            ValueShape::Tagged(tagged) => self.tagged(value, tagged, &[]),
            ValueShape::Keyed(variants) => self.keyed(value, variants),
            ValueShape::Short(short) => self.short(value, short),
            ValueShape::List(list) => self.list(value, list),
            ValueShape::OneOrMore(item) => match value.as_array() {
                Some(items) => self.items(items, item),
                None => self.value(value, item),
            },
            ValueShape::Map(inner) => self.map(value, inner),
            ValueShape::Schema => self.schema(value),
            ValueShape::Matcher => self.matcher(value),
            ValueShape::AnyObject if !value.is_object() => self.report_mismatch(value, shape),
            ValueShape::Any | ValueShape::AnyObject => {}
            ValueShape::Foreign(instead) => self.foreign(instead),
        }
    }

    fn text(&mut self, value: &Value, most: Option<usize>) {
        let Some(text) = value.as_str() else {
            return self.report_mismatch(value, &ValueShape::Text { most });
        };
        let characters = text.chars().count();
        match most {
            _ if text.trim().is_empty() => self.fault(FormFault::new("is empty")),
            Some(most) if characters > most => self.fault(FormFault::new(format!(
                "has {characters} characters, at most {most}"
            ))),
            _ if looks_like_secret(text) => self.fault(plain_secret_fault()),
            _ => {}
        }
    }

    fn form(&mut self, value: &Value, form: TextForm) {
        let Some(text) = value.as_str() else {
            return self.report_mismatch(value, &ValueShape::Form(form));
        };
        if let Some(fault) = form.fault(text) {
            self.fault(fault);
        }
    }

    /// The name decides whether the value is a secret.
    fn loose_value(&mut self, value: &Value) {
        if value.is_array() || value.is_object() || value.is_null() {
            return self.report_mismatch(value, &ValueShape::Form(TextForm::Loose));
        }
        let text = value.as_str().unwrap_or_default();
        let name = self.path.last().map(String::as_str).unwrap_or_default();
        let holds_reference = is_reference(text) || text.contains("${");
        if looks_like_secret(text) || (is_secret_name(name) && !holds_reference) {
            self.fault(plain_secret_fault());
        }
    }

    fn named_path(&mut self, value: &Value, to: PathKind) {
        match value.as_str() {
            None => self.report_mismatch(value, &ValueShape::Path(to)),
            Some(text) if text.trim().is_empty() => self.fault(FormFault::new("is empty")),
            Some(text) => self.found.paths.push(NamedPath {
                at: self.path.clone(),
                path: text.to_owned(),
                to,
            }),
        }
    }

    fn choice(&mut self, value: &Value, names: &[&str]) {
        let text = value.as_str();
        if text.is_some_and(|text| names.contains(&text)) {
            return;
        }
        let mut fault = FormFault::new(format!("use {}", alternatives(names)));
        if let Some(near) =
            text.and_then(|text| nearest(text, names.iter().copied()).first().copied())
        {
            fault = fault.hint(format!("did you mean `{near}`?"));
        }
        self.fault(fault);
    }

    fn plain(&mut self, value: &Value, shape: &ValueShape) {
        let is_right_kind = match shape {
            ValueShape::Flag => value.is_boolean(),
            ValueShape::Yes => value == &Value::Bool(true),
            ValueShape::Count { .. } | ValueShape::Odd { .. } => say::is_whole(value),
            _ => value.is_number(),
        };
        if !is_right_kind {
            self.report_mismatch(value, shape);
        } else if let Some(message) = out_of_range(value, shape) {
            self.fault(FormFault::new(message));
        }
    }

    /// Checks an object; the keys in `taken` belong to the caller.
    fn object(&mut self, value: &Value, fields: &[&Field], taken: &[&str]) {
        let Some(object) = value.as_object() else {
            return self.report_mismatch(value, &ValueShape::AnyObject);
        };
        for (key, value) in object {
            match fields.iter().find(|field| field.name == key) {
                Some(_) if value.is_null() => {}
                Some(field) => self.within(key, |check| check.value(value, &field.shape)),
                None if taken.contains(&key.as_str()) => {}
                None => self.within(key, |check| check.unknown(fields, taken)),
            }
        }
        self.missing(object, fields);
    }

    fn missing(&mut self, object: &Map<String, Value>, fields: &[&Field]) {
        let required = fields
            .iter()
            .filter(|field| field.absent == AbsentEffect::Refused);
        for field in required {
            if object.get(field.name).is_none_or(Value::is_null) {
                self.absent(field.name, &field.shape);
            }
        }
    }

    fn absent(&mut self, key: &str, shape: &ValueShape) {
        let place = self.value_place();
        self.within(key, |check| {
            let message = at_path(&check.path, "is missing");
            let hint = format!("add `{key}:` with {}", expected(shape));
            let fault = Diagnostic::error(Code::MissingKey, message).hint(hint);
            check.found.faults.push(fault.at(place));
        });
    }

    fn tagged(&mut self, value: &Value, tagged: &TaggedShape, taken: &[&str]) {
        let Some(object) = value.as_object() else {
            return self.report_mismatch(value, &ValueShape::AnyObject);
        };
        let offered = tagged
            .variants
            .iter()
            .filter(|variant| variant.is_offered());
        let names: Vec<&str> = offered.map(|variant| variant.name).collect();
        let written = object.get(tagged.tag).filter(|value| !value.is_null());
        let name = match (written, tagged.absent) {
            (Some(name), _) => name.as_str().unwrap_or_default(),
            (None, Some(name)) => name,
            (None, None) => {
                let place = self.value_place();
                return self.within(tagged.tag, |check| {
                    let message = at_path(&check.path, "is missing");
                    let hint = format!("add `{}:` with one of {}", tagged.tag, listed(&names));
                    let fault = Diagnostic::error(Code::MissingKey, message).hint(hint);
                    check.found.faults.push(fault.at(place));
                });
            }
        };
        let taken: Vec<&str> = taken.iter().copied().chain([tagged.tag]).collect();
        match tagged.variants.iter().find(|variant| variant.name == name) {
            Some(variant) => self.variant(value, variant, &taken, tagged.tag),
            None => self.within(tagged.tag, |check| {
                let noun = tagged.noun;
                let message = format!(
                    "there is no {noun} `{name}`; there are: {}",
                    names.join(", ")
                );
                let mut fault = FormFault::new(message);
                if let Some(near) = nearest(name, names).first() {
                    fault = fault.hint(format!("did you mean `{near}`?"));
                }
                check.fault(fault);
            }),
        }
    }

    fn variant(&mut self, value: &Value, variant: &Variant, taken: &[&str], tag: &str) {
        match variant.body {
            VariantBody::Fields(groups) => {
                let fields: Vec<&Field> = groups.iter().copied().flatten().collect();
                self.object(value, &fields, taken);
            }
            VariantBody::Tagged(inner) => self.tagged(value, inner, taken),
            VariantBody::Refused { why, hint } => self.within(tag, |check| {
                check.fault(FormFault::new(why).hint(hint));
            }),
        }
    }

    fn keyed(&mut self, value: &Value, variants: &[Variant]) {
        let Some(object) = value.as_object() else {
            return self.report_mismatch(value, &ValueShape::Keyed(&[]));
        };
        let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
        let mut fitting = variants
            .iter()
            .filter(|variant| object.contains_key(variant.name));
        match (fitting.next(), fitting.next()) {
            (Some(variant), None) => self.variant(value, variant, &[], variant.name),
            (Some(first), Some(second)) => self.fault(FormFault::new(format!(
                "give `{}` or `{}`, not both",
                first.name, second.name
            ))),
            (None, _) => {
                let mut fault = FormFault::new(format!("give one of {}", listed(&names)));
                let near = object
                    .keys()
                    .find_map(|key| nearest(key, names.iter().copied()).first().copied());
                if let Some(near) = near {
                    fault = fault.hint(format!("did you mean `{near}`?"));
                }
                self.fault(fault);
            }
        }
    }

    fn short(&mut self, value: &Value, short: &ShortForm) {
        match value {
            Value::Object(_) => self.value(value, &short.full),
            Value::String(_) => self.value(value, &short.text),
            _ => self.report_mismatch(value, &ValueShape::Keyed(&[])),
        }
    }

    fn list(&mut self, value: &Value, list: &'static ListShape) {
        let Some(items) = value.as_array() else {
            return self.report_mismatch(value, &ValueShape::List(list));
        };
        if let Some(most) = list.most.filter(|most| items.len() > *most) {
            self.fault(FormFault::new(format!(
                "has {} entries, at most {most}",
                items.len()
            )));
        }
        self.items(items, &list.item);
        let Some(key) = list.unique else { return };
        let mut seen: Vec<&str> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Some(name) = item.as_str().or_else(|| item.get(key)?.as_str()) else {
                continue;
            };
            if seen.contains(&name) {
                let message = at_path(&self.path, &format!("`{name}` is there twice"));
                self.within(&index.to_string(), |check| {
                    let mut path = check.path.clone();
                    path.push(key.to_owned());
                    let place = check.place_of(&path);
                    check
                        .found
                        .faults
                        .push(Diagnostic::error(Code::DuplicateKey, message).at(place));
                });
            }
            seen.push(name);
        }
    }

    fn items(&mut self, items: &[Value], shape: &ValueShape) {
        for (index, item) in items.iter().enumerate() {
            self.within(&index.to_string(), |check| check.value(item, shape));
        }
    }

    fn map(&mut self, value: &Value, inner: &ValueShape) {
        let Some(object) = value.as_object() else {
            return self.report_mismatch(value, &ValueShape::AnyObject);
        };
        for (key, value) in object {
            self.within(key, |check| check.value(value, inner));
        }
    }

    fn schema(&mut self, value: &Value) {
        match value {
            Value::Object(object) => {
                if object.get("type").is_some_and(|kind| kind != "object") {
                    self.fault(FormFault::new("the root must be an object"));
                }
            }
            Value::String(_) => self.named_path(value, PathKind::File),
            _ => self.report_mismatch(value, &ValueShape::Schema),
        }
    }

    fn matcher(&mut self, value: &Value) {
        let Some(object) = value.as_object().filter(|object| object.len() == 1) else {
            return;
        };
        for key in ["fuzzy", "regex"] {
            if let Some(inner) = object.get(key) {
                let shape = match key {
                    "regex" => ValueShape::Form(TextForm::Regex),
                    _ => crate::spec::TEXT,
                };
                self.within(key, |check| check.value(inner, &shape));
            }
        }
    }

    fn foreign(&mut self, instead: &str) {
        let message = format!("{} is HoloDeck's: {instead}", self.path.join("."));
        let place = self.key_place();
        let fault = Diagnostic::warning(Code::IgnoredKey, message).at(place);
        self.found.faults.push(fault);
    }

    fn unknown(&mut self, fields: &[&Field], taken: &[&str]) {
        let key = self.path.last().map(String::as_str).unwrap_or_default();
        let names: Vec<&str> = fields
            .iter()
            .filter(|field| !matches!(field.shape, ValueShape::Foreign(_)))
            .map(|field| field.name)
            .chain(taken.iter().copied())
            .collect();
        let message = at_path(&self.path, "there is no such key");
        let fault = match nearest(key, names.iter().copied()).first() {
            Some(near) => Diagnostic::error(Code::MisspelledKey, message)
                .hint(format!("did you mean `{near}`?")),
            None if names.len() <= MOST_NAMES => Diagnostic::error(Code::UnknownKey, message)
                .hint(format!("use one of {}", listed(&names))),
            None => Diagnostic::error(Code::UnknownKey, message)
                .hint("run `ktx admin schema --agent` for all keys"),
        };
        let place = self.key_place();
        self.found.faults.push(fault.at(place));
    }

    fn report_mismatch(&mut self, value: &Value, shape: &ValueShape) {
        self.fault(FormFault::new(format!(
            "must be {}, not {}",
            expected(shape),
            kind_of(value)
        )));
    }

    fn fault(&mut self, fault: FormFault) {
        let mut diagnostic = Diagnostic::error(fault.code, at_path(&self.path, &fault.message));
        if let Some(hint) = fault.hint {
            diagnostic = diagnostic.hint(hint);
        }
        let place = self.value_place();
        self.found.faults.push(diagnostic.at(place));
    }

    fn within(&mut self, key: &str, check: impl FnOnce(&mut Self)) {
        self.path.push(key.to_owned());
        check(self);
        self.path.pop();
    }

    fn value_place(&self) -> Location {
        self.place_of(&self.path)
    }

    fn place_of(&self, path: &[String]) -> Location {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        self.places.value(&path)
    }

    fn key_place(&self) -> Location {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        self.places.key(&path)
    }
}
