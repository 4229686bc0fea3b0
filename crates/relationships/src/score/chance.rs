//! Estimates how likely a column's numbers match a table's keys by chance.

use crate::facts::fit::{keys_in_range, spread};
use crate::names::entity::KeyMark;
use crate::profile::sketch::{Containment, ratio};
use crate::score::Pair;
use crate::types::TypeFamily;
use crate::weights as w;

/// The surprise stops growing at this many rows.
const NEVER_TWICE: u64 = 100_000;

/// Returns the surprise, in nats, that this many numbers are keys if they come from anywhere in the
/// keys' range; `None` without numbers, or if the keys begin far from zero. The Chernoff bound of a
/// binomial distribution.
pub(super) fn surprise(pair: &Pair<'_>, contained: &Containment) -> Option<f64> {
    let numbers = |family: TypeFamily| matches!(family, TypeFamily::Integer | TypeFamily::Float);
    if !numbers(pair.child.family) || !numbers(pair.parent.family) {
        return None;
    }
    let parent = pair.parent.profile?;
    let (low, high) = parent.range?;
    let size = high.saturating_sub(low).saturating_add(1).unsigned_abs();
    let near = keys_in_range(pair.child.profile?, parent).unwrap_or_default();
    Some(nats(
        contained,
        ratio(parent.population, size.max(1)).max(near),
    ))
}

/// For numbers from zero to the last key.
fn surprise_from_zero(pair: &Pair<'_>, contained: &Containment) -> Option<f64> {
    let parent = pair.parent.profile?;
    let (low, high) = parent.range?;
    let size = high.saturating_add(1).unsigned_abs();
    (low > 1).then(|| nats(contained, ratio(parent.population, size.max(1))))
}

/// `share` of all values would match by chance.
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

/// Returns the surprise, in nats, that this many rows refer to as many different keys.
pub(crate) fn never_twice(rows: u64, keys: u64) -> f64 {
    let keys = keys.max(rows);
    (0..rows.min(NEVER_TWICE))
        .map(|taken| -(-ratio(taken, keys)).ln_1p())
        .sum()
}

/// An exact name makes up for what chance explains.
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

/// Counts and measures do not reach remote keys.
pub(super) fn is_remote(pair: &Pair<'_>) -> bool {
    let range = pair.parent.profile.and_then(|parent| parent.range);
    range.is_some_and(|(low, high)| {
        let size = high.saturating_sub(low).saturating_add(1).max(1);
        low > size.saturating_mul(w::REMOTE.signed())
    })
}
