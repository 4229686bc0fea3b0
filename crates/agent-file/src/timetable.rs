//! Computes the runs of `schedule` entries.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::model::{Schedule, Timing};

/// Longest span that is searched, ending at its end.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366);

impl Schedule {
    /// The timing as text.
    pub fn spec(&self) -> String {
        match &self.timing {
            Timing::Cron(fields) => format!("{fields} ({})", self.timezone),
            Timing::EveryMinutes(minutes) => format!("every {minutes} minutes"),
        }
    }

    /// Returns the runs after `after` up to `until`, oldest first. A local time that a clock change
    /// skips runs at the change; a repeated one runs once. Covers at most the last 366 days.
    pub fn firings(&self, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let earliest = until.checked_sub(LONGEST).unwrap_or(Timestamp::MIN);
        let after = after.max(earliest);
        match &self.timing {
            Timing::EveryMinutes(minutes) => every(*minutes, after, until),
            Timing::Cron(fields) => {
                let zone = TimeZone::get(&self.timezone).unwrap_or(TimeZone::UTC);
                Cron::parse(fields).map_or_else(Vec::new, |cron| cron.between(after, until, &zone))
            }
        }
    }

    /// Returns the first run after `after`, within a year.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        for days in [1, 8, 32, 366] {
            let until = after
                .checked_add(SignedDuration::from_hours(24 * days))
                .ok()?;
            if let Some(first) = self.firings(after, until).first() {
                return Some(*first);
            }
        }
        None
    }
}

/// Whole multiples of some minutes since 1970.
fn every(minutes: u32, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let step = i64::from(minutes.max(1)) * 60;
    let first = after.as_second().div_euclid(step) + 1;
    let last = until.as_second().div_euclid(step);
    let moments = (first..=last).filter_map(|count| Timestamp::from_second(count * step).ok());
    moments.collect()
}

/// Cron fields as bit sets.
#[derive(Debug)]
struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// True if a day must match only one of the two day fields, as in every cron.
    either_day: bool,
}

impl Cron {
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (minute, hour, day, month, weekday) = match fields.as_slice() {
            [minute, hour] => (*minute, *hour, "*", "*", "*"),
            [minute, hour, day, month, weekday] => (*minute, *hour, *day, *month, *weekday),
            _ => return None,
        };
        let weekdays = values(weekday, 0, 7, &WEEKDAYS)?;
        Some(Self {
            minutes: values(minute, 0, 59, &[])?,
            hours: values(hour, 0, 23, &[])?,
            days: values(day, 1, 31, &[])?,
            months: values(month, 1, 12, &MONTHS)?,
            // Sunday is 0 and 7.
            weekdays: weekdays | (weekdays >> 7 & 1),
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    fn between(&self, after: Timestamp, until: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let last = zone.to_datetime(until).date();
        // A clock change at midnight can move a time of the previous day into this day.
        let mut date = zone.to_datetime(after).date();
        date = date.yesterday().unwrap_or(date);
        while date <= last {
            if self.has_date(date) {
                found.extend(self.of_day(date, zone));
            }
            let Ok(next) = date.tomorrow() else { break };
            date = next;
        }
        found.retain(|moment| *moment > after && *moment <= until);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn has_date(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let fits = if self.either_day {
            day || weekday
        } else {
            day && weekday
        };
        fits && has(self.months, date.month())
    }

    fn of_day<'a>(
        &'a self,
        date: Date,
        zone: &'a TimeZone,
    ) -> impl Iterator<Item = Timestamp> + 'a {
        let hours = (0..24).filter(|hour| has(self.hours, *hour));
        let times = hours.flat_map(|hour| {
            let minutes = (0..60).filter(|minute| has(self.minutes, *minute));
            minutes.filter_map(move |minute| Time::new(hour, minute, 0, 0).ok())
        });
        times.filter_map(move |time| moment(date.to_datetime(time), zone))
    }
}

fn moment(at: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(at).ok()
        }
        AmbiguousOffset::Gap { before, .. } => {
            // By the old clock, this moment is after the change.
            let late = before.to_timestamp(at).ok()?.checked_add(1.second()).ok()?;
            zone.preceding(late).next().map(|change| change.timestamp())
        }
    }
}

fn has(set: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| set >> value & 1 == 1)
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Parses a field; `None` if invalid.
fn values(field: &str, least: u32, most: u32, names: &[&str]) -> Option<u64> {
    let number = |text: &str| {
        let named = names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        match named {
            Some(index) => u32::try_from(index).ok()?.checked_add(least),
            None => text.parse().ok(),
        }
    };
    let mut set = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<usize>().ok()?)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((first, last)) => (number(first)?, number(last)?),
            // `5/15` is from 5 to the end.
            None => (
                number(range)?,
                if step.is_some() { most } else { number(range)? },
            ),
        };
        if first < least || last > most || step == Some(0) {
            return None;
        }
        for value in (first..=last).step_by(step.unwrap_or(1)) {
            set |= 1 << value;
        }
    }
    Some(set)
}

#[cfg(test)]
mod tests;
