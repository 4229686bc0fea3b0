//! Query rows as values.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::numeral::{LARGEST_EXACT, Numeral, nearest_float};
use crate::EvaluationError;

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    /// Never a number.
    Bool(bool),
    Number(f64),
    /// Too large for a float.
    Whole(i128),
    /// Midnight for a date; UTC with an offset.
    Time(DateTime),
    /// In NFC.
    Text(String),
}

impl Cell {
    /// Recognizes dates and times (`2025-09-30`, `2025-09-30 12:00:00`, `2025-09-30T12:00:00Z`).
    pub fn text(text: &str) -> Self {
        match time_of(text) {
            Some(time) => Self::Time(time),
            None => Self::Text(text.nfc().collect()),
        }
    }

    pub fn whole(number: i128) -> Self {
        let float = nearest_float(number);
        if float.abs() >= LARGEST_EXACT {
            Self::Whole(number)
        } else {
            Self::Number(float)
        }
    }

    pub(crate) fn numeral(&self) -> Option<Numeral> {
        match self {
            Self::Number(number) => Some(Numeral::of(*number)),
            Self::Whole(number) => Some(Numeral::whole(*number)),
            Self::Null | Self::Bool(_) | Self::Time(_) | Self::Text(_) => None,
        }
    }

    /// Lists and objects become text.
    pub fn json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => match (number.as_f64(), number.as_i128()) {
                (Some(float), Some(whole)) if float.abs() >= LARGEST_EXACT => Self::Whole(whole),
                (Some(float), _) => Self::Number(float),
                (None, _) => Self::text(&number.to_string()),
            },
            Value::String(text) => Self::text(text),
            other => Self::Text(other.to_string()),
        }
    }

    pub(crate) fn shown(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => shown_number(*number),
            Self::Whole(number) => shown_whole(*number),
            Self::Time(time) if time.time() == jiff::civil::Time::midnight() => {
                Value::String(time.date().to_string())
            }
            Self::Time(time) => Value::String(time.to_string()),
            Self::Text(text) => Value::String(text.clone()),
        }
    }
}

/// The form in reports; it compares equal when parsed.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.shown().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::json(&Value::deserialize(from)?))
    }
}

/// JSON has whole numbers of 64 bits.
fn shown_whole(number: i128) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => Value::String(number.to_string()),
    }
}

/// Omits `.0`; NaN and infinities become text.
fn shown_number(number: f64) -> Value {
    let spelled = number.to_string();
    match spelled.parse::<i64>() {
        Ok(whole) => Value::Number(whole.into()),
        Err(_) => Number::from_f64(number).map_or(Value::String(spelled), Value::Number),
    }
}

fn time_of(text: &str) -> Option<DateTime> {
    let bytes = text.as_bytes();
    if bytes.len() < 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let has_offset = bytes[10..]
        .iter()
        .any(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-'));
    if has_offset {
        let moment: Timestamp = text.parse().ok()?;
        return Some(Offset::UTC.to_datetime(moment));
    }
    text.parse().ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    Whole,
    Truncated,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Never compared.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
    pub extent: Extent,
}

impl Table {
    pub(crate) fn check(&self) -> Result<(), EvaluationError> {
        let columns = self.columns.len();
        match self.rows.iter().position(|row| row.len() != columns) {
            None => Ok(()),
            Some(index) => Err(EvaluationError::Ragged {
                row: index + 1,
                cells: self.rows[index].len(),
                columns,
            }),
        }
    }
}
