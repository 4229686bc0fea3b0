//! How likely it is that a column's numbers lie among the keys of a table by chance.

use crate::profile::sketch::{Containment, ratio};
use crate::relationships::entity::KeyMark;
use crate::relationships::fit::spread;
use crate::relationships::score::{NAMED, Pair};
use crate::types::TypeFamily;

/// Surprise from which chance is ruled out for one column beside few tables: one in ten thousand.
pub(super) const UNLIKELY: f64 = 9.2;
/// Surprise from which chance is ruled out whatever the names say: one in a thousand million.
pub(super) const EXCLUDED: f64 = 20.7;
/// Texts found from which chance is ruled out for addresses and codes.
const FOUND: usize = 10;
/// The share of a key that a column spans where both begin and end together.
const TOGETHER: f64 = 0.9;

/// How surprising it is, in nats, that so many of the column's distinct numbers are keys, when the keys
/// fill only a part of their range and the numbers come from anywhere in it. `None` where the values
/// are no numbers, or where the keys begin far from zero, which is itself no chance.
///
/// This is the bound of Chernoff for the upper tail of a binomial distribution.
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

/// The same, when the numbers come from anywhere between zero and the last key: what counts or measures
/// begins there. `None` where the keys do so too.
fn surprise_from_zero(pair: &Pair<'_>, contained: &Containment) -> Option<f64> {
    let parent = pair.parent.profile?;
    let (low, high) = parent.range?;
    let size = high.saturating_add(1).unsigned_abs();
    (low > 1).then(|| nats(contained, ratio(parent.population, size.max(1))))
}

/// The surprise at finding so many of the values when this share of all would be found by chance.
pub(crate) fn nats(contained: &Containment, share: f64) -> f64 {
    let share = share.clamp(1e-12, 1.0);
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

/// What shared values say, where they may lie among the keys by chance. An exact name stands for what
/// chance explains; where chance is excluded and no other table holds the values, they need none.
pub(super) fn by_chance(
    pair: &Pair<'_>,
    contained: &Containment,
    (containers, name): (usize, f64),
    shared: f64,
) -> f64 {
    let named = (NAMED..=1.0).contains(&name) || pair.is_backed();
    let sole = containers <= 1 && contained.distinct >= 1.0;
    let alone = if name < 0.4 { 1.5 } else { 0.0 };
    let Some(inside) = surprise(pair, contained) else {
        let told = pair.child.looks_identifying() && contained.found >= FOUND;
        let clean = containers <= 1 && contained.distinct >= 0.98;
        return if told && clean {
            shared + alone
        } else {
            shared
        };
    };
    if inside >= EXCLUDED && sole {
        return shared + alone;
    }
    if named || is_remote(pair) {
        return shared;
    }
    let begins = spread(pair.child, pair.parent).is_some_and(|fit| fit.span >= TOGETHER);
    match surprise_from_zero(pair, contained).filter(|_| begins) {
        Some(outside) if !pair.child.name.telling => {
            let sure = outside >= EXCLUDED && sole;
            shared.min(outside.max(inside)) + if sure { alone } else { 0.0 }
        }
        Some(outside) if pair.child.name.mark == KeyMark::Strong => shared.min(outside.max(inside)),
        _ => shared.min(inside),
    }
}

/// Whether the keys begin so far from zero that numbers which count or measure do not reach them.
pub(super) fn is_remote(pair: &Pair<'_>) -> bool {
    let range = pair.parent.profile.and_then(|parent| parent.range);
    range.is_some_and(|(low, high)| {
        let size = high.saturating_sub(low).saturating_add(1).max(1);
        low > size.saturating_mul(4)
    })
}
