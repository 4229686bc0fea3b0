//! The contents of a scenario.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::SharedAccount;

/// The behavior of one process of the fake.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// The source of the answers.
    pub mode: Mode,
    /// Generates answers from the schema and the prompt instead of `steps`.
    pub echo: Option<Echo>,
    /// Replays a recording instead.
    pub replay: Option<PathBuf>,
    /// The version that it reports; `2.1.330` if empty.
    pub version: String,
    /// The account in the answer to `initialize`; a subscription if absent.
    pub account: Option<Value>,
    /// Changes to the description of the execution surface; `null` removes a field.
    pub init: Map<String, Value>,
    /// Options that this version rejects.
    pub unknown_options: Vec<String>,
    /// Performs the tool server's handshake before the prompt instead of after it.
    pub handshake_first: bool,
    /// Does not check its input: for other drivers with other requests.
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
    /// Whether an interrupt is ignored.
    pub ignore_interrupt: bool,
    /// A file that gets one line of JSON per process.
    pub record: Option<PathBuf>,
    /// A file that gets one line of JSON per billed message.
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
    /// From `steps`, or from `echo` if present.
    #[default]
    Script,
    /// From the schema and the prompt, like an empty `echo`.
    SchemaEcho,
}

/// Other steps for some prompts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A part of the prompt.
    pub prompt_contains: String,
    pub steps: Vec<Act>,
}

/// Generated answers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Echo {
    /// The answer to a text request; `ok` if absent.
    pub text: Option<String>,
    /// The pattern of texts in objects, with `{name}` for the name of the property.
    pub template: Option<String>,
}

/// One tool call of the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// The tool: ours without its prefix, others unchanged.
    pub name: String,
    #[serde(default)]
    pub input: Value,
}

/// A failure of the model API.
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

/// One act.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// The model writes a message of text.
    Text(String),
    /// The model writes a message with these calls, which run concurrently.
    Tools(Vec<ToolUse>),
    /// The model submits an object.
    Object(Value),
    /// The model API fails, which ends the turn.
    ApiError(ApiError),
    /// The turn ends with this change to the result.
    End(Map<String, Value>),
    /// A line, unchanged.
    Raw(Value),
    /// Bytes, as text, including any line end.
    Junk(String),
    /// A message of text written in two pieces, split inside a character.
    Split(String),
    /// A line of this many bytes that is not a message.
    BigLine(usize),
    /// This many bytes on standard error.
    FloodStderr(usize),
    /// A text on standard error.
    Complain(String),
    /// A message begins and never completes.
    BrokenStream(String),
    /// Requests permission for a tool. The answer is recorded.
    AskPermission(ToolUse),
    /// An announced retry.
    Retry(Value),
    /// A rate-limit window.
    RateLimit(Value),
    /// A file of this name in the working directory gets the process id.
    Mark(String),
    /// A wait in milliseconds.
    Sleep(u64),
    /// An endless wait; input lines are discarded.
    Hang,
    /// From now on the termination signal is ignored.
    IgnoreTermination,
    /// Standard output is closed.
    CloseStdout,
    /// A process that survives: in the group, or outside it.
    Daemon(Group),
    /// The end with this exit code and without a result.
    Exit(u8),
    /// The end, by a signal.
    Die,
}

/// The place of a surviving process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// In the group of the fake.
    Same,
    /// In its own group.
    Own,
    /// In its own session, with an empty environment. Its id goes into the file `daemon.pid` of the
    /// working directory.
    Session,
}
