//! Canonical messages (KODE-01, KODE-02): the form in which conversations are kept.

use ktx_vocabulary::CacheTtl;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
}

/// How reasoning travels to a provider that did not write it (KODE-04).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// In the provider's own fields.
    #[default]
    Provider,
    /// As `<think>…</think>` text.
    Text,
    /// Left out.
    Omit,
}

/// Where media bytes come from; at least one of the fields is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaSource {
    /// The bytes, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// An address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// A provider's id of an uploaded file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// The file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// One block of a message. Order never changes; opaque blocks survive byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A model's reasoning.
    Reasoning {
        /// The readable part; may be empty when only the signature exists.
        reasoning: String,
        /// Provider data that must come back unchanged, such as `signature`.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    /// An image.
    Image {
        /// Its bytes or address.
        #[serde(flatten)]
        source: MediaSource,
    },
    /// Sound.
    Audio {
        /// Its bytes or address.
        #[serde(flatten)]
        source: MediaSource,
    },
    /// A document.
    File {
        /// Its bytes or address.
        #[serde(flatten)]
        source: MediaSource,
    },
    /// A call of a tool by the model.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Value,
        /// Provider data that must come back unchanged.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    /// The answer to a call.
    ToolResult {
        /// The call's id.
        tool_use_id: String,
        /// What the model sees.
        content: String,
        /// Whether the call failed.
        #[serde(default)]
        is_error: bool,
    },
    /// No content: everything up to here is worth caching (KODE-31). Backends that place no markers,
    /// and those whose request has too many already, leave it out.
    CacheControl {
        /// How long; the configured time when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<CacheTtl>,
    },
    /// A block that only one provider understands.
    Opaque {
        /// The provider that wrote it.
        provider: String,
        /// The block, as it came.
        json: Value,
    },
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: MessageRole,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// How reasoning in it travels.
    #[serde(default)]
    pub transport: Transport,
}

impl Message {
    /// A message of one text block.
    pub fn text(role: MessageRole, text: impl Into<String>) -> Self {
        Self {
            role,
            content: vec![ContentBlock::Text { text: text.into() }],
            transport: Transport::default(),
        }
    }
}
