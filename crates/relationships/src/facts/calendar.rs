//! Recognizes lists of days. A date column can refer only to such a list, because any two date
//! columns share values.

use crate::facts::ColumnFacts;
use crate::profile::ColumnProfile;
use crate::profile::sketch::ratio;
use crate::profile::value::month_of;
use crate::types::TypeFamily;
use crate::weights as w;

/// Quarters, weekdays, months, days of a month, weeks, days of a year.
const CYCLES: &[(i64, i64)] = &[
    (1, 4),
    (0, 6),
    (1, 7),
    (1, 12),
    (1, 31),
    (1, 52),
    (1, 53),
    (1, 365),
    (1, 366),
];

/// Empty if the rows hold more than calendar data.
pub(crate) fn day_lists(columns: &[ColumnFacts<'_>]) -> Vec<usize> {
    let lists: Vec<(usize, (i64, i64))> = columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| Some((at, listed_days(column.profile?)?)))
        .collect();
    let Some((_, days)) = lists.first().copied() else {
        return Vec::new();
    };
    let others = || {
        let others = columns
            .iter()
            .filter(|column| column.profile.is_some_and(|profile| profile.days.is_none()));
        others.filter_map(|column| Some((column.family, column.profile?)))
    };
    let measures = |(family, profile): &(TypeFamily, &ColumnProfile)| {
        matches!(family, TypeFamily::Float | TypeFamily::Integer)
            && profile.values > 0
            && profile.range.is_none()
    };
    if others().any(|other| measures(&other)) {
        return Vec::new();
    }
    let parts = others()
        .filter(|(_, profile)| is_part(profile, days))
        .count();
    let plain = others().all(|(_, profile)| profile.distinct <= w::DAYS_DESCRIBED.count());
    if parts >= w::DAYS_PARTS.size() || (plain && is_whole(days)) {
        lists.into_iter().map(|(at, _)| at).collect()
    } else {
        Vec::new()
    }
}

fn listed_days(profile: &ColumnProfile) -> Option<(i64, i64)> {
    let (first, last) = profile.days?;
    let span = (last - first).unsigned_abs() + 1;
    let all = profile.population >= w::DAYS_FEWEST.count()
        && profile.uniqueness() >= w::ONE_EACH.get()
        && profile.null_rate() <= w::KEY_NULLS.get()
        && ratio(profile.population, span) >= w::DAYS_LISTED.get();
    all.then_some((first, last))
}

fn is_part(profile: &ColumnProfile, (first, last): (i64, i64)) -> bool {
    let years = (month_of(first).0, month_of(last).0);
    profile.range.is_some_and(|(low, high)| {
        let span = high.saturating_sub(low).saturating_add(1).unsigned_abs();
        (low, high) == years || (CYCLES.contains(&(low, high)) && profile.distinct == span)
    })
}

fn is_whole((first, last): (i64, i64)) -> bool {
    month_of(first).2 == 0 && month_of(last + 1).2 == 0
}
