//! Parses YAML of context sources into values.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess as _, Visitor,
};
use serde_yaml::{Mapping, Value};

pub(crate) struct YamlError {
    /// `file:line:column`, or only the file.
    pub(crate) place: String,
    pub(crate) what: String,
}

/// An empty text gives an empty mapping. The last value of a duplicate key wins, as in the tools
/// that the files are written for.
pub(crate) fn mapping(path: &str, text: &str) -> Result<Mapping, YamlError> {
    mapping_with_duplicates(path, text).map(|(map, _)| map)
}

pub(crate) fn mapping_with_duplicates(
    path: &str,
    text: &str,
) -> Result<(Mapping, Vec<YamlError>), YamlError> {
    let merged = |mut value: Value| {
        value.apply_merge()?;
        Ok(value)
    };
    let mut doubled = Vec::new();
    let read = serde_yaml::from_str::<Value>(text).or_else(|strict| {
        // This lenient reading reports every other error of the text.
        let loose = LenientSeed {
            doubled: &RefCell::default(),
        };
        let read = loose.deserialize(serde_yaml::Deserializer::from_str(text))?;
        let keys = loose.doubled.take();
        if keys.is_empty() {
            return Err(strict);
        }
        doubled.extend(keys.into_iter().map(|key| YamlError {
            place: place(path, &strict),
            what: format!("`{key}` is written more than once in one mapping: the last one counts"),
        }));
        Ok(read)
    });
    match read.and_then(merged) {
        Ok(Value::Mapping(found)) => Ok((found, doubled)),
        Ok(Value::Null) => Ok((Mapping::new(), doubled)),
        Ok(_) => Err(YamlError {
            place: path.to_owned(),
            what: "the top level must be a mapping".to_owned(),
        }),
        Err(error) => {
            let what = error.to_string();
            // The position is already in `place`.
            let what = what.split(" at line ").next().unwrap_or_default();
            Err(YamlError {
                place: place(path, &error),
                what: what.to_owned(),
            })
        }
    }
}

fn place(path: &str, error: &serde_yaml::Error) -> String {
    error.location().map_or_else(
        || path.to_owned(),
        |place| format!("{path}:{}:{}", place.line(), place.column()),
    )
}

#[derive(Clone, Copy)]
struct LenientSeed<'a> {
    doubled: &'a RefCell<BTreeSet<String>>,
}

impl<'de> DeserializeSeed<'de> for LenientSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LenientSeed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Sequence(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Mapping::new();
        while let Some(key) = entries.next_key_seed(self)? {
            let value = entries.next_value_seed(self)?;
            let name = plain(&key);
            if map.insert(key, value).is_some() {
                self.doubled.borrow_mut().extend(name);
            }
        }
        Ok(Value::Mapping(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (_, contents) = tagged.variant::<String>()?;
        contents.newtype_variant_seed(self)
    }
}

/// Spells numbers and booleans as written.
pub(crate) fn text(map: &Mapping, key: &str) -> Option<String> {
    plain(map.get(key)?)
}

pub(crate) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

pub(crate) fn maps<'v>(map: &'v Mapping, key: &str) -> Vec<&'v Mapping> {
    let list = map.get(key).and_then(Value::as_sequence);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_mapping)
        .collect()
}

/// A single text counts as a list of one.
pub(crate) fn texts(map: &Mapping, key: &str) -> Option<Vec<String>> {
    match map.get(key)? {
        Value::Sequence(list) => Some(list.iter().filter_map(plain).collect()),
        value => plain(value).map(|text| vec![text]),
    }
}
