//! Canonical messages (KODE-01, KODE-02): the form in which conversations are stored.

use ktx_vocabulary::CacheTtl;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The user or the calling program.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
}

/// How reasoning is sent to a provider that did not write it (KODE-04).
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

/// The source of media bytes; at least one of the fields is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaSource {
    /// The bytes, base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
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
    Text {
        text: String,
    },
    /// A model's reasoning.
    Reasoning {
        /// The readable part; may be empty if only the signature exists.
        reasoning: String,
        /// Provider data that must be returned unchanged, such as `signature`.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    Image {
        /// Its bytes or URL.
        #[serde(flatten)]
        source: MediaSource,
    },
    Audio {
        /// Its bytes or URL.
        #[serde(flatten)]
        source: MediaSource,
    },
    /// A document.
    File {
        /// Its bytes or URL.
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
        /// Provider data that must be returned unchanged.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    /// The result of a call.
    ToolResult {
        /// The call's id.
        tool_use_id: String,
        /// What the model sees.
        content: String,
        /// Whether the call failed.
        #[serde(default)]
        is_error: bool,
    },
    /// A marker without content: everything up to here is worth caching (KODE-31). Backends without
    /// markers, and requests that already have too many, omit it.
    CacheControl {
        /// The lifetime; the configured one if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<CacheTtl>,
    },
    /// A block that only one provider understands.
    Opaque {
        /// The provider that wrote it.
        provider: String,
        /// The block, unchanged.
        json: Value,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub role: MessageRole,
    pub content: Vec<ContentBlock>,
    /// How reasoning in it is sent.
    #[serde(default)]
    pub transport: Transport,
}

impl Message {
    /// Creates a message of one text block.
    pub fn text(role: MessageRole, text: impl Into<String>) -> Self {
        Self::of(role, ContentBlock::Text { text: text.into() })
    }

    /// Creates a message of one block.
    pub fn of(role: MessageRole, block: ContentBlock) -> Self {
        Self {
            role,
            content: vec![block],
            transport: Transport::default(),
        }
    }
}
