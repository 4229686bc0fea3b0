//! Times, dates, time zones and cron fields.

use jiff::civil::Date;
use jiff::tz::{self, TimeZone};

use super::FormFault;

/// Parses a duration such as `15m` into seconds: a whole number from 1 and `s`, `m`, `h` or `d`.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let number = text.strip_suffix(unit)?;
    let is_number = number.starts_with(|letter: char| ('1'..='9').contains(&letter))
        && number.len() <= 6
        && number.chars().all(|letter| letter.is_ascii_digit());
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    number
        .parse::<u64>()
        .ok()
        .filter(|_| is_number)
        .map(|number| number * factor)
}

pub(super) fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

/// A machine without a time zone database accepts every name.
pub(super) fn zone_fault(text: &str) -> Option<FormFault> {
    let is_known = TimeZone::get(text).is_ok();
    if is_known || tz::db().is_definitively_empty() {
        return None;
    }
    let names: Vec<String> = tz::db().available().map(|name| name.to_string()).collect();
    let fault = FormFault::new(format!("there is no time zone `{text}`"));
    Some(fault.near(text, names.iter().map(String::as_str)))
}

struct CronUnit {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const UNITS: [CronUnit; 5] = [
    CronUnit {
        name: "minute",
        least: 0,
        most: 59,
        names: &[],
    },
    CronUnit {
        name: "hour",
        least: 0,
        most: 23,
        names: &[],
    },
    CronUnit {
        name: "day of the month",
        least: 1,
        most: 31,
        names: &[],
    },
    CronUnit {
        name: "month",
        least: 1,
        most: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    CronUnit {
        name: "day of the week",
        least: 0,
        most: 7,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// Five fields, or only minute and hour.
pub(super) fn cron_fault(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != 5 && fields.len() != 2 {
        return Some(format!(
            "has {} fields; write 5 (minute, hour, day of the month, month, day of the week) or 2 (minute, hour)",
            fields.len()
        ));
    }
    let bad = fields
        .iter()
        .zip(&UNITS)
        .find(|(field, unit)| !field.split(',').all(|part| unit.accepts(part)));
    bad.map(|(field, unit)| {
        format!(
            "the {} `{field}` is not valid: use {} to {}, `*`, `a-b`, `a,b` or `*/n`",
            unit.name, unit.least, unit.most
        )
    })
}

impl CronUnit {
    fn accepts(&self, part: &str) -> bool {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        let good_step = step.is_none_or(|step| {
            step.parse::<u32>()
                .is_ok_and(|step| (1..=self.most).contains(&step))
        });
        let good_range = match range.split_once('-') {
            _ if range == "*" => true,
            Some((first, last)) => match (self.number(first), self.number(last)) {
                (Some(first), Some(last)) => first <= last,
                _ => false,
            },
            None => self.number(range).is_some(),
        };
        good_step && good_range
    }

    fn number(&self, text: &str) -> Option<u32> {
        let named = self
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        let number = match named {
            Some(index) => self.least.checked_add(u32::try_from(index).ok()?)?,
            None => text.parse().ok()?,
        };
        (self.least..=self.most).contains(&number).then_some(number)
    }
}
