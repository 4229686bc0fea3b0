//! Units of content, which tell the index what has changed.

use sha2::{Digest as _, Sha256};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitState {
    pub unit: String,
    /// Differs whenever the content may have changed, such as size and modification time.
    pub stamp: String,
}

/// Identifies the states of many units: equal if all of them are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest(String);

impl Digest {
    pub fn of(states: &[UnitState]) -> Self {
        let parts = states
            .iter()
            .flat_map(|state| [state.unit.as_str(), state.stamp.as_str()]);
        Self::of_parts(parts)
    }

    pub fn of_both(first: &Self, second: &Self) -> Self {
        Self::of_parts([first.as_str(), second.as_str()].into_iter())
    }

    fn of_parts<'p>(parts: impl Iterator<Item = &'p str>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let digits = hasher.finalize();
        let digits = digits.iter().map(|byte| format!("{byte:02x}"));
        Self(digits.collect::<Vec<_>>().concat())
    }

    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
