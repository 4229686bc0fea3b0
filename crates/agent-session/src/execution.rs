//! The result of a question, in the same shape for every backend (HOLO-30).

use std::collections::BTreeSet;

use ktx_llm_runtime::{LlmError, LlmErrorKind, RunEvent, RunFinal, TokenUsage, UsageKind};
use ktx_vocabulary::RunId;
use serde::Serialize;
use serde_json::Value;

/// HOLO-38.
const OUT_OF_TURNS: &str = "max_turns limit reached";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExecutionResult {
    /// The run, as in the usage ledger and the log.
    pub run_id: RunId,
    /// Trace id of the run (COG-23).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The answer, or its JSON text if structured. If the turns ran out, the text up to then.
    pub response: String,
    /// Absent without a response format (HOLO-31).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    pub tool_calls: Vec<ToolCall>,
    /// In order of arrival.
    pub tool_results: Vec<ToolResult>,
    pub token_usage: TokenCounts,
    /// Assistant turns; at least 1.
    pub num_turns: u32,
    /// True if the answer is missing or incomplete.
    pub is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Value,
    pub call_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolResult {
    pub call_id: String,
    /// Markdown.
    pub result: String,
    /// True if the call failed; the run continues (HOLO-37).
    pub is_error: bool,
}

/// Token counts (HOLO-39).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenCounts {
    /// All input, including cache reads and writes.
    pub prompt_tokens: u64,
    /// Output, including thinking.
    pub completion_tokens: u64,
    pub total_tokens: u64,
    /// Input written to a cache.
    pub cache_creation_tokens: u64,
    /// Input read from a cache.
    pub cache_read_tokens: u64,
}

impl ExecutionResult {
    /// Adds the work and usage of an earlier part of the same turn.
    #[must_use]
    pub(crate) fn following(mut self, before: Self) -> Self {
        self.tool_calls.splice(0..0, before.tool_calls);
        self.tool_results.splice(0..0, before.tool_results);
        self.token_usage += before.token_usage;
        self.num_turns = self.num_turns.saturating_add(before.num_turns);
        self
    }
}

impl From<TokenUsage> for TokenCounts {
    fn from(usage: TokenUsage) -> Self {
        Self {
            prompt_tokens: usage.input_total(),
            completion_tokens: usage.output,
            total_tokens: usage.total(),
            cache_creation_tokens: usage.cache_write_5m.saturating_add(usage.cache_write_1h),
            cache_read_tokens: usage.cache_read,
        }
    }
}

impl std::ops::AddAssign for TokenCounts {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.prompt_tokens, other.prompt_tokens),
            (&mut self.completion_tokens, other.completion_tokens),
            (&mut self.total_tokens, other.total_tokens),
            (&mut self.cache_creation_tokens, other.cache_creation_tokens),
            (&mut self.cache_read_tokens, other.cache_read_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

/// State collected from the events of a run.
#[derive(Default)]
pub(crate) struct Seen {
    /// Text since the last tool call.
    text: String,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    messages: BTreeSet<String>,
}

impl Seen {
    pub(crate) fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::TextDelta(text) => self.text.push_str(text),
            RunEvent::ToolCallStart {
                call_id,
                name,
                arguments,
            } => {
                self.text.clear();
                self.calls.push(ToolCall {
                    name: name.clone(),
                    arguments: arguments.clone(),
                    call_id: call_id.clone(),
                });
            }
            RunEvent::ToolCallResult {
                call_id,
                markdown,
                is_error,
            } => self.results.push(ToolResult {
                call_id: call_id.clone(),
                result: markdown.clone(),
                is_error: *is_error,
            }),
            RunEvent::UsageReport(fact) if fact.kind != UsageKind::Unattributed => {
                self.messages.insert(fact.message_id.clone());
            }
            _ => {}
        }
    }

    /// True if the model wrote text after its last call.
    pub(crate) const fn is_within_answer(&self) -> bool {
        !self.text.is_empty()
    }

    pub(crate) fn closed_by(self, last: RunFinal) -> Result<ExecutionResult, LlmError> {
        let (response, reason) = match last.result {
            Ok(text) => (text, None),
            Err(error) if error.kind == LlmErrorKind::MaxTurns => (self.text, Some(OUT_OF_TURNS)),
            Err(error) => return Err(error),
        };
        let turns = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        Ok(ExecutionResult {
            trace_id: last.run_id.trace_id(),
            run_id: last.run_id,
            response,
            structured_output: None,
            tool_calls: self.calls,
            tool_results: self.results,
            token_usage: last.usage.into(),
            num_turns: turns.max(1),
            is_error: reason.is_some(),
            error_reason: reason.map(str::to_owned),
        })
    }
}
