//! The relevant messages of the child.

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
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
        /// Inside a tool.
        nested: bool,
    },
    Stream {
        piece: StreamFrame,
        /// `None` in the main conversation.
        parent: Option<String>,
    },
    RateLimit(RateLimit),
    Retry {
        attempt: u32,
        delay_ms: u64,
        /// `None` without a connection.
        status: Option<u16>,
    },
    Compaction,
    Substituted {
        asked: String,
        by: String,
    },
    /// From the machine's settings.
    Hook(String),
    /// A keep-alive.
    Progress,
    Result(Box<ResultFrame>),
    Known,
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

    /// Not only a sign of life.
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
    CanUseTool {
        tool: String,
        input: Value,
        call_id: String,
    },
    Hook {
        callback: String,
        tool: String,
    },
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
    /// Such as `sdk` or `project`; not in older versions.
    pub(crate) source: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plugin {
    pub(crate) name: String,
    /// `builtin` for parts of the program.
    pub(crate) path: String,
    /// Such as `NAME@builtin` or `NAME@MARKET`.
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
    Other,
}

/// One line per block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AssistantFrame {
    pub(crate) id: String,
    /// `<synthetic>` for the program's texts.
    pub(crate) model: String,
    pub(crate) blocks: Vec<AssistantBlock>,
    /// Only if not streamed.
    pub(crate) stop_reason: Option<String>,
    /// The output is a placeholder without `stop_reason`.
    pub(crate) usage: TokenUsage,
    /// Inside a tool.
    pub(crate) nested: bool,
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
    /// Bytes of thinking or arguments.
    Written(usize),
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
    pub(crate) utilization: Option<f64>,
    /// Extra usage, billed in addition to the plan, serves what the window refuses.
    pub(crate) is_extra: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResultFrame {
    /// `success` or `error_…`.
    pub(crate) subtype: String,
    /// The only reliable sign on some versions.
    pub(crate) is_error: bool,
    pub(crate) terminal_reason: Option<String>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) no_text: Option<&'static str>,
    pub(crate) errors: Vec<String>,
    pub(crate) object: Option<Value>,
    pub(crate) api_status: Option<u16>,
    /// Newer versions.
    pub(crate) api_error: Option<String>,
    /// The program's estimate.
    pub(crate) cost_usd: Option<f64>,
    /// By the whole process.
    pub(crate) used: BTreeMap<String, TokenUsage>,
}
