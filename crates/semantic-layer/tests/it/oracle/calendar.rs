//! Independent date arithmetic: days since 1970, and their periods.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
}

impl Unit {
    pub(super) const ALL: [Self; 7] = [
        Self::Year,
        Self::Quarter,
        Self::Month,
        Self::Week,
        Self::Day,
        Self::Hour,
        Self::Minute,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Quarter => "quarter",
            Self::Month => "month",
            Self::Week => "week",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
        }
    }

    pub(super) fn fits(self, longer: Self) -> bool {
        match (self, longer) {
            (own, longer) if own == longer => true,
            (Self::Minute, _) => true,
            (Self::Hour, longer) => longer != Self::Minute,
            (Self::Day, longer) => !matches!(longer, Self::Hour | Self::Minute),
            (Self::Month, longer) => matches!(longer, Self::Quarter | Self::Year),
            (Self::Quarter, longer) => longer == Self::Year,
            _ => false,
        }
    }
}

/// Day since 1970, and minute if written. A date sorts before the times of its day, as their texts
/// do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) day: i64,
    pub(super) minute: Option<i64>,
}

/// Day and minute.
pub(super) type Start = (i64, i64);

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Year, month and day, by counting.
pub(super) fn date(day: i64) -> (i64, i64, i64) {
    let (mut year, mut left) = (1970, day);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let mut month = 1;
    while left >= days_in(year, month) {
        left -= days_in(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

pub(super) fn day(year: i64, month: i64, day: i64) -> i64 {
    let years: i64 = (1970..year)
        .map(|year| if is_leap(year) { 366 } else { 365 })
        .sum();
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    years + months + day - 1
}

pub(super) fn text(at: i64) -> String {
    let (year, month, day) = date(at);
    format!("{year:04}-{month:02}-{day:02}")
}

/// 1970-01-01 was a Thursday.
pub(super) fn start(at: At, unit: Unit) -> Start {
    let (year, month, _) = date(at.day);
    match unit {
        Unit::Year => (day(year, 1, 1), 0),
        Unit::Quarter => (day(year, (month - 1) / 3 * 3 + 1, 1), 0),
        Unit::Month => (day(year, month, 1), 0),
        Unit::Week => (at.day - (at.day + 3) % 7, 0),
        Unit::Day => (at.day, 0),
        Unit::Hour => (at.day, at.minute.unwrap_or(0) / 60 * 60),
        Unit::Minute => (at.day, at.minute.unwrap_or(0)),
    }
}

pub(super) fn spelled((at, minute): Start, unit: Unit) -> String {
    match unit {
        Unit::Hour | Unit::Minute => {
            format!("{} {:02}:{:02}:00", text(at), minute / 60, minute % 60)
        }
        _ => text(at),
    }
}

/// The result is the last day of a month that is too short.
pub(super) fn earlier((at, minute): Start, count: i64, unit: Unit) -> Start {
    let months = match unit {
        Unit::Year => 12 * count,
        Unit::Quarter => 3 * count,
        Unit::Month => count,
        Unit::Week => return (at - 7 * count, minute),
        Unit::Day => return (at - count, minute),
        Unit::Hour | Unit::Minute => {
            let length = if unit == Unit::Hour { 60 } else { 1 };
            let whole = at * 1440 + minute - length * count;
            return (whole.div_euclid(1440), whole.rem_euclid(1440));
        }
    };
    let (year, month, in_month) = date(at);
    let total = year * 12 + month - 1 - months;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    (day(year, month, in_month.min(days_in(year, month))), minute)
}

pub(super) fn between(first: i64, last: i64, unit: Unit) -> Vec<Start> {
    let mut all: Vec<Start> = Vec::new();
    for day in first..=last {
        let (count, length) = match unit {
            Unit::Hour => (24, 60),
            Unit::Minute => (1440, 1),
            _ => (1, 0),
        };
        for number in 0..count {
            let at = At {
                day,
                minute: Some(number * length),
            };
            let start = start(at, unit);
            if all.last() != Some(&start) {
                all.push(start);
            }
        }
    }
    all
}

#[test]
fn dates_are_counted_right() {
    for (year, month, in_month, since) in [
        (1970, 1, 1, 0),
        (2000, 3, 1, 11017),
        (2024, 2, 29, 19782),
        (2025, 12, 31, 20453),
    ] {
        assert_eq!(day(year, month, in_month), since);
        assert_eq!(date(since), (year, month, in_month));
    }
    let leap = (day(2024, 2, 29), 0);
    assert_eq!(earlier(leap, 1, Unit::Year), (day(2023, 2, 28), 0));
    assert_eq!(
        start(
            At {
                day: 19782,
                minute: None
            },
            Unit::Week
        ),
        (19779, 0)
    );
}
