//! Decodes SQL API rows: texts with a type per column.

use ktx_warehouse::{Cell, ColumnHeader, DimensionType};
use serde_json::Value;

use crate::clock;
use crate::document;
use crate::rest;

const DAY: i64 = 86_400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowType {
    name: String,
    kind: String,
    precision: Option<u64>,
    scale: Option<u64>,
}

impl RowType {
    pub(super) fn list(columns: Option<&Value>) -> Vec<Self> {
        let columns = columns.and_then(Value::as_array);
        columns
            .into_iter()
            .flatten()
            .map(|column| Self {
                name: rest::text(column, "/name").unwrap_or_default().to_owned(),
                kind: rest::text(column, "/type")
                    .unwrap_or_default()
                    .to_ascii_lowercase(),
                precision: rest::number(column, "/precision"),
                scale: rest::number(column, "/scale"),
            })
            .collect()
    }

    pub(super) fn header(&self) -> ColumnHeader {
        let native_type = match (self.kind.as_str(), self.precision, self.scale) {
            ("fixed", Some(precision), Some(scale)) => format!("NUMBER({precision},{scale})"),
            ("fixed", _, _) => "NUMBER".to_owned(),
            ("real", _, _) => "FLOAT".to_owned(),
            ("text", _, _) => "VARCHAR".to_owned(),
            (other, _, _) => other.to_ascii_uppercase(),
        };
        ColumnHeader {
            name: self.name.clone(),
            native_type: Some(native_type),
        }
    }

    /// Text that does not fit its type stays text.
    pub(super) fn decode(&self, value: Value) -> Cell {
        let text = match value {
            Value::Null => return Cell::Null,
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.read(&text).unwrap_or(Cell::Text(text))
    }

    fn read(&self, text: &str) -> Option<Cell> {
        Some(match self.kind.as_str() {
            "fixed" | "number" if self.scale.unwrap_or_default() == 0 => match text.parse() {
                Ok(value) => Cell::Int(value),
                Err(_) if is_number(text) => Cell::Decimal(text.to_owned()),
                Err(_) => return None,
            },
            "fixed" | "number" | "decfloat" => Cell::Decimal(text.to_owned()),
            "real" | "float" => Cell::Float(text.parse().ok()?),
            "boolean" => match text.to_ascii_lowercase().as_str() {
                "true" | "1" => Cell::Bool(true),
                "false" | "0" => Cell::Bool(false),
                _ => return None,
            },
            "date" => {
                let (date, suffix) = clock::date(text.parse().ok()?); // Days since 1970.
                Cell::Date(format!("{date}{suffix}"))
            }
            "time" => {
                let (seconds, fraction) = split(text)?;
                let time = clock::time(seconds.checked_mul(1_000_000)?);
                Cell::Time(format!("{time}{fraction}"))
            }
            "timestamp_ntz" => Cell::Timestamp(moment(text, 0, "")?),
            "timestamp_ltz" => Cell::Timestamp(moment(text, 0, "+00")?),
            "timestamp_tz" => {
                let (at, zone) = text.split_once(' ')?;
                let minutes = zone.parse::<i64>().ok()?.checked_sub(1440)?; // 1440 is Greenwich.
                Cell::Timestamp(moment(at, minutes, &offset(minutes))?)
            }
            "binary" => Cell::Bytes(bytes(text)?),
            // `undefined` in arrays is not JSON.
            "variant" | "object" | "array" | "map" | "vector" => Cell::Json(document::read(text)?),
            _ => return None,
        })
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Seconds, rounded down, and the fraction `.fffffffff` without trailing zeros.
fn split(text: &str) -> Option<(i64, String)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || fraction.len() > 9 {
        return None;
    }
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?; // Nine digits always fit.
    let seconds: i64 = whole.parse().ok()?; // Other text stays as it is.
    let (seconds, nanos) = match (text.starts_with('-'), nanos) {
        (true, 1..) => (seconds.checked_sub(1)?, 1_000_000_000 - nanos),
        _ => (seconds, nanos),
    };
    let digits = match nanos {
        0 => String::new(),
        nanos => format!(".{}", format!("{nanos:09}").trim_end_matches('0')),
    };
    Some((seconds, digits))
}

fn moment(text: &str, minutes: i64, zone: &str) -> Option<String> {
    let (seconds, fraction) = split(text)?;
    let seconds = seconds.checked_add(minutes.checked_mul(60)?)?;
    let (date, suffix) = clock::date(seconds.div_euclid(DAY));
    let time = clock::time(seconds.rem_euclid(DAY) * 1_000_000);
    Some(format!("{date} {time}{fraction}{zone}{suffix}"))
}

fn offset(minutes: i64) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, minutes) = (minutes.abs() / 60, minutes.abs() % 60);
    if minutes == 0 {
        format!("{sign}{hours:02}")
    } else {
        format!("{sign}{hours:02}:{minutes:02}")
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()) // Digits only.
        .collect()
}

pub(super) fn dimension(native_type: &str) -> DimensionType {
    let end = native_type.find('(').unwrap_or(native_type.len());
    match native_type.get(..end).unwrap_or_default().trim() {
        "NUMBER" | "DECIMAL" | "NUMERIC" | "INT" | "INTEGER" | "BIGINT" | "SMALLINT"
        | "TINYINT" | "BYTEINT" | "FLOAT" | "FLOAT4" | "FLOAT8" | "DOUBLE" | "REAL"
        | "DECFLOAT" => DimensionType::Number,
        "BOOLEAN" => DimensionType::Boolean,
        "DATE" | "TIME" | "DATETIME" | "TIMESTAMP" | "TIMESTAMP_NTZ" | "TIMESTAMP_LTZ"
        | "TIMESTAMP_TZ" => DimensionType::Time,
        _ => DimensionType::String,
    }
}
