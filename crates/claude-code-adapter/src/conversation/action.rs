//! What a conversation asks of its shell, tells its listeners and leaves behind.

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::{LlmError, TokenUsage, ToolTrace};
use serde_json::Value;

use crate::outcome::FailureSigns;
use crate::protocol::{RateLimit, ResultFrame};
use crate::turns::{Counted, MessageUsage};

/// What the shell has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Write this line.
    Send(Value),
    /// Run a tool, then tell [`Conversation::tool_done`].
    Call {
        /// The id of the child's question.
        request: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
        /// The model's id of the call.
        call_id: String,
    },
    /// Stop a running tool.
    Abort {
        /// The id of the child's question.
        request: String,
    },
    /// Tell whoever listens.
    Note(Note),
    /// Kill the child: nothing it says may be used.
    Fail(LlmError),
    /// The result is here.
    Finish,
}

/// What happened, for listeners.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Note {
    /// The account is the user's own; who pays.
    Payer(String),
    /// The surface is what was asked for; the version of the program.
    Verified(String),
    /// Something harmless that the user should know.
    Warning(String),
    /// A hook of the machine's settings runs in the call: the event that it waits for.
    Hook(String),
    /// A turn ended.
    Step,
    /// A message has begun, or its output has grown.
    Begun(MessageUsage),
    /// A message was paid for.
    Usage(MessageUsage),
    /// Another turn follows, or has begun, and everything before it is told.
    FurtherTurn,
    /// A rate-limit window was told.
    RateLimit(RateLimit),
    /// The child tries again after a wait in milliseconds.
    Retry {
        /// The number of the failed try.
        attempt: u32,
        /// The wait.
        delay_ms: u64,
        /// The HTTP status of the failed try.
        status: Option<u16>,
    },
    /// The conversation is summarised.
    Compaction,
    /// More text of the answer.
    Text(String),
    /// A tool call begins.
    ToolStart {
        /// The id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: Value,
    },
    /// A tool call ended.
    ToolEnd {
        /// The id of the call.
        call_id: String,
        /// What the model sees.
        markdown: String,
        /// Whether it failed.
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

/// What is left of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    /// The model that the surface named.
    pub(crate) model: Option<String>,
    /// Tool calls that failed.
    pub(crate) tool_failures: u32,
    /// The ids of the messages that were counted.
    pub(crate) counted: BTreeSet<String>,
    /// Tokens over all messages, by model.
    pub(crate) used: BTreeMap<String, TokenUsage>,
    /// The tool calls in call order.
    pub(crate) tools: Vec<ToolTrace>,
    /// The last object that the program accepted.
    pub(crate) accepted: Option<Value>,
    /// What tells why the result is an error.
    pub(crate) signs: FailureSigns,
    /// Messages that were not understood, with their number.
    pub(crate) unknown: BTreeMap<String, u32>,
    /// The result, when one came.
    pub(crate) result: Option<ResultFrame>,
}
