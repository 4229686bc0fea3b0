//! The changes that a call would make, shown to the person who decides about it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// The files before and after, as a diff.
    pub diff: String,
    /// The numbers that change with it, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<String>,
}

/// Knows what calls would change.
#[async_trait]
pub trait Previews: std::fmt::Debug + Send + Sync {
    /// Returns the diff that a call would make, or why it would be refused; `None` for a tool that changes no files of
    /// the project.
    async fn diff(&self, tool: &str, input: &Value) -> Option<Result<String, String>>;

    /// Returns the numbers that change with it, a line each.
    async fn numbers(&self, tool: &str, input: &Value) -> Vec<String>;
}
