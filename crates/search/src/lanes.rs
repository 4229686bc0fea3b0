//! A set of lanes.

use crate::query::Lane;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LaneSet(u8);

impl LaneSet {
    pub(crate) const fn of(lane: Lane) -> Self {
        Self(1 << lane as u8)
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn contains(self, lane: Lane) -> bool {
        self.0 & Self::of(lane).0 != 0
    }

    /// In their order.
    pub(crate) fn list(self) -> Vec<Lane> {
        let all = [Lane::Lexical, Lane::Dictionary, Lane::Token, Lane::Semantic];
        all.into_iter()
            .filter(|lane| self.contains(*lane))
            .collect()
    }
}
