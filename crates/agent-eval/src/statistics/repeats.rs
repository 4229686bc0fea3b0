//! Statistics of a case's repeats.

use crate::count::share;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassTally {
    /// Without errors and skipped repeats.
    pub judged: usize,
    pub passes: usize,
}

impl PassTally {
    /// Returns `None` if nothing was judged.
    pub fn rate(self) -> Option<f64> {
        (self.judged > 0).then(|| share(self.passes, self.judged))
    }

    /// Returns the chance that at least one of `k` repeats passes: 1 − C(n−c,k)/C(n,k). `None` if
    /// fewer were judged.
    pub fn pass_at(self, k: usize) -> Option<f64> {
        let failures = self.judged.saturating_sub(self.passes);
        self.chance(failures, k).map(|none| 1.0 - none)
    }

    /// Returns the chance that all of `k` repeats pass: C(c,k)/C(n,k). `None` if fewer were judged.
    pub fn pass_all(self, k: usize) -> Option<f64> {
        self.chance(self.passes, k)
    }

    pub fn is_flaky(self) -> bool {
        0 < self.passes && self.passes < self.judged
    }

    pub fn is_mostly_passed(self) -> bool {
        2 * self.passes > self.judged
    }

    /// C(`of`,k)/C(n,k), as a product of shares.
    fn chance(self, of: usize, k: usize) -> Option<f64> {
        if k == 0 || k > self.judged {
            return None;
        }
        if k > of {
            return Some(0.0);
        }
        Some((0..k).map(|i| share(of - i, self.judged - i)).product())
    }
}
