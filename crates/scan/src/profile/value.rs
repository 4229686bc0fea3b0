//! The canonical text of a value, and its hash: equal values of different types give equal hashes.

use ktx_warehouse::Cell;

/// The text by which values are compared across types; `None` for NULL and for what is never compared.
pub(crate) fn canonical(cell: &Cell) -> Option<String> {
    Some(match cell {
        Cell::Null | Cell::Bytes(_) | Cell::Json(_) => return None,
        Cell::Bool(value) => if *value { "true" } else { "false" }.to_owned(),
        Cell::Int(value) => value.to_string(),
        Cell::UInt(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Decimal(text) => plain_decimal(text),
        Cell::Text(text) => plain_text(text),
        Cell::Date(text) | Cell::Time(text) | Cell::Timestamp(text) => text.clone(),
    })
}

/// A decimal without closing zeros after the point: `12.50` and `12.5` are one value.
fn plain_decimal(text: &str) -> String {
    if !text.contains('.') {
        return text.to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text without the padding of fixed-width types; UUIDs in lower case.
fn plain_text(text: &str) -> String {
    let trimmed = text.trim_end();
    if is_uuid(trimmed) {
        return trimmed.to_ascii_lowercase();
    }
    trimmed.to_owned()
}

/// Whether the text has the shape of a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The whole number that a canonical text spells, if it does so in the only plain way.
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty()
        && digits.len() <= 19
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'));
    // Of nineteen digits not all fit.
    if plain { text.parse().ok() } else { None }
}

/// Where a whole number stands in a range: those too large for it stand at its end.
pub(crate) fn range_number(text: &str) -> Option<i64> {
    let unsigned = || text.parse::<u64>().ok().filter(|_| text.len() >= 19);
    whole_number(text).or_else(|| unsigned().map(|_| i64::MAX))
}

/// A 64-bit hash of a canonical text. Stored in stage rows: must never change.
///
/// FNV-1a over the bytes, then a finishing mix that spreads short texts over all bits.
pub(crate) fn hash(text: &str) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        state ^= u64::from(byte);
        state = state.wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(state)
}

/// Joins two hashes into the hash of a tuple.
pub(crate) fn join_hashes(left: u64, right: u64) -> u64 {
    mix(left.rotate_left(17) ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn mix(mut state: u64) -> u64 {
    state ^= state >> 33;
    state = state.wrapping_mul(0xff51_afd7_ed55_8ccd);
    state ^= state >> 33;
    state = state.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    state ^ (state >> 33)
}

/// Texts that stand for "no value" in columns that refer to something.
const SENTINELS: &[&str] = &[
    "-1", "0", "", "unknown", "UNKNOWN", "Unknown", "n/a", "N/A", "NA", "none", "None", "null",
    "NULL", "-", "?", "-9999",
];

/// Hashes of the values that stand for "no value", sorted.
pub(crate) fn sentinel_hashes() -> Vec<u64> {
    let mut hashes: Vec<u64> = SENTINELS.iter().map(|text| hash(text)).collect();
    hashes.sort_unstable();
    hashes
}
