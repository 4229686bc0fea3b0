//! SQLite's optional math functions, with the same results: NULL for non-numbers and undefined
//! results.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

type UnaryFunction = fn(f64) -> f64;
type BinaryFunction = fn(f64, f64) -> f64;

const OF_ONE: &[(&str, UnaryFunction)] = &[
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", |x| x * (180.0 / std::f64::consts::PI)),
    ("exp", f64::exp),
    ("radians", |x| x * (std::f64::consts::PI / 180.0)),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];

const LOGARITHMS: &[(&str, UnaryFunction)] = &[
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
];

/// Whole numbers stay unchanged.
const ROUNDING: &[(&str, UnaryFunction)] = &[
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("floor", f64::floor),
    ("trunc", f64::trunc),
];

const OF_TWO: &[(&str, BinaryFunction)] = &[
    ("atan2", f64::atan2),
    ("mod", |x, y| x % y),
    ("pow", f64::powf),
    ("power", f64::powf),
];

pub(super) fn add(session: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    for &(name, compute) in OF_ONE {
        session.create_scalar_function(name, 1, flags, move |context| {
            Ok(real(context, 0).map(compute))
        })?;
    }
    for &(name, compute) in LOGARITHMS {
        session.create_scalar_function(name, 1, flags, move |context| {
            Ok(positive(context, 0).map(compute))
        })?;
    }
    session.create_scalar_function("log", 2, flags, |context| Ok(logarithm(context)))?;
    for &(name, compute) in ROUNDING {
        session.create_scalar_function(name, 1, flags, move |context| {
            Ok(match number(context.get_raw(0)) {
                Some(SqlNumber::Whole(whole)) => Value::Integer(whole),
                Some(SqlNumber::Real(real)) => Value::Real(compute(real)),
                None => Value::Null,
            })
        })?;
    }
    for &(name, compute) in OF_TWO {
        session.create_scalar_function(name, 2, flags, move |context| {
            Ok(real(context, 0)
                .zip(real(context, 1))
                .map(|(first, second)| compute(first, second)))
        })?;
    }
    session.create_scalar_function("pi", 0, flags, |_| Ok(std::f64::consts::PI))
}

/// `log(base, x)` is undefined for a base up to one.
fn logarithm(context: &Context<'_>) -> Option<f64> {
    let base = positive(context, 0)?.ln();
    let value = positive(context, 1)?;
    (base > 0.0).then(|| value.ln() / base)
}

fn positive(context: &Context<'_>, index: usize) -> Option<f64> {
    real(context, index).filter(|value| *value > 0.0)
}

fn real(context: &Context<'_>, index: usize) -> Option<f64> {
    match number(context.get_raw(index))? {
        #[expect(
            clippy::cast_precision_loss,
            reason = "SQLite computes with the nearest double as well"
        )]
        SqlNumber::Whole(whole) => Some(whole as f64),
        SqlNumber::Real(real) => Some(real),
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum SqlNumber {
    Whole(i64),
    Real(f64),
}

/// Blobs are not numbers; text must be entirely numeric.
fn number(value: ValueRef<'_>) -> Option<SqlNumber> {
    match value {
        ValueRef::Integer(whole) => Some(SqlNumber::Whole(whole)),
        ValueRef::Real(real) => Some(SqlNumber::Real(real)),
        ValueRef::Text(bytes) => written(std::str::from_utf8(bytes).ok()?),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn written(text: &str) -> Option<SqlNumber> {
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    // Rust also parses `inf` and `nan`.
    let plain = text
        .bytes()
        .all(|letter| matches!(letter, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if !plain {
        return None;
    }
    match text.parse() {
        Ok(whole) => Some(SqlNumber::Whole(whole)),
        Err(_) => text.parse().ok().map(SqlNumber::Real),
    }
}

#[cfg(test)]
mod tests;
