//! The logical types of fields in the draft's JSON Schema.

use ktx_semantic_layer::authored::ColumnType;

/// Returns `None` if uncertain: the format distinguishes integers, exact and approximate numbers,
/// and dates from timestamps.
pub(super) const fn written(kind: ColumnType) -> Option<&'static str> {
    match kind {
        ColumnType::String => Some("String"),
        ColumnType::Boolean => Some("Boolean"),
        ColumnType::Number | ColumnType::Time => None,
    }
}

/// Also reads earlier drafts (`number`, `timestamp_tz`). Types outside the vocabulary (`Opaque`,
/// `other`) are unknown.
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
