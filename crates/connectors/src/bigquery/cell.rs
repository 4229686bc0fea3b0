//! Decodes BigQuery's JSON rows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ktx_warehouse::{Cell, ColumnHeader, DimensionType};
use serde_json::{Map, Value};

use crate::clock;
use crate::document;
use crate::rest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultField {
    name: String,
    /// A REST API type, such as `INTEGER`.
    kind: String,
    repeated: bool,
    fields: Vec<Self>,
}

impl ResultField {
    pub(super) fn list(schema: Option<&Value>) -> Vec<Self> {
        let fields = schema.and_then(Value::as_array);
        fields
            .into_iter()
            .flatten()
            .map(|field| Self {
                name: rest::text(field, "/name").unwrap_or_default().to_owned(),
                kind: rest::text(field, "/type").unwrap_or_default().to_owned(),
                repeated: rest::text(field, "/mode") == Some("REPEATED"),
                fields: Self::list(field.pointer("/fields")),
            })
            .collect()
    }

    pub(super) fn header(&self) -> ColumnHeader {
        ColumnHeader {
            name: self.name.clone(),
            native_type: Some(self.native_type()),
        }
    }

    fn native_type(&self) -> String {
        let one = match self.kind.as_str() {
            "INTEGER" => "INT64",
            "FLOAT" => "FLOAT64",
            "BOOLEAN" => "BOOL",
            "RECORD" | "STRUCT" => &self.structure(),
            other => other,
        };
        if self.repeated {
            format!("ARRAY<{one}>")
        } else {
            one.to_owned()
        }
    }

    fn structure(&self) -> String {
        let fields: Vec<String> = self
            .fields
            .iter()
            .map(|field| format!("{} {}", field.name, field.native_type()))
            .collect();
        format!("STRUCT<{}>", fields.join(", "))
    }

    /// Decodes a row such as `{"f": [{"v": "1"}, {"v": null}]}`.
    pub(super) fn row(fields: &[Self], row: Value) -> Vec<Cell> {
        values(row)
            .into_iter()
            .zip(fields)
            .map(|(value, field)| field.decode(value))
            .collect()
    }

    pub(super) fn decode(&self, value: Value) -> Cell {
        match value {
            Value::Array(items) if self.repeated => Cell::Json(
                items
                    .into_iter()
                    .map(|item| self.decode_one(unwrap(item)).to_json())
                    .collect(),
            ),
            one => self.decode_one(one),
        }
    }

    fn decode_one(&self, value: Value) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::String(text) => self.scalar(text),
            structure @ Value::Object(_) if !self.fields.is_empty() => {
                let mut object = Map::new();
                for (value, field) in values(structure).into_iter().zip(&self.fields) {
                    object.insert(field.name.clone(), field.decode(value).to_json());
                }
                Cell::Json(Value::Object(object))
            }
            Value::Bool(value) => Cell::Bool(value),
            other => Cell::Json(other),
        }
    }

    /// Scalars arrive as text; text that does not fit its type stays text.
    fn scalar(&self, text: String) -> Cell {
        match self.kind.as_str() {
            "INTEGER" | "INT64" => text.parse().map_or(Cell::Text(text), Cell::Int),
            "FLOAT" | "FLOAT64" => text.parse().map_or(Cell::Text(text), Cell::Float),
            "NUMERIC" | "BIGNUMERIC" | "DECIMAL" | "BIGDECIMAL" => Cell::Decimal(text),
            "BOOLEAN" | "BOOL" => match text.as_str() {
                "true" => Cell::Bool(true),
                "false" => Cell::Bool(false),
                _ => Cell::Text(text),
            },
            "BYTES" => STANDARD.decode(&text).map_or(Cell::Text(text), Cell::Bytes),
            "DATE" => Cell::Date(text),
            "TIME" => Cell::Time(short(&text).to_owned()),
            "DATETIME" => Cell::Timestamp(short(&text).replacen('T', " ", 1)),
            "TIMESTAMP" => match text.parse() {
                Ok(micros) => Cell::Timestamp(clock::moment(micros, "+00")),
                Err(_) => Cell::Timestamp(text),
            },
            "JSON" => document::read(&text).map_or(Cell::Text(text), Cell::Json),
            _ => Cell::Text(text),
        }
    }
}

fn short(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

fn values(mut row: Value) -> Vec<Value> {
    match row.pointer_mut("/f").map(Value::take) {
        Some(Value::Array(items)) => items.into_iter().map(unwrap).collect(),
        _ => Vec::new(),
    }
}

fn unwrap(mut item: Value) -> Value {
    item.pointer_mut("/v").map(Value::take).unwrap_or_default()
}

fn plain(native_type: &str) -> String {
    let end = native_type.find(['(', '<']).unwrap_or(native_type.len());
    native_type
        .get(..end)
        .unwrap_or_default()
        .trim()
        .to_uppercase()
}

pub(super) fn dimension(native_type: &str) -> DimensionType {
    match plain(native_type).as_str() {
        "INT64" | "INTEGER" | "FLOAT64" | "FLOAT" | "NUMERIC" | "BIGNUMERIC" => {
            DimensionType::Number
        }
        "BOOL" | "BOOLEAN" => DimensionType::Boolean,
        "DATE" | "DATETIME" | "TIME" | "TIMESTAMP" => DimensionType::Time,
        _ => DimensionType::String,
    }
}

/// Returns the portable spelling of a type.
pub(super) fn normalized(native_type: &str) -> String {
    match plain(native_type).as_str() {
        "STRING" => "VARCHAR".to_owned(),
        "BYTES" => "VARBINARY".to_owned(),
        "INT64" | "INTEGER" => "BIGINT".to_owned(),
        "FLOAT64" | "FLOAT" => "DOUBLE".to_owned(),
        "NUMERIC" | "BIGNUMERIC" => "DECIMAL".to_owned(),
        "STRUCT" | "RECORD" => "JSON".to_owned(),
        "BOOL" | "BOOLEAN" => "BOOLEAN".to_owned(),
        _ => native_type.to_owned(),
    }
}
