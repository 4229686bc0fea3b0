//! ClickHouse type names, which are case-sensitive; the parser prints shared names in upper case.

use sqlparser::ast::{DataType, Ident, ObjectName};

pub fn spell(kind: &mut DataType) {
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

/// A look-up without a match would fail on NULL otherwise.
pub fn spell_with_null(kind: &mut DataType) {
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

pub fn takes_no_null(native: &str) -> bool {
    let native = native.trim().to_ascii_lowercase();
    let kinds = ["array(", "map(", "tuple(", "nested(", "aggregatefunction("];
    kinds.iter().any(|kind| native.starts_with(kind))
}

fn named(name: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![Ident::new(name)]), Vec::new())
}
