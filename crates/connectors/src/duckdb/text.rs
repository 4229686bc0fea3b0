//! Formats values as DuckDB does.

use std::fmt::Write as _;

use arrow_schema::TimeUnit;

use crate::clock;

const DAY_SECONDS: i64 = 86_400;

/// Largest time zone offset in seconds; DuckDB counts down from it.
const GREATEST_OFFSET: i64 = 16 * 3600 - 1;

/// Days since 1970; the extremes mean infinity.
pub(super) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        days if days == -i32::MAX => "-infinity".to_owned(),
        days => day(days.into()),
    }
}

fn day(days: i64) -> String {
    let (text, era) = clock::date(days);
    if era.is_empty() {
        text
    } else {
        format!("{text} (BC)")
    }
}

const fn parts(unit: TimeUnit) -> (i64, usize) {
    match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    }
}

pub(super) fn time(unit: TimeUnit, count: i64) -> String {
    let (second, digits) = parts(unit);
    let whole = clock::time(count.div_euclid(second).saturating_mul(1_000_000));
    whole + &fraction(count.rem_euclid(second), digits)
}

fn fraction(count: i64, digits: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let text = format!("{count:0digits$}");
    format!(".{}", text.trim_end_matches('0'))
}

/// The extremes mean infinity.
pub(super) fn timestamp(unit: TimeUnit, count: i64) -> String {
    if count == i64::MAX {
        return "infinity".to_owned();
    }
    if count == -i64::MAX {
        return "-infinity".to_owned();
    }
    let (second, _) = parts(unit);
    let length = DAY_SECONDS * second;
    let of_day = time(unit, count.rem_euclid(length));
    format!("{} {of_day}", day(count.div_euclid(length)))
}

/// Upper 40 bits: microseconds; lower 24: offset.
pub(super) fn time_tz(bits: u64) -> String {
    let micros = i64::try_from(bits >> 24).unwrap_or_default();
    let coded = i64::try_from(bits & 0x00ff_ffff).unwrap_or_default();
    let offset = GREATEST_OFFSET - coded;
    let sign = if offset < 0 { '-' } else { '+' };
    let offset = offset.abs();
    let mut text = format!(
        "{}{sign}{:02}",
        time(TimeUnit::Microsecond, micros),
        offset / 3600
    );
    let rest = [
        (offset / 60 % 60, offset % 3600),
        (offset % 60, offset % 60),
    ];
    for (part, left) in rest {
        if left != 0 && write!(text, ":{part:02}").is_err() {
            break;
        }
    }
    text
}

/// Formats `1 year 2 months -3 days 04:05:06.7`.
pub(super) fn interval(months: i32, days: i32, nanos: i64) -> String {
    let mut words = Vec::new();
    for (count, word) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        if count != 0 {
            let plural = if count.abs() == 1 { "" } else { "s" };
            words.push(format!("{count} {word}{plural}"));
        }
    }
    if nanos != 0 {
        let sign = if nanos < 0 { "-" } else { "" };
        let micros = i64::try_from(nanos.unsigned_abs() / 1000).unwrap_or(i64::MAX);
        words.push(format!("{sign}{}", clock::time(micros)));
    }
    if words.is_empty() {
        words.push("00:00:00".to_owned());
    }
    words.join(" ")
}

pub(super) fn decimal(number: i128, scale: i8) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let digits = number.unsigned_abs().to_string();
    let decimals = usize::try_from(scale).unwrap_or_default();
    if decimals == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, fraction) = padded.split_at(padded.len() - decimals);
    format!("{sign}{whole}.{fraction}")
}

pub(super) fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (position, byte) in bytes.into_iter().enumerate() {
        let dash = if matches!(position, 4 | 6 | 8 | 10) {
            "-"
        } else {
            ""
        };
        if write!(text, "{dash}{byte:02x}").is_err() {
            break;
        }
    }
    text
}

/// The first byte counts the unused bits of the second.
pub(super) fn bits(bytes: &[u8]) -> Option<String> {
    let (unused, rest) = bytes.split_first()?;
    let mut text = String::with_capacity(rest.len() * 8);
    for byte in rest {
        if write!(text, "{byte:08b}").is_err() {
            break;
        }
    }
    Some(text.get(usize::from(*unused)..)?.to_owned())
}

/// Formats a big integer: three bytes of sign and length, then big-endian base-256 digits. All bits
/// of a negative number are inverted.
pub(super) fn bignum(bytes: &[u8]) -> Option<String> {
    let (head, digits) = bytes.split_at_checked(3)?;
    let is_negative = head.first()? & 0x80 == 0;
    // Nine decimal digits each, least significant first.
    let mut groups: Vec<u32> = Vec::new();
    for digit in digits {
        let mut carry = u64::from(if is_negative { !digit } else { *digit });
        for group in &mut groups {
            let sum = u64::from(*group) * 256 + carry;
            *group = u32::try_from(sum % 1_000_000_000).ok()?;
            carry = sum / 1_000_000_000;
        }
        if carry > 0 {
            groups.push(u32::try_from(carry).ok()?);
        }
    }
    let Some((greatest, others)) = groups.split_last() else {
        return Some("0".to_owned());
    };
    let sign = if is_negative { "-" } else { "" };
    let rest: String = others
        .iter()
        .rev()
        .map(|group| format!("{group:09}"))
        .collect::<Vec<_>>()
        .concat();
    Some(format!("{sign}{greatest}{rest}"))
}
