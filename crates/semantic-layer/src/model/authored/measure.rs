//! Measures in source files: an expression, or a form that looks beyond its group.

use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::strict;
use crate::model::granularity::Granularity;

/// Units that a window or a comparison can look back.
pub const FARTHEST: u32 = 1000;

#[derive(Debug, Clone, Serialize)]
pub struct Measure {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cumulative: Option<Cumulative>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semi_additive: Option<SemiAdditive>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    pub numerator: String,
    pub denominator: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cumulative {
    pub measure: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Window {
    Word(String),
    Record(WindowRecord),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Granularity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_date: Option<Granularity>,
}

pub const UNBOUNDED: &str = "unbounded";

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Window;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`unbounded`, `{count: 7, unit: day}` or `{to_date: year}`")
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Window, E> {
                if word == UNBOUNDED {
                    Ok(Window::Word(word.to_owned()))
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(word), &self))
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Window, A::Error> {
                WindowRecord::deserialize(MapAccessDeserializer::new(map)).map(Window::Record)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    pub measure: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Granularity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_to_grain: Option<Granularity>,
    #[serde(rename = "as")]
    pub answer: ComparedAs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparedAs {
    Value,
    Difference,
    Ratio,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SemiAdditive {
    pub dimension: String,
    pub at: At,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    First,
    Last,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    expr: Option<String>,
    #[serde(default)]
    ratio: Option<Ratio>,
    #[serde(default)]
    cumulative: Option<Cumulative>,
    #[serde(default)]
    compare: Option<Compare>,
    #[serde(default)]
    semi_additive: Option<SemiAdditive>,
    #[serde(default)]
    filter: Option<String>,
    #[serde(default, deserialize_with = "strict::list")]
    segments: Vec<String>,
    #[serde(default)]
    description: Option<String>,
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Checked;

        impl<'de> Visitor<'de> for Checked {
            type Value = Measure;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("struct Measure")
            }

            // Checked here so that the YAML reader adds the position.
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Measure, A::Error> {
                let written = Written::deserialize(MapAccessDeserializer::new(map))?;
                Measure::try_from(written).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_map(Checked)
    }
}

impl TryFrom<Written> for Measure {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let forms = [
            ("expr", written.expr.is_some()),
            ("ratio", written.ratio.is_some()),
            ("cumulative", written.cumulative.is_some()),
            ("compare", written.compare.is_some()),
        ];
        let given: Vec<&str> = forms
            .iter()
            .filter_map(|(key, is_given)| is_given.then_some(*key))
            .collect();
        match given.as_slice() {
            [] => return Err("missing field `expr`".to_owned()),
            [_] => {}
            [one, other, ..] => {
                return Err(format!(
                    "measure `{}` has both `{one}` and `{other}`",
                    written.name
                ));
            }
        }
        if written.semi_additive.is_some() && written.expr.is_none() {
            return Err(format!(
                "measure `{}`: `semi_additive` goes with `expr` only",
                written.name
            ));
        }
        let reason = match (&written.cumulative, &written.compare) {
            (Some(cumulative), _) => cumulative.window.as_ref().and_then(Window::problem),
            (_, Some(compare)) => compare.problem(),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(format!("measure `{}`: {reason}", written.name));
        }
        Ok(Self {
            name: written.name,
            expr: written.expr,
            ratio: written.ratio,
            cumulative: written.cumulative,
            compare: written.compare,
            semi_additive: written.semi_additive,
            filter: written.filter,
            segments: written.segments,
            description: written.description,
        })
    }
}

impl Window {
    fn problem(&self) -> Option<String> {
        let Self::Record(record) = self else {
            return None;
        };
        match (record.count, record.unit, record.to_date) {
            (Some(count), Some(_), None) => too_far("count", count),
            (None, None, Some(_)) => None,
            _ => Some(
                "a `window` has either `count` and `unit`, or `to_date` alone, or is `unbounded`"
                    .to_owned(),
            ),
        }
    }
}

impl Compare {
    fn problem(&self) -> Option<String> {
        match (self.unit, self.offset_to_grain, self.offset) {
            (Some(_), None, offset) => too_far("offset", offset.unwrap_or(1)),
            (None, Some(_), None) => None,
            _ => Some(
                "a `compare` has either `unit` with an optional `offset`, or `offset_to_grain` alone"
                    .to_owned(),
            ),
        }
    }
}

fn too_far(key: &str, count: u32) -> Option<String> {
    (!(1..=FARTHEST).contains(&count))
        .then(|| format!("`{key}` is {count}, it must be from 1 to {FARTHEST}"))
}
