//! Calendar arithmetic.

pub(crate) const DAY_MICROS: i64 = 86_400_000_000;

/// Formats days since 1970-01-01 as a proleptic Gregorian `YYYY-MM-DD`. Years before 1 get the
/// suffix ` BC`.
pub(crate) fn date(days: i64) -> (String, &'static str) {
    // Counts from 0000-03-01, so that a leap day ends its year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if year > 0 {
        (format!("{year:04}-{month:02}-{day:02}"), "")
    } else {
        (format!("{:04}-{month:02}-{day:02}", 1 - year), " BC")
    }
}

/// Formats `HH:MM:SS[.ffffff]` without trailing zeros. `micros` must not be negative.
pub(crate) fn time(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    let fraction = micros % 1_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hours:02}:{minutes:02}:{seconds:02}{}",
        self::fraction(fraction)
    )
}

/// Formats microseconds since 1970-01-01 as `YYYY-MM-DD HH:MM:SS[.ffffff]` and `zone`. Years before
/// 1 get the suffix ` BC`.
pub(crate) fn moment(micros: i64, zone: &str) -> String {
    let (date, suffix) = date(micros.div_euclid(DAY_MICROS));
    let time = time(micros.rem_euclid(DAY_MICROS));
    format!("{date} {time}{zone}{suffix}")
}

/// Formats `.ffffff` without trailing zeros; empty for zero.
pub(crate) fn fraction(micros: i64) -> String {
    if micros == 0 {
        return String::new();
    }
    let digits = format!("{micros:06}");
    format!(".{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests;
