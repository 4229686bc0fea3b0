//! Canonical texts and hashes: equal values of different types have equal hashes.

use std::borrow::Cow;

use ktx_warehouse::Cell;

/// Returns `None` for NULL and values that are never compared.
pub fn canonical(cell: &Cell) -> Option<String> {
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

/// `12.50` and `12.5` are one value.
fn plain_decimal(text: &str) -> String {
    if !text.contains('.') {
        return text.to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Strips padding and lower-cases UUIDs.
fn plain_text(text: &str) -> String {
    let trimmed = text.trim_end();
    if is_uuid(trimmed) {
        return trimmed.to_ascii_lowercase();
    }
    trimmed.to_owned()
}

/// Ignores case, outer and repeated spaces, and leading zeros of a number.
pub fn folded(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if number {
        let rest = text.trim_start_matches('0');
        return Cow::Borrowed(if rest.is_empty() { "0" } else { rest });
    }
    let plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b'\t';
    let at_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
    if bytes.iter().all(plain)
        && !at_end(bytes.first())
        && !at_end(bytes.last())
        && !text.contains("  ")
    {
        return Cow::Borrowed(text);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    Cow::Owned(words.join(" ").to_lowercase())
}

/// Parses a day as days since January 1, 1970. Accepts `2024-01-31`, with or without midnight, and
/// `20240131`.
pub fn day_number(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        // Four digits always parse.
        if plain { digits.parse().ok() } else { None }
    };
    let marked = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    let (year, month, day) = if text.len() == 8 {
        (number(0, 4)?, number(4, 6)?, number(6, 8)?)
    } else if marked && is_midnight(text.get(10..)?) {
        (number(0, 4)?, number(5, 7)?, number(8, 10)?)
    } else {
        return None;
    };
    if !(1800..=2200).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    (1..=days_of(year, month)).contains(&day).then(|| {
        // The year begins in March, so that the leap day is its last day.
        let year = if month <= 2 { year - 1 } else { year };
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let leaps = year / 4 - year / 100 + year / 400;
        year * 365 + leaps + of_year - 719_468
    })
}

/// Accepts `2024-01-31` and `2024-01-31 08:30`, with `T` or a space, seconds, a fraction and an
/// offset.
pub fn is_time(text: &str) -> bool {
    let Some((day, rest)) = text.split_at_checked(10) else {
        return false;
    };
    if day_number(day).is_none() {
        return false;
    }
    let Some(clock) = rest.strip_prefix([' ', 'T']) else {
        return rest.is_empty();
    };
    let clock = clock.strip_suffix('Z').unwrap_or_else(|| {
        let offset = clock.len().checked_sub(6);
        let parts = offset.and_then(|at| clock.split_at_checked(at));
        match parts {
            Some((clock, offset))
                if offset.starts_with(['+', '-']) && is_clock(offset.get(1..)) =>
            {
                clock
            }
            _ => clock,
        }
    });
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_fraction && is_clock(Some(whole))
}

fn is_clock(text: Option<&str>) -> bool {
    let parts: Vec<&str> = text.unwrap_or_default().split(':').collect();
    let limits = ["24", "60", "60"];
    (2..=3).contains(&parts.len())
        && parts.iter().zip(limits).all(|(part, limit)| {
            part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()) && *part < limit
        })
}

pub fn day_of_midnight(mut text: String) -> String {
    if text
        .get(10..)
        .is_some_and(|rest| !rest.is_empty() && is_midnight(rest))
    {
        text.truncate(10);
    }
    text
}

/// Takes days since 1970. Returns year, month and zero-based day.
pub fn month_of(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let before = of_year - (153 * march + 2) / 5;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, before)
}

fn days_of(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_midnight(rest: &str) -> bool {
    rest.is_empty()
        || (rest.starts_with(['T', ' '])
            && !rest
                .bytes()
                .any(|byte| byte.is_ascii_digit() && byte != b'0'))
}

pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

pub fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty()
        && digits.len() <= 19
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'));
    // Nineteen digits can exceed the type.
    if plain { text.parse().ok() } else { None }
}

/// Larger numbers count as the maximum.
pub fn range_number(text: &str) -> Option<i64> {
    let unsigned = || text.parse::<u64>().ok().filter(|_| text.len() >= 19);
    whole_number(text).or_else(|| unsigned().map(|_| i64::MAX))
}

/// Stored, so it must never change. FNV-1a, then a mix that spreads short texts over all bits.
pub fn hash(text: &str) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        state ^= u64::from(byte);
        state = state.wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(state)
}

pub fn join_hashes(left: u64, right: u64) -> u64 {
    mix(left.rotate_left(17) ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn mix(mut state: u64) -> u64 {
    state ^= state >> 33;
    state = state.wrapping_mul(0xff51_afd7_ed55_8ccd);
    state ^= state >> 33;
    state = state.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    state ^ (state >> 33)
}

/// Placeholders for "no value".
const SENTINELS: &[&str] = &[
    "-1", "0", "", "unknown", "UNKNOWN", "Unknown", "n/a", "N/A", "NA", "none", "None", "null",
    "NULL", "-", "?", "-9999",
];

pub fn sentinel_hashes() -> Vec<u64> {
    let mut hashes: Vec<u64> = SENTINELS.iter().map(|text| hash(text)).collect();
    hashes.sort_unstable();
    hashes
}
