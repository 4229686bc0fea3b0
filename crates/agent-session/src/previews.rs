//! Previews of a call's changes, for the deciding person.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    pub diff: String,
    /// The numbers that change, one per line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<String>,
}

#[async_trait]
pub trait Previews: std::fmt::Debug + Send + Sync {
    /// Returns the diff or the reason for a refusal; `None` for a tool that changes no project
    /// files.
    async fn diff(&self, tool: &str, input: &Value) -> Option<Result<String, String>>;

    /// Returns the numbers that change, one per line.
    async fn numbers(&self, tool: &str, input: &Value) -> Vec<String>;
}
