//! Maps declared column types to dimension types.

use ktx_warehouse::DimensionType;

/// Follows SQLite's affinities, except: booleans and times are recognized by name, and an unusual
/// type is text.
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
