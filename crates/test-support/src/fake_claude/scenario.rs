//! What a scenario can say.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::SharedAccount;

/// How the fake behaves in one process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// Where the answers come from.
    pub mode: Mode,
    /// Answers from the schema and the prompt instead of from `steps`.
    pub echo: Option<Echo>,
    /// Plays a recording back instead.
    pub replay: Option<PathBuf>,
    /// The version that it claims to have; `2.1.330` when empty.
    pub version: String,
    /// The account in the answer to `initialize`; a subscription when absent.
    pub account: Option<Value>,
    /// Changes to the description of the execution surface; `null` takes a field away.
    pub init: Map<String, Value>,
    /// Options that this version does not know.
    pub unknown_options: Vec<String>,
    /// Shakes hands with the tool server before the prompt instead of behind it.
    pub handshake_first: bool,
    /// Does not check what it is given: for other drivers, which ask for other things.
    pub lenient: bool,
    /// What happens before `initialize` is answered.
    pub before: Vec<Act>,
    /// What happens after the prompt.
    pub steps: Vec<Act>,
    /// Other steps for prompts that hold a text; the first that fits counts.
    pub when: Vec<When>,
    /// Changes to the result.
    pub result: Map<String, Value>,
    /// What happens after the result.
    pub after: Vec<Act>,
    /// Ignores the request to end the turn.
    pub ignore_interrupt: bool,
    /// A file that gets one line of JSON about every process.
    pub record: Option<PathBuf>,
    /// A file that gets one line of JSON about every message that is paid for.
    pub bill: Option<PathBuf>,
    /// The account behind all processes, when something happens to it.
    pub shared_account: Option<SharedAccount>,
    /// The name of the model that answers; `fake-` and the one that was asked for when empty.
    pub model: String,
    /// Makes the ids of messages predictable: they hold this instead of what makes a process one of
    /// a kind.
    pub message_ids: Option<String>,
    /// One scenario per process, by the number of lines in `record`; the last one stays.
    pub sequence: Vec<Self>,
}

/// Where the answers come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// From `steps`, or from `echo` when it is there.
    #[default]
    Script,
    /// From the schema and the prompt: the same as an empty `echo`.
    SchemaEcho,
}

/// Other steps for some prompts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// A part of the prompt.
    pub prompt_contains: String,
    /// The steps.
    pub steps: Vec<Act>,
}

/// Answers that are made up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Echo {
    /// The answer to a text request; `ok` when absent.
    pub text: Option<String>,
    /// The pattern of texts in objects, with `{name}` for the name of the property.
    pub template: Option<String>,
}

/// One tool call of the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// The tool: ours without its prefix, any other as it is.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub input: Value,
}

/// A failure of the model API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiError {
    /// The class in the made-up message.
    pub class: String,
    /// The HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    /// The text, which nobody but a log may see.
    #[serde(default)]
    pub text: String,
}

/// One thing that happens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// The model writes a message of text.
    Text(String),
    /// The model writes a message with these calls; they run at the same time.
    Tools(Vec<ToolUse>),
    /// The model hands in an object.
    Object(Value),
    /// The model API fails; ends the turn.
    ApiError(ApiError),
    /// The turn ends with this change of the result.
    End(Map<String, Value>),
    /// A line, as it is.
    Raw(Value),
    /// Bytes, as text, with the line end that is in them.
    Junk(String),
    /// A message of text that is written in two pieces, cut inside a character.
    Split(String),
    /// A line of this many bytes that is not a message.
    BigLine(usize),
    /// This many bytes on standard error.
    FloodStderr(usize),
    /// A text on standard error.
    Complain(String),
    /// A message begins and never becomes whole.
    BrokenStream(String),
    /// May this tool be used? The answer is recorded.
    AskPermission(ToolUse),
    /// An announced try again.
    Retry(Value),
    /// A rate-limit window.
    RateLimit(Value),
    /// A file of this name in the working folder gets the process id.
    Mark(String),
    /// A wait in milliseconds.
    Sleep(u64),
    /// Nothing, for ever; lines are read and forgotten.
    Hang,
    /// From now on the termination signal is ignored.
    IgnoreTermination,
    /// Standard output is closed.
    CloseStdout,
    /// A process that stays behind: in the group, or out of it.
    Daemon(Group),
    /// The end, with this exit code and without a result.
    Exit(u8),
    /// The end, by a signal.
    Die,
}

/// Where a process that stays behind belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// To the group of the fake.
    Same,
    /// To a group of its own.
    Own,
    /// To a session of its own, with an environment in which nothing stands. Its id goes to the file `daemon.pid` of
    /// the working folder.
    Session,
}
