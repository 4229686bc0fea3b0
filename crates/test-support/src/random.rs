//! A deterministic generator.
#![expect(clippy::expect_used, reason = "a test helper fails the test")]

/// Depends only on the seed.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Mixes the seed: consecutive seeds would start at consecutive positions of one cycle.
    pub fn new(seed: u64) -> Self {
        Self(Self(seed).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// `end` must not be 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a small number");
        usize::try_from(self.next() % end).expect("a small number")
    }

    /// `percent` is the probability.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// `items` must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        items.get(self.below(items.len())).expect("an item")
    }
}
