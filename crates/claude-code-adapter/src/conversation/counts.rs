//! Counts that cannot be true are left out: a ledger that believes them is of no use, and a budget ends.

use ktx_llm_runtime::TokenUsage;

use crate::protocol::{Frame, StreamFrame};

/// More tokens than a message can have: ten times the largest context.
const MOST_OF_A_MESSAGE: u64 = 10_000_000;

/// More tokens than a process can use, with as many messages as a loop has.
const MOST_OF_A_PROCESS: u64 = 10_000_000_000;

/// More dollars than a process can cost.
const MOST_DOLLARS: f64 = 1_000_000.0;

/// Takes the counts out of a frame that cannot be true. Gives what to say about them.
pub(super) fn leave_out(frame: &mut Frame) -> Option<String> {
    let wrong = match frame {
        Frame::Assistant(frame) => wrong_usage(&mut frame.usage, MOST_OF_A_MESSAGE),
        Frame::Stream { piece, .. } => match piece {
            StreamFrame::Start { usage, .. } => wrong_usage(usage, MOST_OF_A_MESSAGE),
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
            if result.cost_usd.is_some_and(|cost| !is_believable(cost)) {
                result.cost_usd = None;
            }
            let models = result.used.values_mut();
            models.fold(None, |wrong, usage| {
                wrong_usage(usage, MOST_OF_A_PROCESS).or(wrong)
            })
        }
        _ => None,
    };
    wrong.map(|count| {
        format!("Claude Code told a count of {count} tokens, which cannot be true; it is left out")
    })
}

fn is_believable(dollars: f64) -> bool {
    (0.0..=MOST_DOLLARS).contains(&dollars)
}

/// Sets counts above the bound to zero. Gives one of them.
fn wrong_usage(usage: &mut TokenUsage, most: u64) -> Option<u64> {
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
