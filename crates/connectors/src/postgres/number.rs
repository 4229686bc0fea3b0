//! Decodes numbers, booleans, dates and times.

use ktx_warehouse::Cell;
use tokio_postgres::types::Type;

use super::cell::ByteReader;
use crate::clock;

/// Days from 1970-01-01 to PostgreSQL's epoch, 2000-01-01.
const EPOCH_DAYS: i64 = 10_957;

pub(super) fn decode(ty: &Type, raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    let cell = match *ty {
        Type::BOOL => Cell::Bool(bytes.byte()? != 0),
        Type::INT2 => Cell::Int(i64::from(bytes.i16()?)),
        Type::INT4 => Cell::Int(i64::from(bytes.i32()?)),
        Type::INT8 => Cell::Int(bytes.i64()?),
        Type::OID
        | Type::XID
        | Type::CID
        | Type::REGPROC
        | Type::REGPROCEDURE
        | Type::REGOPER
        | Type::REGOPERATOR
        | Type::REGCLASS
        | Type::REGTYPE
        | Type::REGCONFIG
        | Type::REGDICTIONARY
        | Type::REGNAMESPACE
        | Type::REGROLE
        | Type::REGCOLLATION => Cell::Int(i64::from(bytes.u32()?)),
        Type::XID8 => {
            let value = u64::from_be_bytes(bytes.i64()?.to_be_bytes());
            i64::try_from(value).map_or(Cell::UInt(value), Cell::Int)
        }
        Type::FLOAT4 => Cell::Float(widen(f32::from_bits(bytes.u32()?))),
        Type::FLOAT8 => Cell::Float(bytes.f64()?),
        Type::NUMERIC => return numeric(raw),
        Type::MONEY => Cell::Decimal(hundredths(bytes.i64()?)),
        Type::DATE => Cell::Date(date(bytes.i32()?)),
        Type::TIME => Cell::Time(clock::time(bytes.i64()?)),
        Type::TIMETZ => {
            let time = clock::time(bytes.i64()?);
            Cell::Time(format!("{time}{}", offset(bytes.i32()?.checked_neg()?)))
        }
        Type::TIMESTAMP => Cell::Timestamp(timestamp(bytes.i64()?, "")),
        Type::TIMESTAMPTZ => Cell::Timestamp(timestamp(bytes.i64()?, "+00")),
        Type::INTERVAL => {
            let (micros, days, months) = (bytes.i64()?, bytes.i32()?, bytes.i32()?);
            Cell::Text(interval(micros, days, months))
        }
        _ => return None,
    };
    bytes.is_empty().then_some(cell)
}

/// The double with the same shortest text: 0.1 stays 0.1.
pub(super) fn widen(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn hundredths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let value = value.unsigned_abs();
    format!("{sign}{}.{:02}", value / 100, value % 100)
}

fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        days => {
            let (date, suffix) = clock::date(i64::from(days) + EPOCH_DAYS);
            format!("{date}{suffix}")
        }
    }
}

fn timestamp(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        micros => {
            let (date, suffix) = clock::date(micros.div_euclid(clock::DAY_MICROS) + EPOCH_DAYS);
            let time = clock::time(micros.rem_euclid(clock::DAY_MICROS));
            format!("{date} {time}{zone}{suffix}")
        }
    }
}

/// `+HH[:MM[:SS]]`, east of Greenwich.
fn offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.unsigned_abs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (minutes, seconds) {
        (0, 0) => format!("{sign}{hours:02}"),
        (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Uses the server's default style, such as `1 year 2 mons -3 days +04:05:06`.
fn interval(micros: i64, days: i32, months: i32) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut negative_before = false;
    for (count, unit, several) in [
        (months / 12, "year", "years"),
        (months % 12, "mon", "mons"),
        (days, "day", "days"),
    ] {
        if count != 0 {
            let sign = if negative_before && count > 0 {
                "+"
            } else {
                ""
            };
            parts.push(format!(
                "{sign}{count} {}",
                if count == 1 { unit } else { several }
            ));
            negative_before = count < 0;
        }
    }
    if micros != 0 || parts.is_empty() {
        let sign = match (micros < 0, negative_before) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let micros = micros.checked_abs().unwrap_or(i64::MAX);
        parts.push(format!("{sign}{}", clock::time(micros)));
    }
    parts.join(" ")
}

fn numeric(raw: &[u8]) -> Option<Cell> {
    let mut bytes = ByteReader(raw);
    let count = bytes.u16()?;
    let weight = i32::from(bytes.i16()?);
    let sign = bytes.u16()?;
    let scale = usize::from(bytes.u16()?);
    let negative = match sign {
        0x0000 => false,
        0x4000 => true,
        0xC000 => return Some(Cell::Float(f64::NAN)),
        0xD000 => return Some(Cell::Float(f64::INFINITY)),
        0xF000 => return Some(Cell::Float(f64::NEG_INFINITY)),
        _ => return None,
    };
    let digits: Vec<u16> = (0..count).map(|_| bytes.u16()).collect::<Option<_>>()?;
    let digit = |position: i32| {
        usize::try_from(position)
            .ok()
            .and_then(|index| digits.get(index))
            .copied()
            .unwrap_or(0)
    };
    let group = |position: i32| format!("{:04}", digit(position));
    let whole = if weight < 0 {
        "0".to_owned()
    } else {
        digit(0).to_string() + &(1..=weight).map(group).collect::<Vec<String>>().concat()
    };
    let sign = if negative { "-" } else { "" };
    let groups = i32::try_from(scale.div_ceil(4)).unwrap_or(0);
    let places = (weight + 1..=weight + groups)
        .map(group)
        .collect::<Vec<String>>()
        .concat();
    let text = match places.get(..scale) {
        Some("") | None => format!("{sign}{whole}"),
        Some(places) => format!("{sign}{whole}.{places}"),
    };
    bytes.is_empty().then_some(Cell::Decimal(text))
}
