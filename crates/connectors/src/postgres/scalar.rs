//! Decodes text, bytes, documents, addresses, shapes and common extension types.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ktx_warehouse::Cell;
use serde_json::{Map, Value};
use tokio_postgres::types::Type;

use super::cell::{ByteReader, RawValue};
use super::number::widen;
use crate::document;

pub(super) fn text(raw: &[u8]) -> Option<String> {
    std::str::from_utf8(raw).ok().map(str::to_owned)
}

pub(super) fn decode(ty: &Type, raw: &[u8]) -> Option<Cell> {
    match *ty {
        Type::TEXT
        | Type::VARCHAR
        | Type::BPCHAR
        | Type::NAME
        | Type::UNKNOWN
        | Type::XML
        | Type::CSTRING
        | Type::REFCURSOR
        | Type::CHAR => text(raw).map(Cell::Text),
        Type::BYTEA => Some(Cell::Bytes(raw.to_vec())),
        Type::JSON => json(raw),
        Type::JSONB => json(versioned(raw)?),
        Type::JSONPATH => text(versioned(raw)?).map(Cell::Text),
        Type::UUID => uuid(raw).map(Cell::Text),
        Type::INET | Type::CIDR => address(raw).map(Cell::Text),
        Type::MACADDR | Type::MACADDR8 => Some(Cell::Text(hex(raw, ":"))),
        Type::BIT | Type::VARBIT => bits(raw).map(Cell::Text),
        Type::PG_LSN => {
            let mut bytes = ByteReader(raw);
            Some(Cell::Text(format!("{:X}/{:X}", bytes.u32()?, bytes.u32()?)))
        }
        Type::VOID => Some(Cell::Text(String::new())),
        Type::TS_VECTOR => lexemes(raw).map(Cell::Text),
        Type::POINT
        | Type::LSEG
        | Type::BOX
        | Type::PATH
        | Type::POLYGON
        | Type::CIRCLE
        | Type::LINE => shape(ty, raw).map(Cell::Text),
        _ => match ty.name() {
            "citext" => text(raw).map(Cell::Text),
            "ltree" | "lquery" | "ltxtquery" => text(versioned(raw)?).map(Cell::Text),
            "hstore" => pairs(raw),
            "vector" => vector(raw),
            _ => None,
        },
    }
}

/// Invalid, too deep or non-UTF-8 documents stay text.
fn json(raw: &[u8]) -> Option<Cell> {
    let text = text(raw)?;
    Some(document::read(&text).map_or(Cell::Text(text), Cell::Json))
}

fn versioned(raw: &[u8]) -> Option<&[u8]> {
    raw.strip_prefix(&[1])
}

fn hex(raw: &[u8], separator: &str) -> String {
    let pairs: Vec<String> = raw.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(separator)
}

fn uuid(raw: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(raw);
    let groups: Vec<String> = [4, 2, 2, 2, 6]
        .into_iter()
        .map(|length| bytes.take(length).map(|group| hex(group, "")))
        .collect::<Option<_>>()?;
    bytes.is_empty().then(|| groups.join("-"))
}

fn address(raw: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(raw);
    let (_family, prefix, network, length) =
        (bytes.byte()?, bytes.byte()?, bytes.byte()?, bytes.byte()?);
    let octets = bytes.take(usize::from(length))?;
    let (address, whole) = match length {
        4 => (
            IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?)),
            32,
        ),
        16 => (
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)),
            128,
        ),
        _ => return None,
    };
    Some(if network != 0 || prefix != whole {
        format!("{address}/{prefix}")
    } else {
        address.to_string()
    })
}

fn bits(raw: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(raw);
    let count = bytes.count()?;
    let octets: Vec<String> = bytes.0.iter().map(|byte| format!("{byte:08b}")).collect();
    octets.concat().get(..count).map(str::to_owned)
}

fn lexemes(raw: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(raw);
    let count = bytes.count()?;
    let mut words = Vec::new();
    for _ in 0..count {
        let end = bytes.0.iter().position(|byte| *byte == 0)?;
        let word = text(bytes.take(end)?)?.replace('\'', "''");
        bytes.byte()?;
        let places: Vec<String> = (0..bytes.u16()?)
            .map(|_| {
                let place = bytes.u16()?;
                let weight = ["", "C", "B", "A"].get(usize::from(place >> 14))?;
                Some(format!("{}{weight}", place & 0x3fff))
            })
            .collect::<Option<_>>()?;
        let colon = if places.is_empty() { "" } else { ":" };
        words.push(format!("'{word}'{colon}{}", places.join(",")));
    }
    Some(words.join(" "))
}

fn shape(ty: &Type, raw: &[u8]) -> Option<String> {
    let mut bytes = ByteReader(raw);
    match *ty {
        Type::POINT => point(&mut bytes),
        Type::LSEG => Some(format!("[{},{}]", point(&mut bytes)?, point(&mut bytes)?)),
        Type::BOX => Some(format!("{},{}", point(&mut bytes)?, point(&mut bytes)?)),
        Type::CIRCLE => Some(format!("<{},{}>", point(&mut bytes)?, bytes.f64()?)),
        Type::LINE => Some(format!(
            "{{{},{},{}}}",
            bytes.f64()?,
            bytes.f64()?,
            bytes.f64()?
        )),
        Type::POLYGON => points(&mut bytes).map(|points| format!("({points})")),
        Type::PATH => {
            let closed = bytes.byte()? != 0;
            let points = points(&mut bytes)?;
            Some(if closed {
                format!("({points})")
            } else {
                format!("[{points}]")
            })
        }
        _ => None,
    }
}

fn point(bytes: &mut ByteReader<'_>) -> Option<String> {
    Some(format!("({},{})", bytes.f64()?, bytes.f64()?))
}

fn points(bytes: &mut ByteReader<'_>) -> Option<String> {
    let count = bytes.count()?;
    let points: Vec<String> = (0..count).map(|_| point(bytes)).collect::<Option<_>>()?;
    Some(points.join(","))
}

fn pairs(raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    let count = bytes.count()?;
    let mut object = Map::new();
    for _ in 0..count {
        let RawValue::Bytes(key) = bytes.value()? else {
            return None;
        };
        let value = match bytes.value()? {
            RawValue::Bytes(raw) => Value::String(text(raw)?),
            RawValue::Null => Value::Null,
        };
        object.insert(text(key)?, value);
    }
    Some(Cell::Json(Value::Object(object)))
}

fn vector(raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    let count = bytes.u16()?;
    bytes.u16()?;
    let numbers: Vec<Value> = (0..count)
        .map(|_| {
            bytes
                .u32()
                .map(|bits| Value::from(widen(f32::from_bits(bits))))
        })
        .collect::<Option<_>>()?;
    Some(Cell::Json(Value::Array(numbers)))
}
