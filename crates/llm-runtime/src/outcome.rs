//! The answers of the port.

use serde_json::Value;

use crate::{CallMetrics, LlmError};

/// The answer to a text request.
#[derive(Debug, Clone, PartialEq)]
pub struct TextOutcome {
    /// The final text (KTX-50).
    pub text: String,
    pub metrics: CallMetrics,
}

/// The answer to an object request.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectOutcome {
    /// The object; valid under the caller's own schema (KTX-51).
    pub value: Value,
    pub metrics: CallMetrics,
}

/// Why a loop ended (KTX-60).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// The turns were used up while the model still wanted tools.
    Budget,
    /// The model was done.
    Natural,
    /// The loop failed.
    Error,
}

impl StopReason {
    /// The spelling in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Natural => "natural",
            Self::Error => "error",
        }
    }
}

/// One tool call of a loop, with both forms of its result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolTrace {
    /// The model's id of the call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The arguments that the model passed.
    pub arguments: Value,
    /// What the model saw.
    pub markdown: String,
    /// The structured payload, which the model did not see (KTX-54).
    pub structured: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
}

/// The end of a loop. Failures are a stop reason with an error, never an `Err`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopOutcome {
    /// Why it ended.
    pub stop_reason: StopReason,
    /// The closing text of the model, if any.
    pub text: Option<String>,
    /// The failure; present exactly if `stop_reason` is `Error`.
    pub error: Option<LlmError>,
    /// The tool calls in call order.
    pub tools: Vec<ToolTrace>,
    /// Its metrics; `tool_failures` counts failed calls (KTX-66).
    pub metrics: CallMetrics,
}

impl LoopOutcome {
    /// Returns the outcome of a loop that failed before its first turn.
    pub fn failed(error: LlmError) -> Self {
        Self {
            stop_reason: StopReason::Error,
            text: None,
            error: Some(error),
            tools: Vec::new(),
            metrics: CallMetrics::default(),
        }
    }
}
