//! An agent file as a value.

use std::path::PathBuf;

use ktx_vocabulary::{AgentProvider, AuthProvider, Backend};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CaseFile, Context, Limits, MetricEntry, Permissions, Schedule, Todo, Tool, ToolKind, Workspace,
};

/// A valid agent file with all defaults and the contents of referenced files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentFile {
    pub name: String,
    pub description: Option<String>,
    pub author: Option<String>,
    pub model: Model,
    pub instructions: Instructions,
    /// The JSON Schema of the structured answer, whose root is an object.
    pub response_format: Option<Value>,
    /// Overrides the project's `ingest.embeddings`.
    pub embedding_provider: Option<Model>,
    /// In file order. `claude.allowed_tools` is applied.
    pub tools: Vec<Tool>,
    pub permissions: Permissions,
    /// `claude.max_turns` is applied.
    pub limits: Limits,
    pub context: Context,
    pub todo: Todo,
    pub agents: Vec<String>,
    pub max_parallel: u32,
    pub schedule: Vec<Schedule>,
    /// Files that tools can reach. `claude.working_directory` is applied.
    pub workspace: Option<Workspace>,
    /// HoloDeck's settings for Anthropic models; `None` for other providers.
    pub claude: Option<Claude>,
    pub evaluations: Option<Evaluations>,
    /// From the file itself or from `test_cases_file`.
    pub cases: Option<CaseFile>,
    pub execution: Execution,
    /// Relative to the project.
    pub path: PathBuf,
    /// SHA-256 of everything that a session depends on, in hexadecimal.
    pub digest: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// As written: a backend of ktx, `azure_openai` or `ollama`.
    pub provider: Option<String>,
    pub name: Option<String>,
    /// From 0 to 2.
    pub temperature: Option<f64>,
    /// From 0 to 1.
    pub top_p: Option<f64>,
    pub max_tokens: Option<u64>,
    /// Address of the API, or a reference to it.
    pub endpoint: Option<String>,
    pub api_version: Option<String>,
    /// Reference to the key, never the key.
    pub api_key: Option<String>,
    pub auth_provider: Option<String>,
}

impl Model {
    /// Returns the backend: by provider and `auth_provider`, else the project's (C-04).
    pub fn backend(&self, project: Backend) -> Backend {
        let auth = self.auth_provider.as_deref().and_then(AuthProvider::parse);
        let provider = self
            .known_provider()
            .unwrap_or(AgentProvider::Backend(project));
        provider.backend(auth.unwrap_or_default())
    }

    /// Returns the address of the API or a reference to it, with the provider's default.
    pub fn address(&self) -> Option<&str> {
        let usual = || self.known_provider()?.usual_address();
        self.endpoint.as_deref().or_else(usual)
    }

    fn known_provider(&self) -> Option<AgentProvider> {
        AgentProvider::parse(self.provider.as_deref()?)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    pub text: String,
    /// Relative to the project.
    pub file: Option<PathBuf>,
}

/// HoloDeck's block for Anthropic models, without the keys that ktx has elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claude {
    pub extended_thinking: Option<Thinking>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    pub enabled: bool,
    /// Maximum thinking tokens, from 1000 to 100000.
    pub budget_tokens: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluations {
    /// The judge; the model of the role `default` when absent.
    pub model: Option<Model>,
    pub metrics: Vec<MetricEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Maximum seconds of a case.
    pub llm_timeout: u64,
    pub parallel_test_cases: u32,
}

impl AgentFile {
    /// Returns the distinct names of ktx tools in file order.
    pub fn ktx_tools(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for tool in &self.tools {
            let name = match &tool.kind {
                ToolKind::Ktx => tool.name.as_str(),
                ToolKind::Function { tool, .. } => tool,
                _ => continue,
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
