//! Drops implausible counts: they would falsify the ledger and use up a budget.

use ktx_llm_runtime::TokenUsage;

use crate::protocol::{Frame, StreamFrame};

/// Ten times the largest context.
const MOST_OF_A_MESSAGE: u64 = 10_000_000;

/// Tokens.
const MOST_OF_A_PROCESS: u64 = 10_000_000_000;

/// US dollars.
const MOST_DOLLARS: f64 = 1_000_000.0;

pub(super) fn leave_out(frame: &mut Frame) -> Option<String> {
    let wrong = match frame {
        Frame::Assistant(frame) => implausible_usage(&mut frame.usage, MOST_OF_A_MESSAGE),
        Frame::Stream { piece, .. } => match piece {
            StreamFrame::Start { usage, .. } => implausible_usage(usage, MOST_OF_A_MESSAGE),
            StreamFrame::Delta { output } => {
                let wrong = output.filter(|output| *output > MOST_OF_A_MESSAGE);
                if wrong.is_some() {
                    *output = None;
                }
                wrong
            }
            _ => None,
        },
        Frame::Result(result) => {
            if result.cost_usd.is_some_and(|cost| !is_plausible(cost)) {
                result.cost_usd = None;
            }
            let models = result.used.values_mut();
            models.fold(None, |wrong, usage| {
                implausible_usage(usage, MOST_OF_A_PROCESS).or(wrong)
            })
        }
        _ => None,
    };
    wrong.map(|count| {
        format!("Claude Code reported {count} tokens, which is impossible; ktx ignores the count")
    })
}

fn is_plausible(dollars: f64) -> bool {
    (0.0..=MOST_DOLLARS).contains(&dollars)
}

fn implausible_usage(usage: &mut TokenUsage, most: u64) -> Option<u64> {
    let TokenUsage {
        input,
        cache_write_5m,
        cache_write_1h,
        cache_read,
        output,
        reasoning,
    } = usage;
    let counts = [
        input,
        cache_write_5m,
        cache_write_1h,
        cache_read,
        output,
        reasoning,
    ];
    counts.into_iter().fold(None, |wrong, count| {
        if *count > most {
            Some(std::mem::take(count))
        } else {
            wrong
        }
    })
}
