//! Decodes arrays, ranges and rows.

use ktx_warehouse::Cell;
use serde_json::{Map, Value};
use tokio_postgres::types::{Field, Kind, Type};

use super::cell::{ByteReader, RawValue, decode};

const DIMENSIONS: usize = 6;

/// Returns a nested JSON list without the index of the first element.
pub(super) fn array(element: &Type, raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    let dimensions = bytes.count()?;
    let (_has_null, _element) = (bytes.i32()?, bytes.u32()?);
    if dimensions > DIMENSIONS {
        return None;
    }
    let lengths: Vec<usize> = (0..dimensions)
        .map(|_| {
            let length = bytes.count()?;
            bytes.i32()?;
            Some(length)
        })
        .collect::<Option<_>>()?;
    // An element has at least four length bytes, so a bad count cannot allocate more.
    let elements = lengths
        .iter()
        .try_fold(1_usize, |product, length| product.checked_mul(*length))?;
    if dimensions == 0 || elements == 0 {
        return bytes
            .is_empty()
            .then(|| Cell::Json(Value::Array(Vec::new())));
    }
    if elements > bytes.0.len() / 4 {
        return None;
    }
    let list = nested(element, &lengths, &mut bytes)?;
    bytes.is_empty().then_some(Cell::Json(list))
}

fn nested(element: &Type, lengths: &[usize], bytes: &mut ByteReader<'_>) -> Option<Value> {
    let Some((length, inner)) = lengths.split_first() else {
        return bytes.value().map(|raw| value(element, raw));
    };
    let items: Vec<Value> = (0..*length)
        .map(|_| nested(element, inner, bytes))
        .collect::<Option<_>>()?;
    Some(Value::Array(items))
}

fn value(ty: &Type, raw: RawValue<'_>) -> Value {
    match raw {
        RawValue::Null => Value::Null,
        RawValue::Bytes(raw) => decode(ty, raw).to_json(),
    }
}

fn present<'a>(bytes: &mut ByteReader<'a>) -> Option<&'a [u8]> {
    match bytes.value()? {
        RawValue::Null => None,
        RawValue::Bytes(raw) => Some(raw),
    }
}

/// `[from,to)`, or `empty`.
pub(super) fn range(element: &Type, raw: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(raw);
    let flags = bytes.byte()?;
    let has = |flag: u8| flags & flag != 0;
    if has(0x01) {
        return Some("empty".to_owned());
    }
    let mut bound = |unbounded: bool| -> Option<String> {
        if unbounded {
            return Some(String::new());
        }
        Some(
            decode(element, present(&mut bytes)?)
                .to_text()
                .unwrap_or_default(),
        )
    };
    let lower = bound(has(0x08))?;
    let upper = bound(has(0x10))?;
    let open = if has(0x02) { '[' } else { '(' };
    let close = if has(0x04) { ']' } else { ')' };
    Some(format!("{open}{lower},{upper}{close}"))
}

pub(super) fn multirange(ty: &Type, raw: &[u8]) -> Option<String> {
    // The driver names the range or its element, depending on its version.
    let element = match ty.kind() {
        Kind::Range(element) => element,
        _ => ty,
    };
    let mut bytes = ByteReader(raw);
    let count = bytes.count()?;
    let ranges: Vec<String> = (0..count)
        .map(|_| range(element, present(&mut bytes)?))
        .collect::<Option<_>>()?;
    Some(format!("{{{}}}", ranges.join(",")))
}

pub(super) fn named(fields: &[Field], raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    if bytes.count()? != fields.len() {
        return None;
    }
    let mut object = Map::new();
    for field in fields {
        bytes.u32()?;
        object.insert(
            field.name().to_owned(),
            value(field.type_(), bytes.value()?),
        );
    }
    Some(Cell::Json(Value::Object(object)))
}

pub(super) fn anonymous(raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    let count = bytes.count()?;
    let items: Vec<Value> = (0..count)
        .map(|_| {
            let ty = Type::from_oid(bytes.u32()?).unwrap_or(Type::BYTEA);
            Some(value(&ty, bytes.value()?))
        })
        .collect::<Option<_>>()?;
    Some(Cell::Json(Value::Array(items)))
}
