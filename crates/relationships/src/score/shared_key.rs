//! Recognizes tables that share another's key under its name.

use crate::facts::ColumnFacts;
use crate::names::entity::KeyMark;
use crate::score::Pair;
use crate::weights as w;

/// An `employee` has the `entity_id` of a `person`.
pub(super) fn shares_key(pair: &Pair<'_>) -> bool {
    let (child, parent) = (pair.child, pair.parent);
    let count = |column: &ColumnFacts<'_>| column.profile.map_or(0, |profile| profile.population);
    // A second reading: `entityid`.
    let marked = child.name.mark == KeyMark::Strong
        || (child.name.words.len() == 1 && child.name.bases.len() > 1);
    pair.is_primary
        && child.name.telling
        && marked
        && !child.name.is_bare_key()
        && child.name.words == parent.name.words
        && child.own.max(parent.own) < w::OWN_NAME.get()
        && count(child) < count(parent)
}
