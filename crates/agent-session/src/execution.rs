//! What came of one question, in the shape that every backend gives (HOLO-30).

use std::collections::BTreeSet;

use ktx_llm_runtime::{LlmError, LlmErrorKind, RunEvent, RunFinal, TokenUsage, UsageKind};
use ktx_vocabulary::RunId;
use serde::Serialize;
use serde_json::Value;

/// Why a run has no answer when its turns are used up (HOLO-38).
const OUT_OF_TURNS: &str = "max_turns limit reached";

/// What came of one question. The same shape from every backend; nothing of a backend is inside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExecutionResult {
    /// The run, as the usage ledger and the log name it.
    pub run_id: RunId,
    /// The trace of the run (COG-23).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The answer; for a structured answer, its JSON text. If the turns ran out before an answer, the text so far.
    pub response: String,
    /// The answer in the form that the agent asks for, if it asks for one (HOLO-31).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    /// The tool calls, in call order.
    pub tool_calls: Vec<ToolCall>,
    /// Their results, in the order in which they came.
    pub tool_results: Vec<ToolResult>,
    /// Tokens of all messages.
    pub token_usage: TokenCounts,
    /// Assistant turns, at least 1.
    pub num_turns: u32,
    /// Whether there is no whole answer.
    pub is_error: bool,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// The arguments as the model gave them.
    pub arguments: Value,
    /// The model's id of the call.
    pub call_id: String,
}

/// What the model saw of a call's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolResult {
    /// The model's id of the call.
    pub call_id: String,
    /// Markdown.
    pub result: String,
    /// Whether the call failed; the run goes on (HOLO-37).
    pub is_error: bool,
}

/// Tokens (HOLO-39).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenCounts {
    /// All input, what caches served and stored included.
    pub prompt_tokens: u64,
    /// Output, thinking included.
    pub completion_tokens: u64,
    /// Both together.
    pub total_tokens: u64,
    /// The part of the input that was written to a cache.
    pub cache_creation_tokens: u64,
    /// The part of the input that a cache served.
    pub cache_read_tokens: u64,
}

impl ExecutionResult {
    /// This result with everything that was done and used before it, in the same turn.
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

/// What the events of a run have told.
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

    /// Whether the model has said something since its last call.
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
