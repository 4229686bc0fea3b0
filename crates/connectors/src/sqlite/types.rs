//! What a declared column type is good for.

use ktx_warehouse::DimensionType;

/// Reads a declared type. SQLite takes any text as a type; the rules follow its affinities, but
/// truth values and times, which it does not know, are recognised by name first, and a type without
/// a usual name is text and not a number.
pub(super) fn dimension(declared: &str) -> DimensionType {
    let name = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["BOOL"]) {
        DimensionType::Boolean
    } else if has(&["DATE", "TIME"]) {
        DimensionType::Time
    } else if has(&["CHAR", "CLOB", "TEXT", "STRING", "POINT", "INTERVAL"]) {
        DimensionType::String
    } else if has(&[
        "INT", "REAL", "FLOA", "DOUB", "NUM", "DEC", "MONEY", "SERIAL",
    ]) {
        DimensionType::Number
    } else {
        DimensionType::String
    }
}
