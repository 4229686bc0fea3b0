//! Scenario format.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::SharedAccount;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    pub mode: Mode,
    /// Replaces `steps`: generates answers from schema and prompt.
    pub echo: Option<Echo>,
    pub replay: Option<PathBuf>,
    /// Default: `2.1.330`.
    pub version: String,
    /// In the answer to `initialize`; default: a subscription.
    pub account: Option<Value>,
    /// Overrides of the execution surface; `null` removes a field.
    pub init: Map<String, Value>,
    pub unknown_options: Vec<String>,
    /// Performs the tool server's handshake before the prompt.
    pub handshake_first: bool,
    /// Accepts any input, for other drivers.
    pub lenient: bool,
    /// Acts before the answer to `initialize`.
    pub before: Vec<ScenarioStep>,
    pub steps: Vec<ScenarioStep>,
    /// Steps for prompts that contain a text; first match wins.
    pub when: Vec<PromptCase>,
    pub result: Map<String, Value>,
    pub after: Vec<ScenarioStep>,
    pub ignore_interrupt: bool,
    /// Gets a JSON line per process.
    pub record: Option<PathBuf>,
    /// Gets a JSON line per billed message.
    pub bill: Option<PathBuf>,
    pub shared_account: Option<SharedAccount>,
    /// Default: `fake-` and the requested model.
    pub model: String,
    /// Replaces the process's unique name in message ids.
    pub message_ids: Option<String>,
    /// Scenarios by number of lines in `record`; the last repeats.
    pub sequence: Vec<Self>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// `steps`, or `echo` if present.
    #[default]
    Script,
    SchemaEcho,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PromptCase {
    pub prompt_contains: String,
    pub steps: Vec<ScenarioStep>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Echo {
    /// Answer to a text request; default: `ok`.
    pub text: Option<String>,
    pub template: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// ktx tools without prefix, others unchanged.
    pub name: String,
    #[serde(default)]
    pub input: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiError {
    pub class: String,
    #[serde(default)]
    pub status: Option<u16>,
    /// Only a log can show it.
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenarioStep {
    Text(String),
    Tools(Vec<ToolUse>),
    Object(Value),
    /// A model API failure, which ends the turn.
    ApiError(ApiError),
    End(Map<String, Value>),
    Raw(Value),
    /// Includes any line end.
    Junk(String),
    /// Text in two pieces, split inside a character.
    Split(String),
    /// An invalid line of this many bytes.
    BigLine(usize),
    FloodStderr(usize),
    Complain(String),
    BrokenStream(String),
    AskPermission(ToolUse),
    Retry(Value),
    RateLimit(Value),
    /// Writes the process id to this file in the working directory.
    Mark(String),
    Sleep(u64),
    Hang,
    IgnoreTermination,
    CloseStdout,
    Daemon(Group),
    Exit(u8),
    Die,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    Same,
    Own,
    /// Own session with empty environment. Writes its id to `daemon.pid` in the working directory.
    Session,
}
