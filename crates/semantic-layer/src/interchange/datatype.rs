//! The logical types of fields, as in the draft's JSON Schema.

use crate::ColumnType;

/// The name of a type, where one is meant for certain: the format tells whole, exact and approximate
/// numbers apart, and dates from timestamps, and wants nothing said when that is not known.
pub(super) const fn written(kind: ColumnType) -> Option<&'static str> {
    match kind {
        ColumnType::String => Some("String"),
        ColumnType::Boolean => Some("Boolean"),
        ColumnType::Number | ColumnType::Time => None,
    }
}

/// The type behind a name, also behind the names of earlier drafts (`number`, `timestamp_tz`). Types
/// outside of the vocabulary (`Opaque`, `other`) are nothing that is known here.
pub(super) fn read(name: &str) -> Option<ColumnType> {
    Some(match name.to_ascii_lowercase().as_str() {
        "string" => ColumnType::String,
        "integer" | "decimal" | "float" | "number" => ColumnType::Number,
        "boolean" => ColumnType::Boolean,
        "date" | "time" | "datetime" | "datetimetz" | "timestamp" | "timestamp_tz" => {
            ColumnType::Time
        }
        _ => return None,
    })
}
