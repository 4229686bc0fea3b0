//! Decodes ClickHouse's JSON rows by the types in the second line.

use ktx_warehouse::{Cell, DimensionType};
use serde_json::Value;

pub(super) fn plain(native_type: &str) -> &str {
    let mut plain = native_type.trim();
    loop {
        let inner = ["Nullable(", "LowCardinality("]
            .iter()
            .find_map(|wrapper| plain.strip_prefix(wrapper)?.strip_suffix(')'));
        match inner {
            Some(inner) => plain = inner.trim(),
            None => return plain,
        }
    }
}

pub(super) fn is_nullable(native_type: &str) -> bool {
    let inner = native_type
        .strip_prefix("LowCardinality(")
        .unwrap_or(native_type);
    inner.starts_with("Nullable(")
}

fn name(native_type: &str) -> &str {
    plain(native_type)
        .split('(')
        .next()
        .unwrap_or_default()
        .trim()
}

pub(super) fn dimension(native_type: &str) -> DimensionType {
    match name(native_type) {
        "Bool" => DimensionType::Boolean,
        "Date" | "Date32" | "DateTime" | "DateTime64" | "Time" | "Time64" => DimensionType::Time,
        "Int8" | "Int16" | "Int32" | "Int64" | "Int128" | "Int256" | "UInt8" | "UInt16"
        | "UInt32" | "UInt64" | "UInt128" | "UInt256" | "Float32" | "Float64" | "BFloat16"
        | "Decimal" | "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => {
            DimensionType::Number
        }
        _ => DimensionType::String,
    }
}

/// 64-bit integers, decimals, NaN and infinities arrive as text.
pub(super) fn decode(native_type: &str, value: Value) -> Cell {
    let name = name(native_type);
    match value {
        Value::Null => Cell::Null,
        Value::Bool(value) => Cell::Bool(value),
        Value::String(text) => from_text(name, text),
        Value::Number(number) if name.starts_with("Float") || name == "BFloat16" => number
            .as_f64()
            .map_or_else(|| Cell::Text(number.to_string()), Cell::Float),
        Value::Number(number) if name.starts_with("Decimal") => Cell::Decimal(number.to_string()),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => Cell::Int(value),
            (None, Some(value), _) => Cell::UInt(value),
            (None, None, Some(value)) => Cell::Float(value),
            (None, None, None) => Cell::Text(number.to_string()),
        },
        list @ (Value::Array(_) | Value::Object(_)) => Cell::Json(list),
    }
}

fn from_text(name: &str, text: String) -> Cell {
    match name {
        "Date" | "Date32" => Cell::Date(text),
        "Time" | "Time64" => Cell::Time(text),
        "DateTime" | "DateTime64" => Cell::Timestamp(text),
        _ if name.starts_with("Decimal") => Cell::Decimal(text),
        _ if name.starts_with("Float") || name == "BFloat16" => {
            text.parse().map_or_else(|_| Cell::Text(text), Cell::Float)
        }
        _ if name.starts_with("Int") || name.starts_with("UInt") => {
            match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(value), _) => Cell::Int(value),
                (Err(_), Ok(value)) => Cell::UInt(value),
                (Err(_), Err(_)) => Cell::Decimal(text),
            }
        }
        _ => Cell::Text(text),
    }
}
