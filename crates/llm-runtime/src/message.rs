//! Canonical messages (KODE-01, KODE-02), as stored.

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

/// How reasoning is sent to another provider (KODE-04).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// In the provider's own fields.
    #[default]
    Provider,
    Text,
    Omit,
}

/// At least one field is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaSource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// A block of a message. Order never changes; opaque blocks survive byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    Reasoning {
        reasoning: String,
        /// Must be returned unchanged, such as `signature`.
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
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        meta: Map<String, Value>,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A marker: everything before it is worth caching (KODE-31). Omitted by backends without
    /// markers and in requests with too many.
    CacheControl {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<CacheTtl>,
    },
    /// Only one provider understands it.
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
    /// How its reasoning is sent; by default as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Id in OpenAI's Responses API. Remove it after changes to an earlier message (KODE-13).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl MessageMetadata {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Omits empty `metadata`; also reads the older form with `transport` (KODE-01).
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

    pub fn blocks(&self) -> &[ContentBlock] {
        self.metadata
            .content_blocks
            .as_deref()
            .unwrap_or(&self.content)
    }
}

mod wire {
    use serde::Deserialize;

    use super::{ContentBlock, MessageMetadata, MessageRole, Transport};

    #[derive(Deserialize)]
    pub(super) struct StoredMessage {
        role: MessageRole,
        content: Vec<ContentBlock>,
        #[serde(default)]
        metadata: MessageMetadata,
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
