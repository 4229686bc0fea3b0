//! The contents of a scenario.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::SharedAccount;

/// What one process of the fake does.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    pub mode: Mode,
    /// Generates answers from the schema and the prompt instead of `steps`.
    pub echo: Option<Echo>,
    pub replay: Option<PathBuf>,
    /// `2.1.330` if empty.
    pub version: String,
    /// The account in the answer to `initialize`; a subscription if absent.
    pub account: Option<Value>,
    /// Changes to the description of the execution surface; `null` removes a field.
    pub init: Map<String, Value>,
    pub unknown_options: Vec<String>,
    /// The tool server's handshake comes before the prompt, not after it.
    pub handshake_first: bool,
    /// Input is not checked: for other drivers with other requests.
    pub lenient: bool,
    /// Acts before `initialize` is answered.
    pub before: Vec<Act>,
    /// Acts after the prompt.
    pub steps: Vec<Act>,
    /// Other steps for prompts with a given text; the first match counts.
    pub when: Vec<When>,
    /// Changes to the result.
    pub result: Map<String, Value>,
    /// Acts after the result.
    pub after: Vec<Act>,
    pub ignore_interrupt: bool,
    /// Gets one line of JSON per process.
    pub record: Option<PathBuf>,
    /// Gets one line of JSON per billed message.
    pub bill: Option<PathBuf>,
    /// The account of all processes, if it changes.
    pub shared_account: Option<SharedAccount>,
    /// The name of the answering model; by default `fake-` and the requested one.
    pub model: String,
    /// Makes message ids predictable: they contain this instead of a unique name of the process.
    pub message_ids: Option<String>,
    /// One scenario per process, by the number of lines in `record`; the last one repeats.
    pub sequence: Vec<Self>,
}

/// The source of the answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// `steps`, or `echo` if present.
    #[default]
    Script,
    /// The schema and the prompt, like an empty `echo`.
    SchemaEcho,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    pub prompt_contains: String,
    pub steps: Vec<Act>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Echo {
    /// The answer to a text request; `ok` if absent.
    pub text: Option<String>,
    pub template: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// Ours without its prefix, others unchanged.
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
    /// The text, which only a log may show.
    #[serde(default)]
    pub text: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// A message of text.
    Text(String),
    /// A message with these calls, which run concurrently.
    Tools(Vec<ToolUse>),
    Object(Value),
    /// The model API fails, which ends the turn.
    ApiError(ApiError),
    End(Map<String, Value>),
    /// A line, unchanged.
    Raw(Value),
    /// Text, including any line end.
    Junk(String),
    /// A message of text in two pieces, split inside a character.
    Split(String),
    /// A line of this many bytes that is not a message.
    BigLine(usize),
    /// This many bytes on standard error.
    FloodStderr(usize),
    /// A text on standard error.
    Complain(String),
    /// A message begins and never completes.
    BrokenStream(String),
    /// Requests permission for a tool; records the answer.
    AskPermission(ToolUse),
    Retry(Value),
    RateLimit(Value),
    /// Writes the process id to a file of this name in the working directory.
    Mark(String),
    /// Milliseconds.
    Sleep(u64),
    /// Forever; input lines are discarded.
    Hang,
    /// Ignores the termination signal from now on.
    IgnoreTermination,
    CloseStdout,
    /// A process that survives, in the group or outside it.
    Daemon(Group),
    /// Exits with this code and without a result.
    Exit(u8),
    /// The end, by a signal.
    Die,
}

/// The group of a surviving process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The group of the fake.
    Same,
    /// Its own group.
    Own,
    /// Its own session, with an empty environment. Writes its id to `daemon.pid` in the working
    /// directory.
    Session,
}
