//! Token counters and call metrics.

use std::time::Duration;

/// The four input counters are disjoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Uncached.
    pub input: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
    pub cache_read: u64,
    pub output: u64,
    /// Part of `output`.
    pub reasoning: u64,
}

impl TokenUsage {
    pub fn input_total(&self) -> u64 {
        [self.cache_write_5m, self.cache_write_1h, self.cache_read]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }

    pub fn total(&self) -> u64 {
        self.input_total().saturating_add(self.output)
    }

    #[must_use]
    pub fn beyond(self, counted: Self) -> Self {
        self.with(counted, u64::saturating_sub)
    }

    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: of(self.input, other.input),
            cache_write_5m: of(self.cache_write_5m, other.cache_write_5m),
            cache_write_1h: of(self.cache_write_1h, other.cache_write_1h),
            cache_read: of(self.cache_read, other.cache_read),
            output: of(self.output, other.output),
            reasoning: of(self.reasoning, other.reasoning),
        }
    }
}

/// Sums saturate, because a provider's counters could overflow.
impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self = self.with(other, u64::saturating_add);
    }
}

/// For high estimates: prose has at least four bytes per token, code and JSON about three, digits
/// and ids a little over two.
const BYTES_PER_TOKEN: u64 = 2;

pub fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes)
        .unwrap_or(u64::MAX)
        .div_ceil(BYTES_PER_TOKEN)
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallMetrics {
    pub total: Duration,
    pub usage: TokenUsage,
    pub steps: u32,
    /// End of each step, from the start.
    pub step_boundaries: Vec<Duration>,
    pub tool_failures: u32,
    pub model: Option<String>,
    /// The provider's own cost (C-18).
    pub reported_cost_usd: Option<f64>,
}
