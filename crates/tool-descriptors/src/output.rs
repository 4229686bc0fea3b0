//! What a tool call returns.

use serde_json::Value;

use crate::render::markdown_of;

/// The longest result, in bytes, that a client gets both as text and as structure; a longer one it gets once.
pub const LONGEST_TWICE: usize = 1024;

/// The result of a successful tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What a model sees.
    pub markdown: String,
    /// The same facts as data, for MCP clients, transcripts and ledgers; never shown to a model.
    pub structured: Option<Value>,
}

impl ToolOutput {
    /// A result that is text only (KTX-55: raw strings become markdown).
    pub fn text(markdown: impl Into<String>) -> Self {
        Self {
            markdown: markdown.into(),
            structured: None,
        }
    }

    /// A result with both faces.
    pub fn new(markdown: impl Into<String>, structured: Value) -> Self {
        Self {
            markdown: markdown.into(),
            structured: Some(structured),
        }
    }

    /// A result from data alone: the markdown is a deterministic rendering of it, and a raw string is
    /// its own markdown and has no other face (KTX-55).
    pub fn from_value(value: Value) -> Self {
        if let Value::String(text) = value {
            return Self::text(text);
        }
        Self {
            markdown: markdown_of(&value),
            structured: Some(value),
        }
    }
}
