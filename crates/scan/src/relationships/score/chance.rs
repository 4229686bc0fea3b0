//! How likely it is that a column's numbers lie among the keys of a table by chance.

use crate::profile::sketch::{Containment, ratio};
use crate::relationships::score::Pair;
use crate::types::TypeFamily;

/// Surprise from which chance is ruled out for one column beside few tables: one in ten thousand.
pub(super) const UNLIKELY: f64 = 9.2;
/// Surprise from which chance is ruled out whatever the names say: one in a thousand million.
pub(super) const EXCLUDED: f64 = 20.7;

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
    let share = ratio(parent.population, size.max(1)).clamp(1e-12, 1.0);
    let (found, drawn) = (contained.distinct, ratio(contained.compared as u64, 1));
    if found <= share {
        return Some(0.0);
    }
    let rest = if found < 1.0 {
        (1.0 - found) * ((1.0 - found) / (1.0 - share)).ln()
    } else {
        0.0
    };
    Some(drawn * (found * (found / share).ln() + rest))
}

/// Whether the keys begin so far from zero that numbers which count or measure do not reach them.
pub(super) fn is_remote(pair: &Pair<'_>) -> bool {
    let range = pair.parent.profile.and_then(|parent| parent.range);
    range.is_some_and(|(low, high)| {
        let size = high.saturating_sub(low).saturating_add(1).max(1);
        low > size.saturating_mul(4)
    })
}
