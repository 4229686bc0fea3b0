//! How an integer column fits a dense key.

use crate::facts::ColumnFacts;
use crate::profile::ColumnProfile;
use crate::profile::sketch::ratio;
use crate::profile::value::hash;
use crate::weights as w;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// The spanned share of the key's range.
    pub span: f64,
    /// Where the column begins in the range, 0 to 1.
    pub start: f64,
    pub distinct: u64,
}

impl Fit {
    /// Returns the log likelihood that evenly drawn values span no more than this.
    pub(crate) fn log_likelihood(self) -> f64 {
        self.of_draws(w::DRAWS.count())
    }

    /// Assumes that the numbers come from the whole range of some key.
    pub(crate) fn sharp_log_likelihood(self) -> f64 {
        self.of_draws(w::SHARP_DRAWS.count())
    }

    /// Returns whether many numbers come close to both ends.
    pub(crate) fn is_full(self) -> bool {
        self.distinct >= w::FULL_NUMBERS.count()
            && (1.0 - self.span) * ratio(self.distinct, 1) <= w::FULL_STEPS.get()
    }

    /// Numbers are not drawn quite evenly, so half of them count.
    fn of_draws(self, most: u64) -> f64 {
        let draws = ratio(self.distinct.clamp(1, most), 1) * w::DRAWS_EVEN.get();
        draws * self.span.clamp(w::LEAST_SPAN.get(), 1.0).ln()
    }
}

/// Pulls in ends far from the middle: a tenth of the rows can be wrong.
pub(crate) fn robust_range(column: &ColumnFacts<'_>) -> Option<(i64, i64)> {
    let profile = column.profile?;
    let (low, high) = profile.range?;
    let (from, to) = profile.middle.unwrap_or((low, high));
    let margin = to.saturating_sub(from).max(2) / w::WRONG_MARGIN.signed();
    let low = if from.saturating_sub(low) > margin {
        from.saturating_sub(margin / w::WRONG_KEPT.signed())
    } else {
        low
    };
    let high = if high.saturating_sub(to) > margin {
        to.saturating_add(margin / w::WRONG_KEPT.signed())
    } else {
        high
    };
    Some((low, high))
}

pub(crate) fn spread(child: &ColumnFacts<'_>, parent: &ColumnFacts<'_>) -> Option<Fit> {
    let (low, high) = robust_range(child)?;
    let (from, to) = parent.profile?.key_range()?;
    let high = last_key(child.profile?, (from, to)).unwrap_or(high);
    let span = high
        .min(to)
        .saturating_sub(low.max(from))
        .saturating_add(1)
        .unsigned_abs();
    let size = to.saturating_sub(from).saturating_add(1).unsigned_abs();
    let distinct = child.profile?.distinct;
    let start = low.max(from).saturating_sub(from).unsigned_abs();
    Some(Fit {
        span: ratio(span, size),
        start: ratio(start, size),
        distinct,
    })
}

/// Returns the share of the numbers in a column's range that are keys: keys often stand close at the
/// beginning and far apart behind. Returns `None` if the keys are not all known or the range is long.
pub(crate) fn keys_in_range(child: &ColumnProfile, keys: &ColumnProfile) -> Option<f64> {
    let ((low, high), (first, last)) = (child.range?, keys.range?);
    let (low, high) = (low.max(first), high.min(last));
    let size = high.checked_sub(low)?.checked_add(1)?.unsigned_abs();
    if low > high || size > w::LAST_KEYS.count() || !keys.sketch.complete {
        return None;
    }
    let is_key = |number: &i64| keys.sketch.contains(hash(&number.to_string()));
    Some(ratio((low..=high).filter(is_key).count() as u64, size))
}

/// Returns the last key that the column holds, if its other numbers exceed the keys. A complete
/// sketch gives it exactly, without an estimate from the middle rows.
fn last_key(child: &ColumnProfile, (from, to): (i64, i64)) -> Option<i64> {
    let (_, high) = child.range?;
    if high <= to || !child.sketch.complete {
        return None;
    }
    let mut keys = (from..=to).rev().take(w::LAST_KEYS.size());
    keys.find(|key| child.sketch.contains(hash(&key.to_string())))
}
