//! Rewrites dbt's newer spelling of semantic models, beside the columns of a model, as the older
//! one.

use serde_yaml::{Mapping, Value};

use crate::yaml::{maps, text};

pub(super) fn name(model: &Mapping) -> Option<String> {
    let own = match model.get("semantic_model")? {
        Value::Bool(true) => None,
        Value::Mapping(map) if text(map, "enabled").is_none_or(|word| word == "true") => {
            text(map, "name")
        }
        _ => return None,
    };
    own.or_else(|| text(model, "name"))
}

pub(super) fn reference(model: &Mapping) -> Mapping {
    let named = text(model, "name").unwrap_or_default();
    entries([("model", Value::from(format!("ref('{named}')")))])
}

pub(super) fn section(model: &Mapping) -> &'static str {
    if model.contains_key(REWRITTEN) {
        "models"
    } else {
        "semantic_models"
    }
}

/// Marks rewritten models; not a key of dbt.
const REWRITTEN: &str = "rewritten by ktx";

pub(super) fn semantic_model(model: &Mapping) -> Option<Mapping> {
    let mut rewritten = entries([
        ("name", Value::from(name(model)?)),
        (REWRITTEN, Value::from(true)),
    ]);
    if let Some(time) = text(model, "agg_time_dimension") {
        let defaults = entries([("agg_time_dimension", Value::from(time))]);
        rewritten.insert("defaults".into(), Value::Mapping(defaults));
    }
    if let Some(primary) = text(model, "primary_entity") {
        rewritten.insert("primary_entity".into(), Value::from(primary));
    }
    let derived = model.get("derived_semantics").and_then(Value::as_mapping);
    for (key, list) in [("entity", "entities"), ("dimension", "dimensions")] {
        let columns = maps(model, "columns").into_iter();
        let mut all: Vec<Value> = columns
            .filter_map(|column| Some(Value::Mapping(as_separate(column, column.get(key)?)?)))
            .collect();
        let own = derived
            .map(|derived| maps(derived, list))
            .unwrap_or_default();
        all.extend(
            own.into_iter()
                .map(|one| Value::Mapping(with_unit(one.clone(), one))),
        );
        rewritten.insert(list.into(), Value::Sequence(all));
    }
    Some(rewritten)
}

fn as_separate(column: &Mapping, semantics: &Value) -> Option<Mapping> {
    let name = text(column, "name")?;
    let mut own = match semantics {
        Value::Mapping(map) => map.clone(),
        Value::String(kind) => entries([("type", Value::from(kind.as_str()))]),
        _ => return None,
    };
    if !own.contains_key("name") {
        own.insert("name".into(), Value::from(name.as_str()));
    }
    own.insert("expr".into(), Value::from(name));
    if let (false, Some(description)) = (own.contains_key("description"), column.get("description"))
    {
        own.insert("description".into(), description.clone());
    }
    Some(with_unit(own, column))
}

fn with_unit(mut own: Mapping, from: &Mapping) -> Mapping {
    if let Some(unit) = text(from, "granularity") {
        let params = entries([("time_granularity", Value::from(unit))]);
        own.insert("type_params".into(), Value::Mapping(params));
    }
    own
}

fn entries<const N: usize>(pairs: [(&str, Value); N]) -> Mapping {
    pairs
        .into_iter()
        .map(|(key, value)| (Value::from(key), value))
        .collect()
}
