//! Prefers a column's namesake and the most referenced key.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::score::ScoredPair;
use crate::types::ColumnId;
use crate::weights as w;

/// Numbers from 1 fit any longer list, so a better fit proves little.
pub(crate) fn prefer_namesake(facts: &Facts<'_>, rivals: &mut [ScoredPair]) {
    let Some(first) = rivals.first() else {
        return;
    };
    let least = w::CALLED
        .get()
        .max(first.evidence.name + w::CALLED_MORE.get());
    let namesake = |rival: &ScoredPair| {
        let near = facts.layer(rival.child) == facts.layer(rival.parent);
        near && rival.evidence.name >= least
            && rival.evidence.coverage.is_some_and(|share| share >= 1.0)
    };
    let best = rivals
        .iter()
        .enumerate()
        .filter(|(_, rival)| namesake(rival) && rival.odds > 0.0)
        .max_by(|left, right| left.1.evidence.name.total_cmp(&right.1.evidence.name));
    if let Some((at, _)) = best {
        rivals.swap(0, at);
    }
}

/// Moves up the second of two equally good keys if more columns refer to it. Returns whether the
/// two differ.
pub(crate) fn prefer_referred(
    leads: &BTreeMap<ColumnId, ColumnId>,
    rivals: &mut [ScoredPair],
) -> bool {
    let [first, second, ..] = &*rivals else {
        return false;
    };
    let child = first.child;
    let count = |key: ColumnId| {
        let refers = |(other, parent): &(&ColumnId, &ColumnId)| **other != child && **parent == key;
        leads.iter().filter(refers).count()
    };
    let (own, other) = (count(first.parent), count(second.parent));
    if other > own {
        rivals.swap(0, 1);
    }
    own != other
}
