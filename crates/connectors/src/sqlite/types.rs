//! Maps declared column types to dimension types.

use ktx_warehouse::DimensionType;

/// SQLite accepts any text as a type. The rules follow its affinities, with two exceptions:
/// booleans and times, which SQLite does not have, are recognized by name first, and a type without
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
