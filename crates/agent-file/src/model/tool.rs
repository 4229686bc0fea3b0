//! The tools of an agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Model;

/// An entry of `tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The name that the model sees, or the first part of it.
    pub name: String,
    /// What the tool does, for the model; the tool's own description when absent.
    pub description: Option<String>,
    /// What the entry says about calls.
    pub permission: Option<ToolPermission>,
    /// Seconds that a call may take.
    #[serde(default = "Tool::usual_timeout")]
    pub timeout_s: u64,
    /// What the tool is.
    #[serde(flatten)]
    pub kind: ToolKind,
}

impl Tool {
    /// Seconds that a call of a tool without settings may take.
    pub const fn usual_timeout() -> u64 {
        60
    }
}

/// What a tool is, with the settings of its type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolKind {
    /// A ktx tool under its own name.
    Ktx,
    /// A ktx tool under another name or with fixed arguments.
    Function {
        /// The name of the ktx tool.
        tool: String,
        /// Arguments that the model does not see.
        arguments: Map<String, Value>,
    },
    /// The tools of an MCP server.
    Mcp(Box<McpServer>),
    /// A prompt that a model answers.
    Prompt {
        /// The text, with `{{name}}` for a parameter.
        template: String,
        /// The parameters, each with a JSON Schema.
        parameters: Map<String, Value>,
        /// Another model than the agent's.
        model: Option<Box<Model>>,
    },
    /// A search over files of the project.
    Vectorstore(DocumentSearch),
    /// A search over files of the project that knows their headings.
    HierarchicalDocument(DocumentSearch),
}

/// How an MCP server is reached. `${NAME}` inside the values of `env` and `headers` stands for a
/// variable, and a value may be a reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    pub transport: McpTransport,
    /// The program, for `stdio`.
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The program's variables.
    pub env: BTreeMap<String, String>,
    /// The address, for `http` and `sse`, or a reference to it.
    pub url: Option<String>,
    /// Headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Patterns of the server's tools that are offered.
    pub include: Vec<String>,
    /// Patterns of those that are not.
    pub exclude: Vec<String>,
    /// Seconds that a request may take.
    pub request_timeout: u64,
    /// Whether the server is believed when it says that a tool only reads.
    pub trust_annotations: bool,
    /// Whether the agent starts without the server.
    pub optional: bool,
}

/// The transport of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    Stdio,
    /// Streamable HTTP.
    Http,
    Sse,
}

/// A search over files of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentSearch {
    /// A folder or file, relative to the project.
    pub source: PathBuf,
    /// Maximum hits, from 1 to 100.
    pub top_k: u32,
    pub search_mode: SearchMode,
    /// The lowest score of a hit, from 0 to 1.
    pub min_score: Option<f64>,
    /// The weights of `hybrid`, from 0 to 1.
    pub semantic_weight: Option<f64>,
    pub keyword_weight: Option<f64>,
    pub exact_weight: Option<f64>,
    /// Who computes embeddings: the agent's `embedding_provider`, else the project's `ingest.embeddings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<Box<Model>>,
}

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    Semantic,
    Keyword,
    Exact,
    Hybrid,
}

impl SearchMode {
    /// Whether a search needs embeddings.
    pub const fn needs_embeddings(self) -> bool {
        matches!(self, Self::Semantic | Self::Hybrid)
    }
}

/// What happens to calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPermission {
    Allow,
    Ask,
    Deny,
}
