//! Decodes Arrow arrays.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, UnionArray};
use arrow_schema::TimeUnit;
use ktx_warehouse::Cell;
use serde_json::{Map, Value};

use super::kind::{ArrowKind, EnumIndex};
use super::text;
use crate::document;

impl ArrowKind {
    /// Cuts long values slightly above `cap` bytes, so that the caller detects the cut. Returns
    /// `None` if the array has an unexpected type.
    pub(super) fn read(&self, array: &dyn Array, row: usize, cap: usize) -> Option<Cell> {
        if row >= array.len() {
            return None;
        }
        // Arrow unions have no null mask; the active member decides.
        if array.is_null(row) && !matches!(self, Self::Union(_)) {
            return Some(Cell::Null);
        }
        Some(match self {
            Self::Null => Cell::Null,
            Self::Bool => Cell::Bool(array.as_boolean_opt()?.value(row)),
            Self::Bool8 => Cell::Bool(value::<Int8Type>(array, row)? != 0),
            Self::Int8 => Cell::Int(value::<Int8Type>(array, row)?.into()),
            Self::Int16 => Cell::Int(value::<Int16Type>(array, row)?.into()),
            Self::Int32 => Cell::Int(value::<Int32Type>(array, row)?.into()),
            Self::Int64 => Cell::Int(value::<Int64Type>(array, row)?),
            Self::UInt8 => Cell::Int(value::<UInt8Type>(array, row)?.into()),
            Self::UInt16 => Cell::Int(value::<UInt16Type>(array, row)?.into()),
            Self::UInt32 => Cell::Int(value::<UInt32Type>(array, row)?.into()),
            Self::UInt64 => {
                let number = value::<UInt64Type>(array, row)?;
                i64::try_from(number).map_or(Cell::UInt(number), Cell::Int)
            }
            Self::HugeInt => whole(i128::from_le_bytes(fixed(array, row)?).to_string()),
            Self::UHugeInt => whole(u128::from_le_bytes(fixed(array, row)?).to_string()),
            Self::BigNum => whole(text::bignum(bytes(array, row)?)?),
            // The shortest decimal text adds no false digits.
            Self::Float => Cell::Float(value::<Float32Type>(array, row)?.to_string().parse().ok()?),
            Self::Double => Cell::Float(value::<Float64Type>(array, row)?),
            Self::Decimal(_, scale) => {
                Cell::Decimal(text::decimal(value::<Decimal128Type>(array, row)?, *scale))
            }
            Self::Text => Cell::Text(head(array, row, cap)?.to_owned()),
            Self::Json => json(array, row, cap)?,
            Self::Uuid => Cell::Text(text::uuid(fixed(array, row)?)),
            Self::Blob | Self::Geometry => {
                let bytes = bytes(array, row)?;
                let end = bytes.len().min(cap.saturating_add(1));
                Cell::Bytes(bytes.get(..end)?.to_vec())
            }
            Self::Bit => Cell::Text(text::bits(bytes(array, row)?)?),
            Self::Date => Cell::Date(text::date(value::<Date32Type>(array, row)?)),
            Self::Time(unit) => Cell::Time(text::time(*unit, time(*unit, array, row)?)),
            Self::TimeTz => Cell::Time(text::time_tz(u64::from_le_bytes(fixed(array, row)?))),
            Self::Timestamp(unit) => {
                Cell::Timestamp(text::timestamp(*unit, instant(*unit, array, row)?))
            }
            Self::TimestampTz(unit) => {
                let mut text = text::timestamp(*unit, instant(*unit, array, row)?);
                if !text.ends_with("infinity") {
                    text.push_str("+00");
                }
                Cell::Timestamp(text)
            }
            Self::Interval => {
                let length = value::<IntervalMonthDayNanoType>(array, row)?;
                Cell::Text(text::interval(
                    length.months,
                    length.days,
                    length.nanoseconds,
                ))
            }
            Self::Enum(index) => Cell::Text(member(*index, array, row)?),
            Self::List(item) => list(item, &array.as_list_opt::<i32>()?.value(row), cap)?,
            Self::Array(item, _) => list(item, &array.as_fixed_size_list_opt()?.value(row), cap)?,
            Self::Struct(members) => {
                let columns = array.as_struct_opt()?.columns();
                let mut object = Map::new();
                for ((name, kind), column) in members.iter().zip(columns) {
                    object.insert(name.clone(), kind.read(column, row, cap)?.to_json());
                }
                Cell::Json(Value::Object(object))
            }
            Self::Map(key, item) => {
                let entries = array.as_map_opt()?.value(row);
                let [keys, values] = entries.columns() else {
                    return None;
                };
                let mut object = Map::new();
                for position in 0..entries.len() {
                    let key = key.read(keys, position, cap)?.to_text()?;
                    object.insert(key, item.read(values, position, cap)?.to_json());
                }
                Cell::Json(Value::Object(object))
            }
            Self::Union(members) => union(members, array.as_any().downcast_ref()?, row, cap)?,
        })
    }
}

