//! Reproducible pseudorandom numbers.

/// `SplitMix64`.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn seeded() -> Self {
        Self(0x6b74_7820_6576_616c)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// `length` is not 0.
    pub(super) fn place(&mut self, length: usize) -> usize {
        let length = u128::try_from(length).unwrap_or(1);
        let place = (u128::from(self.next()) * length) >> 64;
        usize::try_from(place).unwrap_or(0)
    }
}
