//! The actions, notes and final record of a conversation.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{ContentBlock, LlmError, TokenUsage, ToolTrace};
use serde_json::Value;

use crate::outcome::FailureSigns;
use crate::protocol::{RateLimit, ResultFrame};
use crate::turns::{Counted, MessageUsage};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Send(Value),
    /// Run a tool, then call [`Conversation::tool_done`].
    Call {
        request: String,
        name: String,
        arguments: Value,
        call_id: String,
    },
    /// Stop a running tool.
    Abort {
        request: String,
    },
    /// Send to the listeners.
    Note(Note),
    Fail(LlmError),
    Finish,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Note {
    /// The account is the user's own. Holds who pays.
    Payer(String),
    /// The surface matches the query. Holds the version of the program.
    Verified(String),
    /// A harmless fact that the user should know.
    Warning(String),
    /// A hook from the machine's settings runs in the call. Holds its event.
    Hook(String),
    /// A turn ended.
    Step,
    /// A message began, or its output has grown.
    Begun(MessageUsage),
    Usage(MessageUsage),
    /// Another turn follows or has begun, and everything before it has been reported.
    FurtherTurn,
    RateLimit(RateLimit),
    /// The child retries after a delay in milliseconds.
    Retry {
        attempt: u32,
        delay_ms: u64,
        status: Option<u16>,
    },
    /// The conversation is being summarized.
    Compaction,
    Text(String),
    /// A whole block of an assistant message, before its call if it is one.
    Block(ContentBlock),
    ToolStart {
        call_id: String,
        name: String,
        arguments: Value,
    },
    ToolEnd {
        call_id: String,
        /// The text that the model reads.
        markdown: String,
        is_error: bool,
    },
}

impl From<Counted> for Note {
    fn from(counted: Counted) -> Self {
        match counted {
            Counted::Begun(message) => Self::Begun(message),
            Counted::Whole(message) => Self::Usage(message),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// The model that the surface named.
    pub(crate) model: Option<String>,
    pub(crate) tool_failures: u32,
    pub(crate) counted: BTreeSet<String>,
    pub(crate) used: BTreeMap<String, TokenUsage>,
    pub(crate) tools: Vec<ToolTrace>,
    /// The last object that the program accepted.
    pub(crate) accepted: Option<Value>,
    /// Evidence for why the result is an error.
    pub(crate) signs: FailureSigns,
    /// Unknown messages by kind, with their number.
    pub(crate) unknown: BTreeMap<String, u32>,
    pub(crate) result: Option<ResultFrame>,
}
