//! Canonical messages (KODE-01, KODE-02): the form in which conversations are stored.

use ktx_vocabulary::CacheTtl;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// The user or the calling program.
    User,
    Assistant,
    System,
}

/// How reasoning is sent to a provider that did not write it (KODE-04).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Reasoning is sent in the provider's own fields.
    #[default]
    Provider,
    Text,
    Omit,
}

/// The source of media bytes; at least one of the fields is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// A provider's id of an uploaded file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
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
    Reasoning {
        /// Empty if only the signature exists.
        reasoning: String,
        /// Provider data that must be returned unchanged, such as `signature`.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    Image {
        #[serde(flatten)]
        source: MediaSource,
    },
    Audio {
        #[serde(flatten)]
        source: MediaSource,
    },
    File {
        #[serde(flatten)]
        source: MediaSource,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
        /// Provider data that must be returned unchanged.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A marker without content: everything before it is worth caching (KODE-31). Backends without
    /// markers, and requests with too many, omit it.
    CacheControl {
        /// The configured lifetime if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<CacheTtl>,
    },
    /// A block of one provider, which others do not understand.
    Opaque {
        provider: String,
        json: Value,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageMetadata {
    /// All blocks, if `content` has only those for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_blocks: Option<Vec<ContentBlock>>,
    /// How reasoning in it is sent; as configured for the backend if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The id under which OpenAI's Responses API stores this answer and everything before it. Code
    /// that changes an earlier message must remove it (KODE-13).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl MessageMetadata {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Serialized with `metadata` only if there is some; also reads the older form with its own
/// `transport` (KODE-01).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "wire::StoredMessage")]
pub struct Message {
    pub role: MessageRole,
    pub content: Vec<ContentBlock>,
    #[serde(skip_serializing_if = "MessageMetadata::is_empty")]
    pub metadata: MessageMetadata,
}

impl Message {
    pub fn new(role: MessageRole, content: Vec<ContentBlock>) -> Self {
        Self {
            role,
            content,
            metadata: MessageMetadata::default(),
        }
    }

    pub fn text(role: MessageRole, text: impl Into<String>) -> Self {
        Self::of(role, ContentBlock::Text { text: text.into() })
    }

    pub fn of(role: MessageRole, block: ContentBlock) -> Self {
        Self::new(role, vec![block])
    }

    /// All blocks, including those that are not for display.
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
    pub(super) struct StoredMessage {
        role: MessageRole,
        content: Vec<ContentBlock>,
        #[serde(default)]
        metadata: MessageMetadata,
        /// The older form, which always names a transport.
        #[serde(default)]
        transport: Transport,
    }

    impl From<StoredMessage> for super::Message {
        fn from(read: StoredMessage) -> Self {
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
