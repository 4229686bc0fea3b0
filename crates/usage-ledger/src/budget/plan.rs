//! What a budget expects of the next turn.

use ktx_llm_runtime::{PlannedTurn, TokenUsage, estimated_tokens};

use crate::UsageAmount;
use crate::meter::{HeldAmounts, MeterSums};

/// Output tokens assumed for a first turn.
const FIRST_OUTPUT: u64 = 500;

/// What `claude` requests, for backends that do not report it.
const LONGEST_OUTPUT: u64 = 32_000;

/// Tokens that a backend other than HTTP adds to a first turn, such as its own instructions.
const FIRST_HIDDEN_INPUT: u64 = 20_000;

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) by_loops: UsageAmount,
    pub(super) open_ended: u32,
    /// Maximum excess over the estimate from the request text.
    pub(super) hidden_input: u64,
    pub(super) output: Option<u64>,
}

impl Plan {
    /// Counts input at the most expensive rate.
    pub(super) fn expected(
        &self,
        bytes: usize,
        max_output: Option<u64>,
        held: &HeldAmounts,
    ) -> TokenUsage {
        let first = || held.output.unwrap_or_default().max(FIRST_OUTPUT);
        let open = self.output.unwrap_or_else(first);
        TokenUsage {
            cache_write_1h: estimated_tokens(bytes).saturating_add(self.hidden_input),
            output: max_output.unwrap_or(open),
            ..TokenUsage::default()
        }
    }

    pub(super) fn expected_usage(
        &self,
        bytes: usize,
        spent: &MeterSums,
        held: &HeldAmounts,
    ) -> UsageAmount {
        let tokens = self.expected(bytes, None, held).total();
        UsageAmount {
            tokens,
            cost: spent.mean(tokens),
        }
    }

    pub(super) fn bound(&self, turn: &PlannedTurn) -> TokenUsage {
        let hidden = match turn.output_bound {
            Some(_) => self.hidden_input,
            None => self.hidden_input.max(FIRST_HIDDEN_INPUT),
        };
        let longest = turn.output_bound.unwrap_or(LONGEST_OUTPUT);
        TokenUsage {
            cache_write_1h: estimated_tokens(turn.bytes).saturating_add(hidden),
            output: turn.max_output.unwrap_or(longest),
            ..TokenUsage::default()
        }
    }
}
