//! An agent file as a value.

use std::path::PathBuf;

use ktx_vocabulary::{AgentProvider, AuthProvider, Backend};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    CaseFile, Context, Limits, MetricEntry, Permissions, Schedule, Todo, Tool, ToolKind, Workspace,
};

/// A valid agent file with all defaults and the texts that it refers to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentFile {
    /// The agent's name.
    pub name: String,
    /// What the agent is for.
    pub description: Option<String>,
    /// Who wrote the file.
    pub author: Option<String>,
    /// The model and its settings.
    pub model: Model,
    /// The system prompt.
    pub instructions: Instructions,
    /// The JSON Schema of the structured answer, whose root is an object.
    pub response_format: Option<Value>,
    /// Who computes embeddings, if not the project's `ingest.embeddings`.
    pub embedding_provider: Option<Model>,
    /// The tools that are offered, in the order of the file. `claude.allowed_tools` is applied.
    pub tools: Vec<Tool>,
    /// Which calls run. `claude.permission_mode` is applied.
    pub permissions: Permissions,
    /// The most that a run may use. `claude.max_turns` is applied.
    pub limits: Limits,
    /// When a long session is compressed.
    pub context: Context,
    /// The agent's list of tasks.
    pub todo: Todo,
    /// The names of the agents that may be asked.
    pub agents: Vec<String>,
    /// Maximum number of agents that are asked at the same time.
    pub max_parallel: u32,
    /// Questions at certain times.
    pub schedule: Vec<Schedule>,
    /// The files that tools can reach. `claude.working_directory` is applied.
    pub workspace: Option<Workspace>,
    /// HoloDeck's settings for Anthropic models, unless the provider is another one.
    pub claude: Option<Claude>,
    /// The metrics of cases without their own.
    pub evaluations: Option<Evaluations>,
    /// The cases, from the file itself or from `test_cases_file`.
    pub cases: Option<CaseFile>,
    /// How cases run.
    pub execution: Execution,
    /// The file, relative to the project.
    pub path: PathBuf,
    /// SHA-256 of everything that a session of the agent depends on, in hexadecimal.
    pub digest: String,
}

/// A model block. Absent keys are `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The provider as written: a backend of ktx, `azure_openai` or `ollama`.
    pub provider: Option<String>,
    /// The model.
    pub name: Option<String>,
    /// From 0 to 2.
    pub temperature: Option<f64>,
    /// From 0 to 1.
    pub top_p: Option<f64>,
    /// Maximum tokens of one message.
    pub max_tokens: Option<u64>,
    /// The address of the API: an address or a reference to one.
    pub endpoint: Option<String>,
    /// The version of the API.
    pub api_version: Option<String>,
    /// A reference to the key, never the key.
    pub api_key: Option<String>,
    /// How Anthropic models are reached.
    pub auth_provider: Option<String>,
}

impl Model {
    /// Returns the backend that runs the model: by provider and `auth_provider`, else the project's
    /// (C-04).
    pub fn backend(&self, project: Backend) -> Backend {
        let auth = self.auth_provider.as_deref().and_then(AuthProvider::parse);
        let provider = self
            .known_provider()
            .unwrap_or(AgentProvider::Backend(project));
        provider.backend(auth.unwrap_or_default())
    }

    /// Returns the address of the API, or a reference to it; the usual one of the provider when the
    /// file gives none.
    pub fn address(&self) -> Option<&str> {
        let usual = || self.known_provider()?.usual_address();
        self.endpoint.as_deref().or_else(usual)
    }

    fn known_provider(&self) -> Option<AgentProvider> {
        AgentProvider::parse(self.provider.as_deref()?)
    }
}

/// The system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// The text, inline or from the file.
    pub text: String,
    /// The file that the text came from, relative to the project.
    pub file: Option<PathBuf>,
}

/// HoloDeck's block for Anthropic models, as far as no other key holds the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claude {
    /// Thinking before the answer.
    pub extended_thinking: Option<Thinking>,
}

/// `claude.extended_thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinking {
    /// Whether the model thinks first.
    pub enabled: bool,
    /// Maximum tokens of thinking, from 1000 to 100000.
    pub budget_tokens: u32,
}

/// `evaluations`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluations {
    /// The model that judges; the role `default` when absent.
    pub model: Option<Model>,
    /// The metrics.
    pub metrics: Vec<MetricEntry>,
}

/// `execution`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Seconds that a case may take.
    pub llm_timeout: u64,
    /// Cases that run at the same time.
    pub parallel_test_cases: u32,
}

impl AgentFile {
    /// Returns the names of the ktx tools that the agent needs, each once, in the order of the file.
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
