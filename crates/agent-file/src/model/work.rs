//! What an agent may do, and when.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_vocabulary::ModelRole;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `permissions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permissions {
    /// What happens to calls that no list names.
    pub mode: PermissionMode,
    /// Calls that are denied.
    pub deny: Vec<ToolRule>,
    /// Calls that run.
    pub allow: Vec<ToolRule>,
    /// Calls that need an approval.
    pub ask: Vec<ToolRule>,
    /// Seconds that an approval is waited for; `None` is without end.
    pub expires: Option<u64>,
    /// What happens then.
    pub on_expiry: OnExpiry,
}

/// `permissions.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    Auto,
    Approval,
    Readonly,
}

/// `permissions.on_expiry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    Deny,
    Fail,
}

/// Calls that a list of permissions names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRule {
    /// A tool's name with `*` for any characters, or `@read`, `@write`, `@all`, `@mcp:SERVER`.
    pub tool: String,
    /// What the arguments must be; arguments without an entry may be anything.
    pub args: BTreeMap<String, ArgumentMatcher>,
}

/// What an argument of a call must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentMatcher {
    /// Equal; numbers by value, and `true` is not 1.
    Literal(Value),
    /// Equal but for case, spaces, `,` and `_`; numbers and percentages by value.
    Fuzzy(String),
    /// The whole text matches this regular expression, which compiles.
    Regex(String),
}

/// `limits`. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Steps of a turn.
    pub max_turns: u32,
    /// US dollars at list prices.
    pub max_usd: Option<f64>,
    /// Tokens, input and output.
    pub max_tokens: Option<u64>,
    /// Minutes of time.
    pub max_minutes: Option<f64>,
    /// Messages of the user in a session.
    pub messages: u32,
    /// Characters of a message.
    pub message_chars: usize,
}

/// `context`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The share of the window at which the history is compressed.
    pub compress_at: f64,
    /// The share that remains in use; less than `compress_at`.
    pub target: f64,
    /// The role whose model writes the summary.
    #[serde(with = "role")]
    pub role: ModelRole,
    /// Tokens of the model's window; the catalog's when absent.
    pub window: Option<u64>,
}

/// `todo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// Whether the agent keeps a list of tasks.
    pub enabled: bool,
    /// After how many steps it is reminded.
    pub remind_every_steps: u32,
}

/// `workspace`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// The folder, relative to the project; the project itself when absent.
    pub root: Option<PathBuf>,
    /// Whether tools may write there.
    pub write: bool,
}

/// An entry of `schedule`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The entry's name.
    pub name: String,
    /// When.
    #[serde(flatten)]
    pub timing: Timing,
    /// The time zone of `cron`, by its IANA name.
    pub timezone: String,
    /// The question.
    pub message: String,
    pub catch_up: CatchUp,
    /// How old a missed run may be to be made up for, in seconds.
    pub within: u64,
    pub on_ask: OnAsk,
    /// The most that one run may use.
    pub limits: Option<ScheduleLimits>,
}

/// When an entry of `schedule` runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// The five fields of cron, or minute and hour.
    Cron(String),
    /// The minutes between two runs.
    EveryMinutes(u32),
}

/// `schedule.catch_up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// The newest missed run is made up for.
    Once,
    Never,
}

/// What happens to a call that needs an approval when no one is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    Park,
    Deny,
    Fail,
}

/// The limits of one run of `schedule`. `None` is the agent's limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScheduleLimits {
    /// Steps.
    pub max_turns: Option<u32>,
    /// US dollars at list prices.
    pub max_usd: Option<f64>,
    /// Tokens, input and output.
    pub max_tokens: Option<u64>,
    /// Minutes of time.
    pub max_minutes: Option<f64>,
}

/// A role by its name.
mod role {
    use ktx_vocabulary::ModelRole;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature that serde calls"
    )]
    pub(super) fn serialize<S: Serializer>(role: &ModelRole, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(role.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ModelRole, D::Error> {
        let text = String::deserialize(from)?;
        ModelRole::parse(&text).ok_or_else(|| D::Error::custom(format!("no role `{text}`")))
    }
}
