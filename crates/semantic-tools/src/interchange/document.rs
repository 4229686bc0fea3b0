//! The document, shared by both directions.

use ktx_sql::Dialect;
use serde::Serialize;

use super::wire::{self, Expressions};
use ktx_semantic_layer::authored::Descriptions;

/// Has its own place in the format, as does [`LABEL`].
pub(super) const AI_CONTEXT: &str = "ai_context";
pub(super) const LABEL: &str = "label";

/// Unknown dialects use the standard name.
pub(super) const fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Snowflake => "SNOWFLAKE",
        Dialect::Databricks => "DATABRICKS",
        Dialect::BigQuery => "BIGQUERY",
        _ => ANSI,
    }
}

pub(super) const ANSI: &str = "ANSI_SQL";

pub(super) fn expressions(dialect: Dialect, expression: impl Into<String>) -> Expressions {
    Expressions {
        dialects: vec![wire::Spelled {
            dialect: dialect_name(dialect).to_owned(),
            expression: expression.into(),
        }],
    }
}

/// Hand-written texts have priority.
pub(super) fn best(descriptions: Option<&Descriptions>, plain: Option<&String>) -> Option<String> {
    let own = descriptions.and_then(|texts| {
        let mut known = texts.0.clone();
        known.remove(AI_CONTEXT);
        known.remove(LABEL);
        ktx_semantic_layer::best_description(&known)
    });
    own.or_else(|| plain.cloned())
}

/// JSON objects become objects.
pub(super) fn own_place(
    descriptions: Option<&Descriptions>,
    key: &str,
) -> Option<serde_yaml::Value> {
    let text = descriptions?.0.get(key)?;
    if text.starts_with('{')
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(text)
        && let Ok(value) = serde_yaml::to_value(value)
    {
        return Some(value);
    }
    Some(serde_yaml::Value::String(text.clone()))
}

pub(super) fn to_text(value: &impl Serialize) -> Result<String, serde_yaml::Error> {
    let mut tree = serde_yaml::to_value(value)?;
    prune(&mut tree);
    serde_yaml::to_string(&tree)
}

fn prune(tree: &mut serde_yaml::Value) {
    match tree {
        serde_yaml::Value::Mapping(map) => {
            for (_, value) in map.iter_mut() {
                prune(value);
            }
            map.retain(|_, value| !is_empty(value));
        }
        serde_yaml::Value::Sequence(list) => list.iter_mut().for_each(prune),
        _ => {}
    }
}

fn is_empty(value: &serde_yaml::Value) -> bool {
    match value {
        serde_yaml::Value::Null => true,
        serde_yaml::Value::Sequence(list) => list.is_empty(),
        serde_yaml::Value::Mapping(map) => map.is_empty(),
        _ => false,
    }
}
