//! The messages of the child, as far as they matter.

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    /// A request that must be answered.
    ControlRequest {
        id: String,
        ask: ControlRequest,
    },
    Answer(ControlAnswer),
    Withdrawn {
        id: String,
    },
    Init(InitFrame),
    Assistant(AssistantFrame),
    ToolResults {
        results: Vec<ToolResult>,
        /// They belong to a conversation inside a tool.
        nested: bool,
    },
    Stream {
        piece: StreamFrame,
        /// The tool call in which it is written; absent for the main conversation.
        parent: Option<String>,
    },
    RateLimit(RateLimit),
    Retry {
        attempt: u32,
        /// The delay before the next attempt.
        delay_ms: u64,
        /// The HTTP status of the failure; `None` if the connection failed.
        status: Option<u16>,
    },
    /// The conversation is being summarized, or was.
    Compaction,
    /// Another model answers than the requested one.
    Substituted {
        asked: String,
        by: String,
    },
    /// The event of a hook from the machine's settings that begins.
    Hook(String),
    /// A keep-alive of a long call.
    Progress,
    Result(Box<ResultFrame>),
    /// A known message that carries nothing of interest.
    Known,
    /// A message of a type that no version had when this was written.
    Unknown(String),
}

impl Frame {
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Stream { .. } => true,
            Self::Assistant(frame) => !frame.is_synthetic(),
            _ => false,
        }
    }

    /// Whether it shows progress of the call; the others show only that the child lives.
    pub(crate) fn is_work(&self) -> bool {
        !matches!(
            self,
            Self::Progress | Self::Known | Self::Unknown(_) | Self::RateLimit(_) | Self::Hook(_)
        )
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ControlRequest {
    Mcp {
        server: String,
        message: Value,
    },
    /// A permission request.
    CanUseTool {
        tool: String,
        input: Value,
        call_id: String,
    },
    Hook {
        callback: String,
        tool: String,
    },
    /// Any other request, by subtype.
    Other(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ControlAnswer {
    pub(crate) id: String,
    pub(crate) outcome: Result<Value, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListedServer {
    pub(crate) name: String,
    pub(crate) status: String,
    /// Who named it, such as `sdk` or `project`; older versions do not say.
    pub(crate) source: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    /// `builtin` if it is part of the program.
    pub(crate) path: String,
    /// Its origin, such as `NAME@builtin` or `NAME@MARKET`, if reported.
    pub(crate) source: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InitFrame {
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) servers: Option<Vec<ListedServer>>,
    pub(crate) plugins: Option<Vec<Plugin>>,
    pub(crate) permission_mode: String,
    pub(crate) api_key_source: Option<String>,
    pub(crate) model: String,
    pub(crate) version: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AssistantBlock {
    Text(String),
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    /// Thinking and everything else.
    Other,
}

/// One line of an assistant message; a message has one line per block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AssistantFrame {
    pub(crate) id: String,
    /// `<synthetic>` for texts of the program itself.
    pub(crate) model: String,
    pub(crate) blocks: Vec<AssistantBlock>,
    /// Known here only if the message was not streamed.
    pub(crate) stop_reason: Option<String>,
    /// The output is a placeholder while `stop_reason` is unknown.
    pub(crate) usage: TokenUsage,
    /// The line belongs to a conversation inside a tool.
    pub(crate) nested: bool,
    /// The class of an error that the program reports.
    pub(crate) error: Option<String>,
}

impl AssistantFrame {
    pub(crate) fn is_synthetic(&self) -> bool {
        self.model == "<synthetic>"
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    pub(crate) call_id: String,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamFrame {
    Start {
        id: String,
        model: String,
        usage: TokenUsage,
    },
    Text(String),
    /// Output that is not text: bytes of thinking, or of the arguments of a tool call.
    Written(usize),
    /// The final counters; only the output is read from here.
    Delta {
        output: Option<u64>,
    },
    Stop,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateLimit {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub(crate) status: String,
    /// Empty if unknown.
    pub(crate) window: String,
    /// Unix seconds.
    pub(crate) resets_at: Option<i64>,
    /// The used share of the window.
    pub(crate) utilization: Option<f64>,
    /// Extra usage, billed in addition to the plan, serves what the window refuses.
    pub(crate) is_extra: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResultFrame {
    /// `success` or `error_…`.
    pub(crate) subtype: String,
    /// The only reliable sign of an error on some versions.
    pub(crate) is_error: bool,
    pub(crate) terminal_reason: Option<String>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) text: Option<String>,
    /// The type of the value in place of that text.
    pub(crate) no_text: Option<&'static str>,
    pub(crate) errors: Vec<String>,
    pub(crate) object: Option<Value>,
    pub(crate) api_status: Option<u16>,
    /// The class of the API's error on newer versions.
    pub(crate) api_error: Option<String>,
    /// The program's estimate for the process so far, in US dollars.
    pub(crate) cost_usd: Option<f64>,
    /// Everything that the process used, by model.
    pub(crate) used: BTreeMap<String, TokenUsage>,
}
