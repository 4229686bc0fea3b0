//! The serialized shapes, with keys in the format's order.

use serde::Serialize;
use serde_yaml::Value;

#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) version: String,
    pub(super) semantic_model: Vec<Model>,
}

#[derive(Debug, Serialize)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) datasets: Vec<Dataset>,
    pub(super) relationships: Vec<Relationship>,
    pub(super) metrics: Vec<Metric>,
    pub(super) custom_extensions: Vec<CustomExtension>,
}

#[derive(Debug, Serialize)]
pub(super) struct Dataset {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) primary_key: Vec<String>,
    pub(super) description: Option<String>,
    pub(super) ai_context: Option<Value>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug, Serialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) expression: Expressions,
    pub(super) dimension: Dimension,
    pub(super) label: Option<Value>,
    pub(super) description: Option<String>,
    pub(super) datatype: Option<&'static str>,
    pub(super) ai_context: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct Expressions {
    pub(super) dialects: Vec<Spelled>,
}

#[derive(Debug, Serialize)]
pub(super) struct Spelled {
    pub(super) dialect: String,
    pub(super) expression: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Dimension {
    pub(super) is_time: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Relationship {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) from_columns: Vec<String>,
    pub(super) to_columns: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) expression: Expressions,
    pub(super) description: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct CustomExtension {
    pub(super) vendor_name: String,
    pub(super) data: String,
}
