//! An agent: instructions, tools, limits and permissions.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::permissions::Permissions;

/// The questions that one session takes (HOLO-45).
pub const MOST_MESSAGES: u32 = 50;

/// Everything that a session knows of its agent. A session keeps it as it was when the session began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What the model is told first: trusted text.
    pub instructions: String,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// Steps of a turn; at least 1.
    pub max_turns: u32,
    /// Questions of a session; at least 1.
    pub max_messages: u32,
    pub permissions: Permissions,
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

    /// Names the parts in which two agents differ.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("instructions", self.instructions != other.instructions),
            ("tools", self.tools != other.tools),
            ("limits", self.limits() != other.limits()),
            ("permissions", self.permissions != other.permissions),
            ("name", self.name != other.name),
        ];
        let differing = parts.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(part, _)| part).collect()
    }

    const fn limits(&self) -> [u32; 2] {
        [self.max_turns, self.max_messages]
    }
}
