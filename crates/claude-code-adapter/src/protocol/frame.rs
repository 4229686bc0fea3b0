//! The messages of the child, as far as they matter.

use std::collections::BTreeMap;

use ktx_llm_runtime::TokenUsage;
use serde_json::Value;

/// One message of the child.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    /// A question that must be answered.
    Ask {
        /// The id to answer with.
        id: String,
        /// The question.
        ask: Ask,
    },
    /// An answer to a question of ours.
    Answer(ControlAnswer),
    /// An open question is void.
    Withdrawn {
        /// The id of the question.
        id: String,
    },
    /// The execution surface.
    Init(InitFrame),
    /// One block of an assistant message.
    Assistant(AssistantFrame),
    /// Results of tool calls.
    ToolResults {
        /// The results.
        results: Vec<ToolResult>,
        /// Whether they belong to a conversation inside a tool.
        nested: bool,
    },
    /// A piece of a message that is being written.
    Stream {
        /// The piece.
        piece: StreamFrame,
        /// The tool call inside which it is written; absent for the conversation itself.
        parent: Option<String>,
    },
    /// The state of a rate-limit window.
    RateLimit(RateLimit),
    /// The child tries an API call again, after a wait in milliseconds.
    Retry {
        /// The number of the failed try.
        attempt: u32,
        /// The wait before the next one.
        delay_ms: u64,
        /// The HTTP status that it failed with; none when the connection did.
        status: Option<u16>,
    },
    /// The conversation is being summarised, or was.
    Compaction,
    /// Another model answers than the one that was asked for.
    Substituted {
        /// The model that was asked for.
        asked: String,
        /// The one that answers.
        by: String,
    },
    /// A hook begins that the settings of the machine added: the event that it waits for.
    Hook(String),
    /// A sign of life of a long call.
    Progress,
    /// The end of the turn.
    Result(Box<ResultFrame>),
    /// A message that says nothing to us.
    Known,
    /// A message that no version had when this was written: its type.
    Unknown(String),
}

impl Frame {
    /// Whether the model says something in it.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Stream { .. } => true,
            Self::Assistant(frame) => !frame.is_synthetic(),
            _ => false,
        }
    }

    /// Whether it shows that the call goes on; the others show only that the child lives.
    pub(crate) fn is_work(&self) -> bool {
        !matches!(
            self,
            Self::Progress | Self::Known | Self::Unknown(_) | Self::RateLimit(_) | Self::Hook(_)
        )
    }
}

/// A question of the child.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    /// A message of the tool client.
    Mcp {
        /// The server that it is for.
        server: String,
        /// The JSON-RPC message.
        message: Value,
    },
    /// May this tool be used?
    CanUseTool {
        /// The tool's id.
        tool: String,
        /// The arguments.
        input: Value,
        /// The id of the call.
        call_id: String,
    },
    /// A hook fires.
    Hook {
        /// Which one.
        callback: String,
        /// The tool that it is about.
        tool: String,
    },
    /// Anything else: its subtype.
    Other(String),
}

/// An answer to a question of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ControlAnswer {
    /// The id of the question.
    pub(crate) id: String,
    /// The answer, or why there is none.
    pub(crate) outcome: Result<Value, String>,
}

/// A server in the execution surface.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Server {
    /// Its name.
    pub(crate) name: String,
    /// Its state, such as `connected`.
    pub(crate) status: String,
    /// Who named it, such as `sdk` or `project`; older versions do not tell.
    pub(crate) source: Option<String>,
}

/// A plugin in the execution surface.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plugin {
    /// Its name.
    pub(crate) name: String,
    /// Where it lies; `builtin` when it is part of the program.
    pub(crate) path: String,
    /// What it was taken from, such as `NAME@builtin` or `NAME@MARKET`, when that is told.
    pub(crate) source: Option<String>,
}

