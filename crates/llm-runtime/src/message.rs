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

/// What is known about a message besides its content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageMetadata {
    /// Every block of the message, where the content has only those for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_blocks: Option<Vec<ContentBlock>>,
    /// How reasoning in it is sent; as configured for the backend if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The id under which OpenAI's Responses stores this answer and everything before it. Whoever
    /// changes an earlier message removes it (KODE-13).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl MessageMetadata {
    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A message. Its serialized form has `metadata` only where there is some; the older form with a
/// `transport` of its own is read, too (KODE-01).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "wire::Read")]
pub struct Message {
    /// Its author.
    pub role: MessageRole,
    pub content: Vec<ContentBlock>,
    #[serde(skip_serializing_if = "MessageMetadata::is_empty")]
    pub metadata: MessageMetadata,
}

impl Message {
    /// Creates a message without metadata.
    pub fn new(role: MessageRole, content: Vec<ContentBlock>) -> Self {
        Self {
            role,
            content,
            metadata: MessageMetadata::default(),
        }
    }

    /// Creates a message of one text block.
    pub fn text(role: MessageRole, text: impl Into<String>) -> Self {
        Self::of(role, ContentBlock::Text { text: text.into() })
    }

    /// Creates a message of one block.
    pub fn of(role: MessageRole, block: ContentBlock) -> Self {
        Self::new(role, vec![block])
    }

    /// Returns every block, also those that are not for display.
    pub fn blocks(&self) -> &[ContentBlock] {
        self.metadata
            .content_blocks
            .as_deref()
            .unwrap_or(&self.content)
    }
}

mod wire {
    //! The forms in which messages are read.

    use serde::Deserialize;

    use super::{ContentBlock, MessageMetadata, MessageRole, Transport};

    #[derive(Deserialize)]
    pub(super) struct Read {
        role: MessageRole,
        content: Vec<ContentBlock>,
        #[serde(default)]
        metadata: MessageMetadata,
        /// Of the older form, which always names one.
        #[serde(default)]
        transport: Transport,
    }

    impl From<Read> for super::Message {
        fn from(read: Read) -> Self {
            let mut metadata = read.metadata;
            if read.transport != Transport::Provider {
                metadata.transport.get_or_insert(read.transport);
            }
            Self {
                role: read.role,
                content: read.content,
                metadata,
            }
        }
    }
}
