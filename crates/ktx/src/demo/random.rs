//! Repeatable random numbers.

/// `SplitMix64` (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = high.abs_diff(low).saturating_add(1);
        low.saturating_add_unsigned(self.next() % width)
    }

    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(crate) fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        let last = i64::try_from(items.len())
            .unwrap_or(i64::MAX)
            .saturating_sub(1);
        let at = usize::try_from(self.between(0, last.max(0))).unwrap_or_default();
        items.get(at).copied().unwrap_or_default()
    }
}
