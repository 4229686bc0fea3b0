//! Column types: DuckDB names derived from Arrow types.

use std::fmt::Write as _;

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit, UnionMode};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ArrowKind {
    Null,
    Bool,
    Bool8,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    HugeInt,
    UHugeInt,
    BigNum,
    Float,
    Double,
    Decimal(u8, i8),
    Text,
    Json,
    Uuid,
    Blob,
    Geometry,
    Bit,
    Date,
    Time(TimeUnit),
    TimeTz,
    Timestamp(TimeUnit),
    TimestampTz(TimeUnit),
    Interval,
    Enum(EnumIndex),
    List(Box<Self>),
    Array(Box<Self>, i32),
    Struct(Vec<(String, Self)>),
    Map(Box<Self>, Box<Self>),
    /// Members with their Arrow numbers.
    Union(Vec<(i8, String, Self)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnumIndex {
    Byte,
    Short,
    Word,
}

impl ArrowKind {
    pub(super) fn of(field: &Field) -> Result<Self, String> {
        if let Some(kind) = Self::extension(field) {
            return Ok(kind);
        }
        let unknown = || Err(field.data_type().to_string());
        Ok(match field.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool,
            DataType::Int8 => Self::Int8,
            DataType::Int16 => Self::Int16,
            DataType::Int32 => Self::Int32,
            DataType::Int64 => Self::Int64,
            DataType::UInt8 => Self::UInt8,
            DataType::UInt16 => Self::UInt16,
            DataType::UInt32 => Self::UInt32,
            DataType::UInt64 => Self::UInt64,
            DataType::Float32 => Self::Float,
            DataType::Float64 => Self::Double,
            DataType::Decimal128(digits, scale) => Self::Decimal(*digits, *scale),
            DataType::Utf8 => Self::Text,
            DataType::Binary => Self::Blob,
            DataType::Date32 => Self::Date,
            DataType::Time64(unit) => Self::Time(*unit),
            DataType::Timestamp(unit, None) => Self::Timestamp(*unit),
            DataType::Timestamp(unit, Some(_)) => Self::TimestampTz(*unit),
            DataType::Interval(IntervalUnit::MonthDayNano) => Self::Interval,
            DataType::Dictionary(key, value) if **value == DataType::Utf8 => match **key {
                DataType::UInt8 => Self::Enum(EnumIndex::Byte),
                DataType::UInt16 => Self::Enum(EnumIndex::Short),
                DataType::UInt32 => Self::Enum(EnumIndex::Word),
                _ => return unknown(),
            },
            DataType::List(item) => Self::List(Box::new(Self::of(item)?)),
            DataType::FixedSizeList(item, length) => {
                Self::Array(Box::new(Self::of(item)?), *length)
            }
            DataType::Struct(fields) => {
                let mut members = Vec::with_capacity(fields.len());
                for field in fields {
                    members.push((field.name().clone(), Self::of(field)?));
                }
                Self::Struct(members)
            }
            DataType::Map(entries, _) => {
                let DataType::Struct(pair) = entries.data_type() else {
                    return unknown();
                };
                let [key, value] = pair.as_ref() else {
                    return unknown();
                };
                Self::Map(Box::new(Self::of(key)?), Box::new(Self::of(value)?))
            }
            DataType::Union(fields, UnionMode::Sparse) => {
                let mut members = Vec::new();
                for (number, field) in fields.iter() {
                    members.push((number, field.name().clone(), Self::of(field)?));
                }
                Self::Union(members)
            }
            _ => return unknown(),
        })
    }

    fn extension(field: &Field) -> Option<Self> {
        let notes = field.metadata();
        let name = notes.get("ARROW:extension:name")?.as_str();
        Some(match name {
            "arrow.bool8" => Self::Bool8,
            "arrow.uuid" => Self::Uuid,
            "arrow.json" => Self::Json,
            "geoarrow.wkb" => Self::Geometry,
            "arrow.opaque" => {
                let text = notes.get("ARROW:extension:metadata")?;
                let note: Value = serde_json::from_str(text).ok()?;
                match note.get("type_name")?.as_str()? {
                    "hugeint" => Self::HugeInt,
                    "uhugeint" => Self::UHugeInt,
                    "bignum" | "varint" => Self::BigNum,
                    "bit" => Self::Bit,
                    "time_tz" => Self::TimeTz,
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Returns DuckDB's spelling. Enumeration values are unknown here.
    pub(super) fn name(&self) -> String {
        let plain = match self {
            Self::Null => "\"NULL\"",
            Self::Bool | Self::Bool8 => "BOOLEAN",
            Self::Int8 => "TINYINT",
            Self::Int16 => "SMALLINT",
            Self::Int32 => "INTEGER",
            Self::Int64 => "BIGINT",
            Self::UInt8 => "UTINYINT",
            Self::UInt16 => "USMALLINT",
            Self::UInt32 => "UINTEGER",
            Self::UInt64 => "UBIGINT",
            Self::HugeInt => "HUGEINT",
            Self::UHugeInt => "UHUGEINT",
            Self::BigNum => "BIGNUM",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Text => "VARCHAR",
            Self::Json => "JSON",
            Self::Uuid => "UUID",
            Self::Blob => "BLOB",
            Self::Geometry => "GEOMETRY",
            Self::Bit => "BIT",
            Self::Date => "DATE",
            Self::Time(TimeUnit::Nanosecond) => "TIME_NS",
            Self::Time(_) => "TIME",
            Self::TimeTz => "TIME WITH TIME ZONE",
            Self::Timestamp(TimeUnit::Second) => "TIMESTAMP_S",
            Self::Timestamp(TimeUnit::Millisecond) => "TIMESTAMP_MS",
            Self::Timestamp(TimeUnit::Microsecond) => "TIMESTAMP",
            Self::Timestamp(TimeUnit::Nanosecond) => "TIMESTAMP_NS",
            Self::TimestampTz(_) => "TIMESTAMP WITH TIME ZONE",
            Self::Interval => "INTERVAL",
            Self::Enum(_) => "ENUM",
            Self::Decimal(digits, scale) => return format!("DECIMAL({digits},{scale})"),
            Self::List(item) => return format!("{}[]", item.name()),
            Self::Array(item, length) => return format!("{}[{length}]", item.name()),
            Self::Map(key, value) => return format!("MAP({}, {})", key.name(), value.name()),
            Self::Struct(members) => {
                let members = members.iter().map(|(name, kind)| (name.as_str(), kind));
                return composite("STRUCT", members);
            }
            Self::Union(members) => {
                let members = members.iter().map(|(_, name, kind)| (name.as_str(), kind));
                return composite("UNION", members);
            }
        };
        plain.to_owned()
    }
}

fn composite<'a>(word: &str, members: impl Iterator<Item = (&'a str, &'a ArrowKind)>) -> String {
    let mut text = format!("{word}(");
    for (position, (name, kind)) in members.enumerate() {
        let comma = if position == 0 { "" } else { ", " };
        let is_plain = name
            .starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
            && name.chars().all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
            });
        let quoted = if is_plain {
            name.to_owned()
        } else {
            format!("\"{}\"", name.replace('"', "\"\""))
        };
        if write!(text, "{comma}{quoted} {}", kind.name()).is_err() {
            break;
        }
    }
    text.push(')');
    text
}
