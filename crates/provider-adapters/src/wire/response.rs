//! A response in provider-independent form.

use ktx_llm_runtime::{ContentBlock, TokenUsage};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    Text(String),
    Reasoning(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResponseEnd {
    Natural,
    MaxOutput,
    ContextFull,
    /// Category, if sent.
    Refusal(Option<String>),
    /// The model wants to continue in another call.
    Pause,
}

/// Arguments are not JSON; never executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenCall {
    pub(crate) id: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MessageDraft {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: TokenUsage,
    pub(crate) reported_cost_usd: Option<f64>,
    /// Text, reasoning and arguments, in bytes.
    pub(crate) seen: usize,
    pub(crate) unknown: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Response {
    pub(crate) draft: MessageDraft,
    pub(crate) content: Vec<ContentBlock>,
    pub(crate) stop: ResponseEnd,
    pub(crate) broken: Vec<BrokenCall>,
}

impl Response {
    pub(crate) fn earlier(content: Vec<ContentBlock>) -> Self {
        Self {
            draft: MessageDraft::default(),
            content,
            stop: ResponseEnd::Natural,
            broken: Vec::new(),
        }
    }

    pub(crate) fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

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
