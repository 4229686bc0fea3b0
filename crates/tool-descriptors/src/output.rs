//! The result of a tool call.

use serde_json::Value;

use crate::render::markdown_of;

/// In bytes. Clients get a longer result only once, not as both text and structure.
pub const LONGEST_TWICE: usize = 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    pub markdown: String,
    /// For MCP clients, transcripts and ledgers; a model never sees it.
    pub structured: Option<Value>,
}

impl ToolOutput {
    /// Text only (KTX-55).
    pub fn text(markdown: impl Into<String>) -> Self {
        Self {
            markdown: markdown.into(),
            structured: None,
        }
    }

    pub fn new(markdown: impl Into<String>, structured: Value) -> Self {
        Self {
            markdown: markdown.into(),
            structured: Some(structured),
        }
    }

    /// A raw string has no structured form (KTX-55).
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
