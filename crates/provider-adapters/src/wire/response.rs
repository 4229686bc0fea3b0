//! What came back, in no provider's words.

use ktx_llm_runtime::{ContentBlock, TokenUsage};
use serde_json::Value;

/// A piece of a stream that can be shown at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// More text of the answer.
    Text(String),
    /// More readable reasoning.
    Reasoning(String),
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was done, or it wants tools.
    Natural,
    /// The answer reached its longest length.
    MaxOutput,
    /// The context window is full.
    ContextFull,
    /// The model or a filter refused; the category, when told.
    Refusal(Option<String>),
    /// It wants to go on in another call.
    Pause,
}

/// A tool call whose arguments are not JSON; it is never executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenCall {
    pub(crate) id: String,
}

/// What is known while a response is read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: TokenUsage,
    pub(crate) reported_cost_usd: Option<f64>,
    /// Bytes of what the model has written: text, reasoning and arguments.
    pub(crate) seen: usize,
    /// Events, blocks and items of kinds that we do not know.
    pub(crate) unknown: u32,
}

/// One whole response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Response {
    pub(crate) draft: Draft,
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) stop: Stop,
    pub(crate) broken: Vec<BrokenCall>,
}

impl Response {
    /// The answer of an earlier loop with this content.
    pub(crate) fn earlier(content: Vec<ContentBlock>) -> Self {
        Self {
            draft: Draft::default(),
            content,
            stop: Stop::Natural,
            broken: Vec::new(),
        }
    }

    /// The text of the answer.
    pub(crate) fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The calls, in order: id, tool, arguments.
    pub(crate) fn calls(&self) -> Vec<(String, String, Value)> {
        self.content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::ToolUse {
                    id, name, input, ..
                } => Some((id.clone(), name.clone(), input.clone())),
                _ => None,
            })
            .collect()
    }
}
