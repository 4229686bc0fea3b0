//! Suggests known names for a misspelled one.

/// Like [`ktx_diagnostics::nearest`], for thousands of candidates.
pub(crate) fn nearest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let lowered = wanted.to_lowercase();
    let letters = Letters::of(&lowered);
    let can_be_near = |candidate: &&str| {
        let other = candidate.to_lowercase();
        letters.may_be_near(&Letters::of(&other))
            || other.contains(&lowered)
            || lowered.contains(&other)
    };
    let near = candidates.into_iter().filter(can_be_near);
    ktx_diagnostics::nearest(wanted, near)
}

/// Counts per letter, in 64 bins.
struct Letters {
    bins: [u32; 64],
    count: u32,
}

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters = Self {
            bins: [0; 64],
            count: 0,
        };
        for letter in text.chars() {
            letters.count += 1;
            let bin = usize::try_from(u32::from(letter) % 64).unwrap_or_default();
            if let Some(bin) = letters.bins.get_mut(bin) {
                *bin += 1;
            }
        }
        letters
    }

    /// Compares a lower bound of the distance with the limit.
    fn may_be_near(&self, other: &Self) -> bool {
        let longest = self.count.max(other.count);
        if longest > 64 {
            return true;
        }
        let missing = |one: &Self, other: &Self| -> u32 {
            let pairs = one.bins.iter().zip(&other.bins);
            pairs.map(|(one, other)| one.saturating_sub(*other)).sum()
        };
        let least = missing(self, other).max(missing(other, self));
        least * 3 <= longest.max(3)
    }
}

#[cfg(test)]
mod tests;
