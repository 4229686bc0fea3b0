//! Type names as ClickHouse spells them. It tells upper and lower case apart; the parser prints the names
//! that other databases share in capitals.

use sqlparser::ast::{DataType, Ident, ObjectName};

/// Gives a type the spelling that ClickHouse knows.
pub(crate) fn spell(kind: &mut DataType) {
    let name = match kind {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => return spell(inner),
        DataType::String(None) => "String",
        DataType::Int8(None) => "Int8",
        DataType::Int16 => "Int16",
        DataType::Int32 => "Int32",
        DataType::Int64 => "Int64",
        DataType::Int128 => "Int128",
        DataType::Int256 => "Int256",
        DataType::Float32 => "Float32",
        DataType::Float64 => "Float64",
        DataType::Bool => "Bool",
        _ => return,
    };
    *kind = named(name);
}

/// The same for a value that a look-up may not have found: a type that takes no NULL would fail on it.
pub(crate) fn spell_with_null(kind: &mut DataType) {
    spell(kind);
    match kind {
        DataType::Nullable(_)
        | DataType::Array(_)
        | DataType::Map(..)
        | DataType::Tuple(_)
        | DataType::Nested(_)
        | DataType::JSON => {}
        DataType::LowCardinality(inner) => spell_with_null(inner),
        kind => *kind = DataType::Nullable(Box::new(kind.clone())),
    }
}

/// Whether a type, as a scan has written it, cannot be made to take NULL.
pub(crate) fn takes_no_null(native: &str) -> bool {
    let native = native.trim().to_ascii_lowercase();
    let kinds = ["array(", "map(", "tuple(", "nested(", "aggregatefunction("];
    kinds.iter().any(|kind| native.starts_with(kind))
}

fn named(name: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new())
}
