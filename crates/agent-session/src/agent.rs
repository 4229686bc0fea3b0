//! An agent: instructions, tools, limits and permissions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::calls::LONGEST_CALL;
use crate::compaction::ContextSettings;
use crate::permissions::Permissions;
use crate::settings::AgentSettings;
use crate::turn::LONGEST_MESSAGE;

/// Default limit of questions per session (HOLO-45).
pub const MOST_MESSAGES: u32 = 50;

/// Default limit of sub-agents at the same time.
pub const MOST_ASKED_AT_ONCE: usize = 4;

const fn most_asked_at_once() -> usize {
    MOST_ASKED_AT_ONCE
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_most_asked_at_once(number: &usize) -> bool {
    *number == MOST_ASKED_AT_ONCE
}

/// An agent's configuration. A session keeps the one that it was opened with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub name: String,
    /// System prompt; trusted text.
    pub instructions: String,
    /// Path relative to the project; `None` for built-in agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AgentModel>,
    pub tools: Vec<AgentTool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ToolSource>,
    /// Steps per turn; at least 1.
    pub max_turns: u32,
    /// Questions per session; at least 1.
    pub max_messages: u32,
    /// Characters per question; at least 1.
    #[serde(default = "longest", skip_serializing_if = "is_longest")]
    pub max_message_chars: usize,
    /// Time limit of calls in seconds, by tool name or prefix with `__`; [`crate::LONGEST_CALL`]
    /// for other tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub call_limits: BTreeMap<String, u64>,
    #[serde(default)]
    pub spending: Spending,
    pub permissions: Permissions,
    #[serde(default, skip_serializing_if = "AgentSettings::is_default")]
    pub settings: AgentSettings,
    #[serde(default)]
    pub context: ContextSettings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    #[serde(
        default = "most_asked_at_once",
        skip_serializing_if = "is_most_asked_at_once"
    )]
    pub max_parallel: usize,
    /// JSON Schema of structured answers; the root is an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
}

const fn longest() -> usize {
    LONGEST_MESSAGE
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_longest(chars: &usize) -> bool {
    *chars == LONGEST_MESSAGE
}

/// Limits on model usage per run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// US dollars at list prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
}

impl Spending {
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    #[must_use]
    pub fn lower(self, other: Self) -> Self {
        let lower = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            usd: lower(self.usd, other.usd),
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
            minutes: lower(self.minutes, other.minutes),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentModel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// How `ktx` authenticates to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTool {
    pub name: String,
    pub tool: String,
    /// Description for the model; by default the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Fixed arguments, hidden from the model.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

/// A source of more tools, such as a server. Holds references to secrets, never secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSource {
    pub name: String,
    /// Settings from the agent's file; the host interprets them.
    pub settings: Value,
}

impl AgentTool {
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tool: name.to_owned(),
            description: None,
            arguments: Map::new(),
        }
    }
}

impl Agent {
    pub fn snapshot(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    /// Restores an agent; fails on a snapshot of another version.
    pub fn from_snapshot(snapshot: &Value) -> serde_json::Result<Self> {
        Self::deserialize(snapshot)
    }

    pub fn digest(&self) -> serde_json::Result<String> {
        let bytes = serde_json::to_vec(&self.snapshot()?)?;
        let mut text = String::new();
        for byte in Sha256::digest(bytes) {
            write!(text, "{byte:02x}").unwrap_or_default();
        }
        Ok(text)
    }

    pub const fn turns_key(&self) -> &'static str {
        match self.file {
            Some(_) => "`limits.max_turns`",
            None => "`agent.run_research.max_iterations`",
        }
    }

    /// Returns a tool's time limit; the longest matching name wins.
    pub fn call_limit(&self, tool: &str) -> Duration {
        let limits = self.call_limits.iter();
        let named = limits.filter(|(name, _)| {
            tool == name.as_str() || (name.ends_with("__") && tool.starts_with(name.as_str()))
        });
        let longest = named.max_by_key(|(name, _)| name.len());
        longest.map_or(LONGEST_CALL, |(_, seconds)| Duration::from_secs(*seconds))
    }

    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("instructions", self.instructions != other.instructions),
            (
                "model",
                self.model != other.model || self.settings != other.settings,
            ),
            (
                "tools",
                self.tools != other.tools
                    || self.sources != other.sources
                    || self.call_limits != other.call_limits,
            ),
            (
                "limits",
                self.limits() != other.limits() || self.spending != other.spending,
            ),
            ("permissions", self.permissions != other.permissions),
            ("context", self.context != other.context),
            ("todo", self.todo != other.todo),
            (
                "agents",
                self.agents != other.agents || self.max_parallel != other.max_parallel,
            ),
            (
                "response_format",
                self.response_format != other.response_format,
            ),
            ("name", self.name != other.name || self.file != other.file),
        ];
        let differing = parts.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(part, _)| part).collect()
    }

    const fn limits(&self) -> (u32, u32, usize) {
        (self.max_turns, self.max_messages, self.max_message_chars)
    }
}
