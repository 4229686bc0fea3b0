//! Decodes PostgreSQL's binary format.

use std::error::Error;

use ktx_warehouse::Cell;
use tokio_postgres::types::{FromSql, Kind, Type};

use super::{composite, number, scalar};

/// Unknown types and malformed values remain raw bytes.
pub(super) struct PgCell(pub(super) Cell);

impl<'a> FromSql<'a> for PgCell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(decode(ty, raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Cell::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

pub(super) fn decode(ty: &Type, raw: &[u8]) -> Cell {
    let known = match ty.kind() {
        Kind::Enum(_) => scalar::text(raw).map(Cell::Text),
        Kind::Domain(base) => Some(decode(base, raw)),
        Kind::Array(element) => composite::array(element, raw),
        Kind::Range(element) => composite::range(element, raw).map(Cell::Text),
        Kind::Multirange(range) => composite::multirange(range, raw).map(Cell::Text),
        Kind::Composite(fields) => composite::named(fields, raw),
        _ if *ty == Type::RECORD => composite::anonymous(raw),
        _ => number::decode(ty, raw).or_else(|| scalar::decode(ty, raw)),
    };
    known.unwrap_or_else(|| Cell::Bytes(raw.to_vec()))
}

#[derive(Debug, Clone, Copy)]
pub(super) enum RawValue<'a> {
    Null,
    Bytes(&'a [u8]),
}

pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(length)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok() // `take` gives exactly N bytes.
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn i16(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_be_bytes)
    }

    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.i32()?).ok() // A negative count is a broken value.
    }

    pub(super) fn value(&mut self) -> Option<RawValue<'a>> {
        match self.i32()? {
            -1 => Some(RawValue::Null),
            length => self
                .take(usize::try_from(length).ok()?)
                .map(RawValue::Bytes), // As above.
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
