//! The evaluator of tool calls.

use ktx_tool_descriptors::{ArgumentMatcher, matches_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::count::share;
use crate::matching::maximum_matching;
use crate::text::longest_sequence;
use crate::{FailureClass, Grade};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Value,
}

#[derive(Debug, Clone)]
pub struct ExpectedCall {
    /// `*` matches any characters.
    pub name: String,
    /// The call can have others.
    pub arguments: Vec<(String, ArgumentMatcher)>,
    pub count: usize,
}

impl ExpectedCall {
    fn matches(&self, call: &ToolCall) -> bool {
        matches_name(&self.name, &call.name)
            && self.arguments.iter().all(|(name, matcher)| {
                call.arguments
                    .get(name)
                    .is_some_and(|value| matcher.matches(value))
            })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolsMode {
    /// In any order; others are allowed.
    Subset,
    /// No other calls.
    Exact,
    /// In this order.
    Ordered,
}

/// Compares calls. One call counts for one expected call.
///
/// With M pairs, A calls and E expected calls the score is 2M/(A+E), and 1 if there are none.
/// Without `failure`, all expected calls were made. `forbidden` names can have `*`; a call of one
/// makes the score 0.
pub fn grade_tools(
    calls: &[ToolCall],
    expected: &[ExpectedCall],
    mode: ToolsMode,
    forbidden: &[String],
) -> Grade {
    let is_forbidden = |call: &&ToolCall| forbidden.iter().any(|it| matches_name(it, &call.name));
    if let Some(call) = calls.iter().find(is_forbidden) {
        let reason = format!("`{}` was called, which the case forbids", call.name);
        return Grade::failed(FailureClass::ForbiddenTool, reason);
    }
    let wanted: usize = expected
        .iter()
        .fold(0, |sum, it| sum.saturating_add(it.count));
    // More slots make no difference.
    let slots: Vec<&ExpectedCall> = expected
        .iter()
        .flat_map(|it| std::iter::repeat_n(it, it.count.min(calls.len() + 1)))
        .collect();
    let unordered = pairs(calls, &slots);
    let matched = match mode {
        ToolsMode::Subset | ToolsMode::Exact => unordered.iter().flatten().count(),
        ToolsMode::Ordered => longest_sequence(slots.len(), calls.len(), |slot, call| {
            slots[slot].matches(&calls[call])
        }),
    };
    let all = calls.len().saturating_add(wanted);
    let mut grade = Grade::similarity(if all == 0 {
        1.0
    } else {
        share(2 * matched, all)
    })
    .with("matched", matched)
    .with("called", calls.len())
    .with("expected", wanted);
    if let Some(reason) = fault(
        calls,
        expected,
        &slots,
        &unordered,
        mode,
        wanted.saturating_sub(matched),
    ) {
        grade.failure = Some(FailureClass::WrongTool);
        grade.reason = Some(reason);
    }
    grade
}

fn pairs(calls: &[ToolCall], slots: &[&ExpectedCall]) -> Vec<Option<usize>> {
    let edges: Vec<Vec<usize>> = slots
        .iter()
        .map(|slot| {
            (0..calls.len())
                .filter(|call| slot.matches(&calls[*call]))
                .collect()
        })
        .collect();
    maximum_matching(&edges, calls.len())
}

fn fault(
    calls: &[ToolCall],
    expected: &[ExpectedCall],
    slots: &[&ExpectedCall],
    unordered: &[Option<usize>],
    mode: ToolsMode,
    missing: usize,
) -> Option<String> {
    let free = unordered.iter().position(Option::is_none);
    if let Some(slot) = free.and_then(|free| slots.get(free)) {
        let name = &slot.name;
        let like = calls.iter().filter(|call| slot.matches(call)).count();
        let called = calls.iter().any(|call| matches_name(name, &call.name));
        return Some(if slot.count > 1 {
            format!("`{name}` was called {like} of {} times", slot.count)
        } else if like > 0 {
            format!("`{name}` was called less often than expected")
        } else if called {
            format!("`{name}` was called with other arguments")
        } else {
            format!("`{name}` was not called")
        });
    }
    match mode {
        ToolsMode::Ordered if missing > 0 => {
            Some("the expected calls were made in another order".to_owned())
        }
        ToolsMode::Exact => {
            let other = calls
                .iter()
                .find(|call| !expected.iter().any(|it| it.matches(call)))?;
            Some(format!("the call of `{}` was not expected", other.name))
        }
        _ => None,
    }
}
