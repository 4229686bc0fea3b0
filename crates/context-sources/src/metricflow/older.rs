//! Rewrites metrics of dbt 1.5 and older in today's form.

use std::collections::BTreeMap;

use minijinja::{Environment, Value as Jinja};
use serde_yaml::{Mapping, Value};

use crate::yaml::{maps, text};

pub(super) const OLDER_WINDOW: &str = "older window";

const MODEL: &str = "older metrics of ";

pub(super) fn rewritten(mut file: Mapping) -> Mapping {
    let listed = file.get("metrics").and_then(Value::as_sequence).cloned();
    let Some(listed) = listed.filter(|list| list.iter().any(is_older)) else {
        return file;
    };
    let mut models: BTreeMap<String, Mapping> = BTreeMap::new();
    let metrics = listed.into_iter().map(|metric| match metric {
        Value::Mapping(map) if map.contains_key("calculation_method") => {
            Value::Mapping(metric_of_today(&map, &mut models))
        }
        other => other,
    });
    let metrics = metrics.collect();
    file.insert("metrics".into(), Value::Sequence(metrics));
    let known = maps(&file, "semantic_models").into_iter().cloned();
    let all = known.chain(models.into_values()).map(Value::Mapping);
    let all = all.collect();
    file.insert("semantic_models".into(), Value::Sequence(all));
    file
}

fn is_older(metric: &Value) -> bool {
    let map = metric.as_mapping();
    map.is_some_and(|map| map.contains_key("calculation_method"))
}

fn metric_of_today(older: &Mapping, models: &mut BTreeMap<String, Mapping>) -> Mapping {
    let method = text(older, "calculation_method").unwrap_or_default();
    let expression = text(older, "expression").unwrap_or_default();
    let mut metric = Mapping::new();
    for key in ["name", "description", "label"] {
        if let Some(value) = older.get(key) {
            metric.insert(key.into(), value.clone());
        }
    }
    let filters = maps(older, "filters").into_iter().filter_map(predicate);
    let filters: Vec<Value> = filters.map(Value::from).collect();
    if !filters.is_empty() {
        metric.insert("filter".into(), Value::Sequence(filters));
    }
    if older.get("window").is_some_and(|window| !window.is_null()) {
        metric.insert("type".into(), OLDER_WINDOW.into());
    } else if method == "derived" {
        metric.insert("type".into(), "derived".into());
        metric.insert("type_params".into(), derived(&expression));
    } else {
        let model = model_of(older, models);
        let own = entries([
            ("semantic_model", Value::from(model)),
            ("agg", Value::from(method)),
            ("agg_time_dimension", timestamp(older)),
        ]);
        let params = entries([
            ("metric_aggregation_params", own),
            ("expr", Value::from(expression)),
        ]);
        metric.insert("type".into(), "simple".into());
        metric.insert("type_params".into(), params);
    }
    metric
}

fn model_of(older: &Mapping, models: &mut BTreeMap<String, Mapping>) -> String {
    let model = text(older, "model").unwrap_or_default();
    let name = format!("{MODEL}{model}");
    let time = timestamp(older);
    models.entry(name.clone()).or_insert_with(|| {
        let mut map = Mapping::new();
        map.insert("name".into(), name.as_str().into());
        map.insert("model".into(), model.into());
        if !time.is_null() {
            let dimension = entries([("name", time.clone()), ("type", "time".into())]);
            map.insert("dimensions".into(), Value::Sequence(vec![dimension]));
            map.insert("defaults".into(), entries([("agg_time_dimension", time)]));
        }
        map
    });
    name
}

fn timestamp(older: &Mapping) -> Value {
    text(older, "timestamp").map_or(Value::Null, Value::from)
}

fn predicate(filter: &Mapping) -> Option<String> {
    let part = |key: &str| text(filter, key);
    Some(format!(
        "{} {} {}",
        part("field")?,
        part("operator")?,
        part("value")?
    ))
}

/// Parses `{{metric('a')}} / {{metric('b')}}`.
fn derived(expression: &str) -> Value {
    let mut words = Environment::new();
    words.add_function("metric", |name: String| Jinja::from_safe_string(name));
    let names = expression.split("metric(").skip(1).filter_map(|call| {
        let name = call.split_once(')')?.0.trim();
        Some(name.trim_matches(['\'', '"']).to_owned())
    });
    let metrics: Vec<Value> = names
        .map(|name| entries([("name", Value::from(name))]))
        .collect();
    let expr = words.render_str(expression, ()).unwrap_or_default();
    entries([
        ("expr", Value::from(expr)),
        ("metrics", Value::Sequence(metrics)),
    ])
}

fn entries<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let pairs = pairs.into_iter().filter(|(_, value)| !value.is_null());
    Value::Mapping(
        pairs
            .map(|(key, value)| (Value::from(key), value))
            .collect(),
    )
}
