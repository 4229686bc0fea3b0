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

/// The questions that one session takes (HOLO-45).
pub const MOST_MESSAGES: u32 = 50;

/// The agents that one agent asks at the same time, unless its file says another number.
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

/// Everything that a session knows of its agent. A session keeps it as it was when the session began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// The system prompt: trusted text.
    pub instructions: String,
    /// Its file, relative to the project; none for an agent of ktx itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The model that it names, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AgentModel>,
    /// Its tools.
    pub tools: Vec<AgentTool>,
    /// Where it gets more tools from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ToolSource>,
    /// Steps of a turn; at least 1.
    pub max_turns: u32,
    /// Questions of a session; at least 1.
    pub max_messages: u32,
    /// Characters of a question; at least 1.
    #[serde(default = "longest", skip_serializing_if = "is_longest")]
    pub max_message_chars: usize,
    /// The seconds that calls may take, by the tool or by the beginning of the names of several tools; those of other
    /// tools take [`crate::LONGEST_CALL`] at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub call_limits: BTreeMap<String, u64>,
    /// What one run may use.
    #[serde(default)]
    pub spending: Spending,
    pub permissions: Permissions,
    /// What its model is asked with.
    #[serde(default, skip_serializing_if = "AgentSettings::is_default")]
    pub settings: AgentSettings,
    /// When its conversation is compressed.
    #[serde(default)]
    pub context: ContextSettings,
    /// The steps after which it is reminded of its tasks; none if it keeps no list of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<u32>,
    /// The agents that it may ask, by the names of their files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// How many of them it asks at the same time.
    #[serde(
        default = "most_asked_at_once",
        skip_serializing_if = "is_most_asked_at_once"
    )]
    pub max_parallel: usize,
    /// The JSON Schema of its answers, if they have a form; the root is an object.
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

/// Limits on what one run of an agent uses of models; absent ones do not limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// US dollars at list prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Tokens, input and output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
}

impl Spending {
    /// Whether it limits nothing.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the smaller of both limits.
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

/// A model that an agent names. Keys are references to secrets, never secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentModel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The address of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// How the provider's models are reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_provider: Option<String>,
}

/// A tool of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTool {
    /// The name that the model sees.
    pub name: String,
    /// The tool of ktx that it calls.
    pub tool: String,
    /// Its description for the model; the tool's own description if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Arguments that the model does not see.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

/// Something that an agent gets tools from, such as a server. References to secrets are inside, never secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSource {
    /// Its name in the agent's file.
    pub name: String,
    /// What the file says of it; who runs the agent knows what that means.
    pub settings: Value,
}

impl AgentTool {
    /// A tool of ktx under its own name.
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
    /// Returns the agent as a session keeps it.
    ///
    /// # Errors
    /// None that can happen: every field has a form in JSON.
    pub fn snapshot(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    /// Returns the agent that a session has kept.
    ///
    /// # Errors
    /// A snapshot of another version.
    pub fn from_snapshot(snapshot: &Value) -> serde_json::Result<Self> {
        Self::deserialize(snapshot)
    }

    /// Returns a digest of everything that the agent is.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn digest(&self) -> serde_json::Result<String> {
        let bytes = serde_json::to_vec(&self.snapshot()?)?;
        let mut text = String::new();
        for byte in Sha256::digest(bytes) {
            write!(text, "{byte:02x}").unwrap_or_default();
        }
        Ok(text)
    }

    /// Returns the name of the setting that limits the steps of a turn.
    pub const fn turns_key(&self) -> &'static str {
        match self.file {
            Some(_) => "`limits.max_turns`",
            None => "`agent.run_research.max_iterations`",
        }
    }

    /// Returns how long a call of a tool may take.
    pub fn call_limit(&self, tool: &str) -> Duration {
        let limits = self.call_limits.iter();
        let named = limits.filter(|(name, _)| {
            tool == name.as_str() || (name.ends_with("__") && tool.starts_with(name.as_str()))
        });
        let longest = named.max_by_key(|(name, _)| name.len());
        longest.map_or(LONGEST_CALL, |(_, seconds)| Duration::from_secs(*seconds))
    }

    /// Names the parts in which two agents differ.
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
