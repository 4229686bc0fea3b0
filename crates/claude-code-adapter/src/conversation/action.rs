//! The actions, notes and final record of a conversation.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{ContentBlock, LlmError, TokenUsage, ToolTrace};
use serde_json::Value;

use crate::outcome::FailureSigns;
use crate::protocol::{RateLimit, ResultFrame};
use crate::turns::{MessageUsage, UsageUpdate};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Send(Value),
    /// Answer with [`Conversation::tool_done`].
    Call {
        request: String,
        name: String,
        arguments: Value,
        call_id: String,
    },
    Abort {
        request: String,
    },
    Note(ConversationNote),
    Fail(LlmError),
    Finish,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConversationNote {
    Payer(String),
    Verified(String),
    Warning(String),
    /// From the machine's settings.
    Hook(String),
    Step,
    Begun(MessageUsage),
    Usage(MessageUsage),
    FurtherTurn,
    RateLimit(RateLimit),
    /// Milliseconds.
    Retry {
        attempt: u32,
        delay_ms: u64,
        status: Option<u16>,
    },
    Compaction,
    Text(String),
    Block(ContentBlock),
    ToolStart {
        call_id: String,
        name: String,
        arguments: Value,
    },
    ToolEnd {
        call_id: String,
        markdown: String,
        is_error: bool,
    },
}

impl From<UsageUpdate> for ConversationNote {
    fn from(counted: UsageUpdate) -> Self {
        match counted {
            UsageUpdate::Begun(message) => Self::Begun(message),
            UsageUpdate::Whole(message) => Self::Usage(message),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConversationRecord {
    pub(crate) model: Option<String>,
    pub(crate) tool_failures: u32,
    pub(crate) counted: BTreeSet<String>,
    pub(crate) used: BTreeMap<String, TokenUsage>,
    pub(crate) tools: Vec<ToolTrace>,
    pub(crate) accepted: Option<Value>,
    pub(crate) signs: FailureSigns,
    pub(crate) unknown: BTreeMap<String, u32>,
    pub(crate) result: Option<ResultFrame>,
}
