//! The tools of an agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Model;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Name for the model, or its prefix.
    pub name: String,
    pub description: Option<String>,
    pub permission: Option<ToolPermission>,
    #[serde(default = "Tool::usual_timeout")]
    pub timeout_s: u64,
    #[serde(flatten)]
    pub kind: ToolKind,
}

impl Tool {
    /// Default timeout of a call, in seconds.
    pub const fn usual_timeout() -> u64 {
        60
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolKind {
    Ktx,
    Function {
        tool: String,
        /// Hidden from the model.
        arguments: Map<String, Value>,
    },
    Mcp(Box<McpServer>),
    Prompt {
        /// Text with `{{name}}` for a parameter.
        template: String,
        /// A JSON Schema for each parameter.
        parameters: Map<String, Value>,
        /// Default: the agent's model.
        model: Option<Box<Model>>,
    },
    Vectorstore(DocumentSearch),
    /// A search that uses the headings of documents.
    HierarchicalDocument(DocumentSearch),
}

/// Connection to an MCP server. Values of `env` and `headers` can contain `${NAME}` for a variable,
/// or be references.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    pub transport: McpTransport,
    pub command: Option<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Address, or a reference to it, for `http` and `sse`.
    pub url: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub request_timeout: u64,
    /// Trust the server's claim that a tool is read-only.
    pub trust_annotations: bool,
    pub optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    Stdio,
    Http,
    Sse,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentSearch {
    /// Folder or file, relative to the project.
    pub source: PathBuf,
    /// From 1 to 100.
    pub top_k: u32,
    pub search_mode: SearchMode,
    /// From 0 to 1.
    pub min_score: Option<f64>,
    /// Weights of `hybrid`, from 0 to 1.
    pub semantic_weight: Option<f64>,
    pub keyword_weight: Option<f64>,
    pub exact_weight: Option<f64>,
    /// Default: the agent's `embedding_provider`, else the project's `ingest.embeddings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<Box<Model>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    Semantic,
    Keyword,
    Exact,
    Hybrid,
}

impl SearchMode {
    pub const fn needs_embeddings(self) -> bool {
        matches!(self, Self::Semantic | Self::Hybrid)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPermission {
    Allow,
    Ask,
    Deny,
}