fn value<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
    Some(array.as_primitive_opt::<T>()?.value(row))
}

fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    Some(array.as_binary_opt::<i32>()?.value(row))
}

fn fixed<const N: usize>(array: &dyn Array, row: usize) -> Option<[u8; N]> {
    array.as_fixed_size_binary_opt()?.value(row).try_into().ok()
}

fn head(array: &dyn Array, row: usize, cap: usize) -> Option<&str> {
    let text = array.as_string_opt::<i32>()?.value(row);
    text.get(..text.floor_char_boundary(cap.saturating_add(8)))
}

fn json(array: &dyn Array, row: usize, cap: usize) -> Option<Cell> {
    let text = array.as_string_opt::<i32>()?.value(row);
    if text.len() <= cap
        && let Some(value) = document::read(text)
    {
        return Some(Cell::Json(value));
    }
    Some(Cell::Text(head(array, row, cap)?.to_owned()))
}

fn whole(digits: String) -> Cell {
    match (digits.parse::<i64>(), digits.parse::<u64>()) {
        (Ok(number), _) => Cell::Int(number),
        (Err(_), Ok(number)) => Cell::UInt(number),
        (Err(_), Err(_)) => Cell::Decimal(digits),
    }
}

fn time(unit: TimeUnit, array: &dyn Array, row: usize) -> Option<i64> {
    match unit {
        TimeUnit::Microsecond => value::<Time64MicrosecondType>(array, row),
        TimeUnit::Nanosecond => value::<Time64NanosecondType>(array, row),
        TimeUnit::Second | TimeUnit::Millisecond => None,
    }
}

fn instant(unit: TimeUnit, array: &dyn Array, row: usize) -> Option<i64> {
    match unit {
        TimeUnit::Second => value::<TimestampSecondType>(array, row),
        TimeUnit::Millisecond => value::<TimestampMillisecondType>(array, row),
        TimeUnit::Microsecond => value::<TimestampMicrosecondType>(array, row),
        TimeUnit::Nanosecond => value::<TimestampNanosecondType>(array, row),
    }
}

fn member(index: EnumIndex, array: &dyn Array, row: usize) -> Option<String> {
    let (key, values): (usize, &ArrayRef) = match index {
        EnumIndex::Byte => {
            let array = array.as_dictionary_opt::<UInt8Type>()?;
            (array.keys().value(row).into(), array.values())
        }
        EnumIndex::Short => {
            let array = array.as_dictionary_opt::<UInt16Type>()?;
            (array.keys().value(row).into(), array.values())
        }
        EnumIndex::Word => {
            let array = array.as_dictionary_opt::<UInt32Type>()?;
            (array.keys().value(row).try_into().ok()?, array.values())
        }
    };
    let values = values.as_string_opt::<i32>()?;
    (key < values.len()).then(|| values.value(key).to_owned())
}

fn list(item: &ArrowKind, items: &ArrayRef, cap: usize) -> Option<Cell> {
    let mut values = Vec::with_capacity(items.len());
    for position in 0..items.len() {
        values.push(item.read(items, position, cap)?.to_json());
    }
    Some(Cell::Json(Value::Array(values)))
}

fn union(
    members: &[(i8, String, ArrowKind)],
    array: &UnionArray,
    row: usize,
    cap: usize,
) -> Option<Cell> {
    let number = array.type_id(row);
    let (_, name, kind) = members.iter().find(|(id, _, _)| *id == number)?;
    let cell = kind.read(array.child(number), array.value_offset(row), cap)?;
    if cell == Cell::Null {
        return Some(Cell::Null);
    }
    let mut object = Map::new();
    object.insert(name.clone(), cell.to_json());
    Some(Cell::Json(Value::Object(object)))
}
