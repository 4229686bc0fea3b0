//! What came of one question, in the shape that every backend gives (HOLO-30).

use ktx_llm_runtime::TokenUsage;
use ktx_vocabulary::RunId;
use serde::Serialize;
use serde_json::Value;

/// What came of one question. The same shape from every backend; nothing of a backend is inside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExecutionResult {
    /// The run, as the usage ledger and the log name it.
    pub run_id: RunId,
    /// The trace of the run (COG-23).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The answer. What was said so far when the turns were used up before one.
    pub response: String,
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
