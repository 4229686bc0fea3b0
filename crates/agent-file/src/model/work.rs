//! Permissions, limits and schedules of agents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_vocabulary::ModelRole;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permissions {
    /// For calls that match no list.
    pub mode: PermissionMode,
    pub deny: Vec<ToolRule>,
    pub allow: Vec<ToolRule>,
    pub ask: Vec<ToolRule>,
    /// Seconds until an approval expires; `None`: never.
    pub expires: Option<u64>,
    pub on_expiry: OnExpiry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    Auto,
    Approval,
    Readonly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    Deny,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRule {
    /// Tool name with `*` for any characters, or `@read`, `@write`, `@all`, `@mcp:SERVER`.
    pub tool: String,
    /// Arguments without an entry can be anything.
    pub args: BTreeMap<String, ArgumentMatcher>,
}

/// A condition on an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentMatcher {
    /// Equal; numbers are compared by value, and `true` is not 1.
    Literal(Value),
    /// Equal except for case, spaces, `,` and `_`; numbers and percentages are compared by value.
    Fuzzy(String),
    /// A valid regular expression that matches the whole text.
    Regex(String),
}

/// `limits`. `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub max_turns: u32,
    /// US dollars at list prices.
    pub max_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub max_minutes: Option<f64>,
    pub messages: u32,
    pub message_chars: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// Fraction of the window at which the history is compressed.
    pub compress_at: f64,
    /// Fraction after compression; less than `compress_at`.
    pub target: f64,
    #[serde(with = "role")]
    pub role: ModelRole,
    /// Window in tokens; default: the catalog's.
    pub window: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub enabled: bool,
    pub remind_every_steps: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// Relative to the project; default: the project itself.
    pub root: Option<PathBuf>,
    pub write: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub name: String,
    #[serde(flatten)]
    pub timing: Timing,
    /// IANA time zone of `cron`.
    pub timezone: String,
    pub message: String,
    pub catch_up: CatchUp,
    /// Maximum age of a missed run that is made up, in seconds.
    pub within: u64,
    pub on_ask: OnAsk,
    pub limits: Option<ScheduleLimits>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    Cron(String),
    /// Minutes between runs.
    EveryMinutes(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// Makes up only the newest missed run.
    Once,
    Never,
}

/// The answer to approval requests of unattended runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    Park,
    Deny,
    Fail,
}

/// Limits of one scheduled run. `None`: the agent's limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScheduleLimits {
    pub max_turns: Option<u32>,
    /// US dollars at list prices.
    pub max_usd: Option<f64>,
    pub max_tokens: Option<u64>,
    pub max_minutes: Option<f64>,
}

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
