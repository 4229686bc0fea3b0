//! Estimates how likely a column's numbers match a table's keys by chance.

use crate::facts::fit::spread;
use crate::names::entity::KeyMark;
use crate::profile::sketch::{Containment, ratio};
use crate::score::Pair;
use crate::types::TypeFamily;
use crate::weights as w;

/// Rows after which the surprise of different keys is not added up further.
const NEVER_TWICE: u64 = 100_000;

/// Returns the surprise, in nats, that this many of the column's distinct numbers are keys, if the
/// keys fill only part of their range and the numbers come from anywhere in it. Returns `None` if
/// the values are not numbers, or if the keys begin far from zero, where a match is already
/// unlikely.
///
/// This is the Chernoff bound for the upper tail of a binomial distribution.
pub(super) fn surprise(pair: &Pair<'_>, contained: &Containment) -> Option<f64> {
    let numbers = |family: TypeFamily| matches!(family, TypeFamily::Integer | TypeFamily::Float);
    if !numbers(pair.child.family) || !numbers(pair.parent.family) {
        return None;
    }
    let parent = pair.parent.profile?;
    let (low, high) = parent.range?;
    let size = high.saturating_sub(low).saturating_add(1).unsigned_abs();
    Some(nats(contained, ratio(parent.population, size.max(1))))
}

/// Returns the same for numbers from anywhere between zero and the last key, where counts and
/// measures begin. Returns `None` if the keys begin there too.
fn surprise_from_zero(pair: &Pair<'_>, contained: &Containment) -> Option<f64> {
    let parent = pair.parent.profile?;
    let (low, high) = parent.range?;
    let size = high.saturating_add(1).unsigned_abs();
    (low > 1).then(|| nats(contained, ratio(parent.population, size.max(1))))
}

/// Returns the surprise of finding this many of the values if `share` of all would match by chance.
pub(crate) fn nats(contained: &Containment, share: f64) -> f64 {
    let share = share.clamp(w::SHARE_LEAST.get(), 1.0);
    let (found, drawn) = (contained.distinct, ratio(contained.compared as u64, 1));
    if found <= share {
        return 0.0;
    }
    let rest = if found < 1.0 {
        (1.0 - found) * ((1.0 - found) / (1.0 - share)).ln()
    } else {
        0.0
    };
    drawn * (found * (found / share).ln() + rest)
}

/// Returns the surprise, in nats, that this many rows refer to as many different keys, if each could refer
/// to any of `keys`.
pub(crate) fn never_twice(rows: u64, keys: u64) -> f64 {
    let keys = keys.max(rows);
    (0..rows.min(NEVER_TWICE))
        .map(|taken| -(-ratio(taken, keys)).ln_1p())
        .sum()
}

/// Returns the odds of shared values that may match by chance. An exact name makes up for what
/// chance explains; if chance is excluded and no other table contains the values, no name is
/// needed.
pub(super) fn by_chance(
    pair: &Pair<'_>,
    contained: &Containment,
    (containers, name): (usize, f64),
    shared: f64,
) -> f64 {
    let named = (w::NAMED.get()..=1.0).contains(&name) || pair.is_backed();
    let sole = containers <= 1 && contained.distinct >= 1.0;
    let alone = if name < w::VAGUE.get() {
        w::ALONE.get()
    } else {
        0.0
    };
    let Some(inside) = surprise(pair, contained) else {
        let told = pair.child.looks_identifying() && contained.found >= w::TEXTS_FOUND.size();
        let clean = containers <= 1 && contained.distinct >= w::TEXTS_CLEAN.get();
        return if told && clean {
            shared + alone
        } else {
            shared
        };
    };
    if inside >= w::EXCLUDED.get() && sole {
        return shared + alone;
    }
    if named || is_remote(pair) {
        return shared;
    }
    let begins = spread(pair.child, pair.parent).is_some_and(|fit| fit.span >= w::TOGETHER.get());
    match surprise_from_zero(pair, contained).filter(|_| begins) {
        Some(outside) if !pair.child.name.telling => {
            let sure = outside >= w::EXCLUDED.get() && sole;
            shared.min(outside.max(inside)) + if sure { alone } else { 0.0 }
        }
        Some(outside) if pair.child.name.mark == KeyMark::Strong => shared.min(outside.max(inside)),
        _ => shared.min(inside),
    }
}

/// Returns whether the keys begin so far from zero that counts and measures do not reach them.
pub(super) fn is_remote(pair: &Pair<'_>) -> bool {
    let range = pair.parent.profile.and_then(|parent| parent.range);
    range.is_some_and(|(low, high)| {
        let size = high.saturating_sub(low).saturating_add(1).max(1);
        low > size.saturating_mul(w::REMOTE.signed())
    })
}
