//! One case, several times.

use crate::count::share;

/// How often one case was judged and passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Repeats that passed or failed; errors and skipped ones do not count.
    pub judged: usize,
    /// Repeats that passed, at most `judged`.
    pub passes: usize,
}

impl Tally {
    /// The share that passed; absent when nothing was judged.
    pub fn rate(self) -> Option<f64> {
        (self.judged > 0).then(|| share(self.passes, self.judged))
    }

    /// The chance that at least one of `k` repeats passes: 1 − C(n−c,k)/C(n,k). Absent when fewer were judged.
    pub fn pass_at(self, k: usize) -> Option<f64> {
        let failures = self.judged.saturating_sub(self.passes);
        self.chance(failures, k).map(|none| 1.0 - none)
    }

    /// The chance that all of `k` repeats pass: C(c,k)/C(n,k). Absent when fewer were judged.
    pub fn pass_all(self, k: usize) -> Option<f64> {
        self.chance(self.passes, k)
    }

    /// Whether some repeats passed and some failed.
    pub fn is_flaky(self) -> bool {
        0 < self.passes && self.passes < self.judged
    }

    /// Whether more than half of the repeats passed.
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
