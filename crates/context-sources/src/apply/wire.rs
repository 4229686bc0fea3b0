//! Writes facts about a whole table into a shard.

use serde_yaml::{Mapping, Value};

use crate::facts::{Age, Exposure, Freshness};

pub(super) fn freshness(freshness: &Freshness) -> Value {
    let mut raw = Mapping::new();
    let ages = [
        ("warn_after", &freshness.warn_after),
        ("error_after", &freshness.error_after),
    ];
    for (key, age) in ages {
        if let Some(Age { count, period }) = age {
            let pairs = [
                ("count", Value::from(*count)),
                ("period", Value::from(period.as_str())),
            ];
            raw.insert(
                key.into(),
                mapping(pairs.map(|(key, value)| (key, Some(value)))),
            );
        }
    }
    mapping([
        ("raw", (!raw.is_empty()).then_some(Value::Mapping(raw))),
        (
            "loaded_at_field",
            freshness.loaded_at.as_deref().map(Value::from),
        ),
    ])
}

pub(super) fn exposure(exposure: &Exposure) -> Value {
    let text = |text: &Option<String>| text.as_deref().map(Value::from);
    mapping([
        ("name", Some(Value::from(exposure.name.as_str()))),
        ("type", text(&exposure.kind)),
        ("url", text(&exposure.url)),
        ("owner", text(&exposure.owner)),
    ])
}

fn mapping<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Value {
    let pairs = pairs.into_iter();
    let given = pairs.filter_map(|(key, value)| Some((Value::from(key), value?)));
    Value::Mapping(given.collect())
}
