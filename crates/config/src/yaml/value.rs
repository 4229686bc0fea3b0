//! A YAML document as a JSON value, with bounds.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess as _,
    Visitor,
};
use serde_json::{Map, Number, Value};

/// Maximum values that aliases can add to a document.
const ALIAS_VALUES: usize = 100_000;

#[derive(Debug)]
pub(super) struct ParsedValue {
    /// The last of duplicate keys wins.
    pub(super) value: Value,
    pub(super) duplicate: Option<Vec<String>>,
}

pub(super) fn read(text: &str) -> Result<ParsedValue, serde_yaml::Error> {
    if text.trim().is_empty() {
        return Ok(ParsedValue {
            value: Value::Null,
            duplicate: None,
        });
    }
    let mut state = ReadState {
        left: text.len() + ALIAS_VALUES,
        path: Vec::new(),
        duplicate: None,
    };
    let value = ValueSeed(&mut state).deserialize(serde_yaml::Deserializer::from_str(text))?;
    Ok(ParsedValue {
        value,
        duplicate: state.duplicate,
    })
}

struct ReadState {
    left: usize,
    path: Vec<String>,
    duplicate: Option<Vec<String>>,
}

impl ReadState {
    fn count<E: Error>(&mut self) -> Result<(), E> {
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| E::custom(format!("its aliases add more than {ALIAS_VALUES} values")))?;
        Ok(())
    }
}

struct ValueSeed<'s>(&'s mut ReadState);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.0.count().map(|()| Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.0.count().map(|()| Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.0.count().map(|()| Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.0.count().map(|()| Value::Number(value.into()))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        self.0.count().map(|()| Value::String(value.to_string()))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        self.0.count().map(|()| Value::String(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.0.count()?;
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("infinite numbers and `.nan` are not supported"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.0.count().map(|()| Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.count()?;
        let mut list = Vec::new();
        loop {
            self.0.path.push(list.len().to_string());
            let item = items.next_element_seed(ValueSeed(self.0))?;
            self.0.path.pop();
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.count()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(KeySeed)? {
            self.0.path.push(key.clone());
            let value = entries.next_value_seed(ValueSeed(self.0))?;
            if map.insert(key, value).is_some() && self.0.duplicate.is_none() {
                self.0.duplicate = Some(self.0.path.clone());
            }
            self.0.path.pop();
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (_, content) = tagged.variant_seed(KeySeed)?;
        content.newtype_variant_seed(self)
    }
}

struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is text")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<String, E> {
        Ok(value.to_owned())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Ok("null".to_owned())
    }
}
