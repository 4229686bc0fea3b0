//! Columns: their positions, and which of their types can be compared.

use ktx_warehouse::{Column, DimensionType};
use serde::{Deserialize, Serialize};

/// The positions of a table in the snapshot and of a column in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId {
    pub table: usize,
    pub column: usize,
}

/// The kind of values of a column, by its declared type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeFamily {
    /// Integers, and exact decimals that may hold integers.
    Integer,
    Float,
    Text,
    Uuid,
    Boolean,
    Time,
    /// Types that are neither compared nor listed: binary, JSON, arrays, shapes.
    Opaque,
}

const OPAQUE: &[&str] = &[
    "blob",
    "bytea",
    "binary",
    "image",
    "json",
    "xml",
    "geometry",
    "geography",
    "vector",
    "array",
    "struct",
    "map",
    "record",
    "object",
    "variant",
    "hstore",
    "tsvector",
    "super",
    "bytes",
];
const FLOATS: &[&str] = &["float", "double", "real", "money"];

impl TypeFamily {
    pub fn of(column: &Column) -> Self {
        let name = column.normalized_type.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if name.contains("[]") || has(OPAQUE) {
            return Self::Opaque;
        }
        if name.contains("uuid") || name.contains("uniqueidentifier") {
            return Self::Uuid;
        }
        match column.dimension_type {
            DimensionType::Time => Self::Time,
            DimensionType::Boolean => Self::Boolean,
            DimensionType::Number if has(FLOATS) => Self::Float,
            DimensionType::Number => Self::Integer,
            DimensionType::String => Self::Text,
        }
    }

    pub const fn can_be_key(self) -> bool {
        matches!(self, Self::Integer | Self::Text | Self::Uuid)
    }

    /// Returns whether values of both families can be equal.
    pub const fn comparable(self, other: Self) -> bool {
        self.can_be_key() && other.can_be_key()
    }
}
