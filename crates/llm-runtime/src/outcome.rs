//! The answers of the port.

use serde_json::Value;

use crate::{CallMetrics, LlmError};

#[derive(Debug, Clone, PartialEq)]
pub struct TextOutcome {
    /// KTX-50.
    pub text: String,
    pub metrics: CallMetrics,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ObjectOutcome {
    /// Matches the caller's schema (KTX-51).
    pub value: Value,
    pub metrics: CallMetrics,
}

/// Why a loop ended (KTX-60).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// The turns were used up while the model still wanted tools.
    Budget,
    Natural,
    Error,
}

impl StopReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Natural => "natural",
            Self::Error => "error",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolTrace {
    pub call_id: String,
    pub name: String,
    pub arguments: Value,
    pub markdown: String,
    /// Hidden from the model (KTX-54).
    pub structured: Option<Value>,
    pub is_error: bool,
}

/// The result of a loop. A failure is a stop reason, never an `Err`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopOutcome {
    pub stop_reason: StopReason,
    pub text: Option<String>,
    /// Set exactly if `stop_reason` is `Error`.
    pub error: Option<LlmError>,
    /// In call order.
    pub tools: Vec<ToolTrace>,
    /// `tool_failures` counts failed calls (KTX-66).
    pub metrics: CallMetrics,
}

impl LoopOutcome {
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
