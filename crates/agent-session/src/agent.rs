//! An agent: instructions, tools, limits and permissions.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::permissions::Permissions;

/// The questions that one session takes (HOLO-45).
pub const MOST_MESSAGES: u32 = 50;

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
    /// Steps of a turn; at least 1.
    pub max_turns: u32,
    /// Questions of a session; at least 1.
    pub max_messages: u32,
    /// What one run may use.
    #[serde(default)]
    pub spending: Spending,
    pub permissions: Permissions,
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

    /// Names the parts in which two agents differ.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("instructions", self.instructions != other.instructions),
            ("model", self.model != other.model),
            ("tools", self.tools != other.tools),
            (
                "limits",
                self.limits() != other.limits() || self.spending != other.spending,
            ),
            ("permissions", self.permissions != other.permissions),
            ("name", self.name != other.name || self.file != other.file),
        ];
        let differing = parts.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(part, _)| part).collect()
    }

    const fn limits(&self) -> [u32; 2] {
        [self.max_turns, self.max_messages]
    }
}