/// The execution surface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InitFrame {
    /// Ids of the tools; `None` when the message has no list.
    pub(crate) tools: Option<Vec<String>>,
    /// The tool servers.
    pub(crate) servers: Option<Vec<Server>>,
    /// The plugins.
    pub(crate) plugins: Option<Vec<Plugin>>,
    /// The permission mode.
    pub(crate) permission_mode: String,
    /// Where an API key comes from.
    pub(crate) api_key_source: Option<String>,
    /// The model.
    pub(crate) model: String,
    /// The version of the program.
    pub(crate) version: String,
}

/// A block of an assistant message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// Text.
    Text(String),
    /// A tool call.
    ToolUse {
        /// The id of the call.
        id: String,
        /// The tool's id.
        name: String,
        /// The arguments.
        input: Value,
    },
    /// Thinking and everything else.
    Other,
}

/// One line of an assistant message; a message has one line per block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AssistantFrame {
    /// The id of the message.
    pub(crate) id: String,
    /// The model; `<synthetic>` for texts of the program itself.
    pub(crate) model: String,
    /// The blocks of this line.
    pub(crate) blocks: Vec<Block>,
    /// Why the message ended; only known here when it was not streamed.
    pub(crate) stop_reason: Option<String>,
    /// The counters; the output is a placeholder when `stop_reason` is not known.
    pub(crate) usage: TokenUsage,
    /// Whether the line belongs to a conversation inside a tool.
    pub(crate) nested: bool,
    /// The class of an error that the program reports.
    pub(crate) error: Option<String>,
}

impl AssistantFrame {
    /// Whether the program made the message up itself.
    pub(crate) fn is_synthetic(&self) -> bool {
        self.model == "<synthetic>"
    }
}

/// The result of one tool call, as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// The id of the call.
    pub(crate) call_id: String,
    /// The text.
    pub(crate) text: String,
    /// Whether it failed.
    pub(crate) is_error: bool,
}

/// A piece of a message that is being written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamFrame {
    /// A message begins.
    Start {
        /// Its id.
        id: String,
        /// The model.
        model: String,
        /// The input counters.
        usage: TokenUsage,
    },
    /// More text.
    Text(String),
    /// More of what is no text: bytes of thinking, or of the arguments of a tool call.
    Written(usize),
    /// The final counters; only the output is taken from here.
    Delta {
        /// Output tokens.
        output: Option<u64>,
    },
    /// The message is whole.
    Stop,
    /// Anything else.
    Other,
}

/// The state of a rate-limit window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateLimit {
    /// `allowed`, `allowed_warning` or `rejected`.
    pub(crate) status: String,
    /// The window; empty when not told.
    pub(crate) window: String,
    /// Unix seconds at which the window ends.
    pub(crate) resets_at: Option<i64>,
    /// The share that is used.
    pub(crate) utilization: Option<f64>,
    /// Whether extra usage, which is paid for beside the plan, serves what the window refuses.
    pub(crate) is_extra: bool,
}

/// The end of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResultFrame {
    /// `success` or `error_…`.
    pub(crate) subtype: String,
    /// Whether it is an error; the only trustworthy sign on some versions.
    pub(crate) is_error: bool,
    /// Why the turn ended.
    pub(crate) terminal_reason: Option<String>,
    /// Why the last message ended.
    pub(crate) stop_reason: Option<String>,
    /// The text of the answer, or of the error.
    pub(crate) text: Option<String>,
    /// What stands in the place of that text.
    pub(crate) no_text: Option<&'static str>,
    /// The texts of errors.
    pub(crate) errors: Vec<String>,
    /// The accepted object.
    pub(crate) object: Option<Value>,
    /// The HTTP status of the API.
    pub(crate) api_status: Option<u16>,
    /// The class of the API's error on newer versions.
    pub(crate) api_error: Option<String>,
    /// What the program thinks the process cost so far, in US dollars.
    pub(crate) cost_usd: Option<f64>,
    /// Everything that the process used, by model.
    pub(crate) used: BTreeMap<String, TokenUsage>,
}
