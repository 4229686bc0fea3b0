//! Positions and type families of columns.

use ktx_warehouse::{Column, DimensionType};
use serde::{Deserialize, Serialize};

/// Positions in the snapshot and in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId {
    pub table: usize,
    pub column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeFamily {
    /// Includes exact decimals.
    Integer,
    Float,
    Text,
    Uuid,
    Boolean,
    Time,
    /// Binary, JSON, arrays, shapes.
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

    pub const fn comparable(self, other: Self) -> bool {
        self.can_be_key() && other.can_be_key()
    }
}
