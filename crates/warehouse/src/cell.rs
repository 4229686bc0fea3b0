//! Typed cells of a result.

use serde_json::{Number, Value};

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    /// Above the signed range.
    UInt(u64),
    Float(f64),
    /// Plain digits, such as `-12.50`.
    Decimal(String),
    Text(String),
    Bytes(Vec<u8>),
    /// `YYYY-MM-DD`.
    Date(String),
    /// `HH:MM:SS[.ffffff]`.
    Time(String),
    /// `YYYY-MM-DD HH:MM:SS[.ffffff]` with an optional offset.
    Timestamp(String),
    Json(Value),
}

impl Cell {
    /// Decimals, times, NaN and infinities become strings; bytes become `\x`-prefixed hexadecimal.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::from(*value),
            Self::UInt(value) => Value::from(*value),
            Self::Float(value) => Number::from_f64(*value)
                .map_or_else(|| Value::String(value.to_string()), Value::Number),
            Self::Decimal(text)
            | Self::Text(text)
            | Self::Date(text)
            | Self::Time(text)
            | Self::Timestamp(text) => Value::String(text.clone()),
            Self::Bytes(bytes) => Value::String(hex(bytes)),
            Self::Json(value) => value.clone(),
        }
    }

    /// Text for tables and CSV; `None` for NULL.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(value.to_string()),
            Self::Int(value) => Some(value.to_string()),
            Self::UInt(value) => Some(value.to_string()),
            Self::Float(value) => Some(value.to_string()),
            Self::Decimal(text)
            | Self::Text(text)
            | Self::Date(text)
            | Self::Time(text)
            | Self::Timestamp(text) => Some(text.clone()),
            Self::Bytes(bytes) => Some(hex(bytes)),
            Self::Json(value) => Some(value.to_string()),
        }
    }

    pub fn size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::UInt(_) | Self::Float(_) => 8,
            Self::Decimal(text)
            | Self::Text(text)
            | Self::Date(text)
            | Self::Time(text)
            | Self::Timestamp(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Json(value) => value.to_string().len(),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str("\\x");
    for byte in bytes {
        if write!(text, "{byte:02x}").is_err() {
            break;
        }
    }
    text
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnHeader {
    pub name: String,
    pub native_type: Option<String>,
}
