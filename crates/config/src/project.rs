//! The `ktx.yaml` model with every default filled in.

mod clients;
mod read;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ktx_diagnostics::Diagnostic;
use ktx_secrets::SecretRef;
use ktx_vocabulary::{Backend, CacheTtl, ConnectionId, ModelRole, Provider};
use serde_json::{Map, Value};

use crate::{Connection, DriverKind};

pub use clients::{Client, WarehouseRules};
pub(crate) use read::read;

#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    pub setup_databases: Option<Vec<String>>,
    pub connections: IndexMap<ConnectionId, Connection>,
    pub llm: Llm,
    pub ingest: Ingest,
    pub research: Research,
    pub scan: Scan,
    pub clients: Vec<Client>,
}

impl Project {
    pub fn defaults() -> Self {
        read(&Value::Object(Map::new()))
    }

    /// Does not depend on the backend.
    pub fn model(&self, role: ModelRole) -> Option<&str> {
        let models = &self.llm.models;
        models
            .get(&role)
            .or_else(|| models.get(&ModelRole::Default))
            .map(String::as_str)
    }

    pub fn connection(&self, id: &str) -> Option<&Connection> {
        self.connections.get(id)
    }

    pub fn warehouses(&self) -> impl Iterator<Item = &Connection> {
        self.of_kind(DriverKind::Warehouse)
    }

    pub fn context_sources(&self) -> impl Iterator<Item = &Connection> {
        self.of_kind(DriverKind::ContextSource)
    }

    fn of_kind(&self, kind: DriverKind) -> impl Iterator<Item = &Connection> {
        self.connections
            .values()
            .filter(move |connection| connection.driver.kind() == kind)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Llm {
    pub backend: Backend,
    /// While there is an error, no model can be called.
    pub problems: Vec<Diagnostic>,
    pub endpoints: BTreeMap<Provider, Endpoint>,
    /// Variables passed to `claude` besides those that it needs.
    pub added_variables: Vec<String>,
    pub isolation: Isolation,
    pub vertex: Option<VertexConfig>,
    /// Use [`Project::model`] instead.
    pub models: BTreeMap<ModelRole, String>,
    pub prompt_caching: PromptCaching,
    pub timeouts: ModelTimeouts,
    pub pricing: BTreeMap<String, Map<String, Value>>,
    /// The daily limit of all commands of the project together.
    pub budget: ModelBudget,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelBudget {
    pub usd_per_day: Option<f64>,
    pub tokens_per_day: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Warn,
    Strict,
}

impl Llm {
    pub fn is_refused(&self, warning: &Diagnostic) -> bool {
        let same = |problem: &Diagnostic| {
            (&problem.location, &problem.message) == (&warning.location, &warning.message)
        };
        self.problems.iter().any(same)
    }

    /// Records errors of the section, which disable the backend.
    pub(crate) fn refuse(&mut self, problems: Vec<Diagnostic>) {
        if !problems.is_empty() {
            self.backend = Backend::None;
        }
        self.problems = problems;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// Seconds to the first byte of an answer.
    pub first_byte_seconds: u64,
    /// Seconds of silence within an answer.
    pub between_bytes_seconds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenAiProtocol {
    Chat,
    Responses,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Endpoint {
    pub api_key: Option<SecretRef>,
    pub base_url: Option<SecretRef>,
    pub protocol: Option<OpenAiProtocol>,
    /// Overrides of the reasoning preset, as in `ktx.yaml`.
    pub reasoning: Option<Map<String, Value>>,
    /// Overrides of the caching preset, as in `ktx.yaml`.
    pub cache: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct VertexConfig {
    pub project: Option<SecretRef>,
    pub location: SecretRef,
    pub reasoning: Option<Map<String, Value>>,
}

/// `llm.promptCaching`; `None` for absent fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptCaching {
    pub enabled: Option<bool>,
    pub cache_system: Option<bool>,
    pub cache_tools: Option<bool>,
    pub cache_history: Option<bool>,
    pub system_ttl: Option<CacheTtl>,
    pub tools_ttl: Option<CacheTtl>,
    pub history_ttl: Option<CacheTtl>,
    /// Requests `5m` from Vertex where it does not offer `1h`.
    pub vertex_fallback_to_5m: Option<bool>,
}

impl PromptCaching {
    /// Returns the names of fields that change the default behavior (KTX-81).
    pub fn changed(self) -> Vec<&'static str> {
        let off = |switch: Option<bool>| switch == Some(false);
        let other = |ttl: Option<CacheTtl>, usual| ttl.is_some_and(|ttl| ttl != usual);
        let fields = [
            ("enabled", off(self.enabled)),
            ("cacheSystem", off(self.cache_system)),
            ("cacheTools", off(self.cache_tools)),
            ("cacheHistory", off(self.cache_history)),
            ("systemTtl", other(self.system_ttl, CacheTtl::OneHour)),
            ("toolsTtl", other(self.tools_ttl, CacheTtl::OneHour)),
            ("historyTtl", other(self.history_ttl, CacheTtl::FiveMinutes)),
            (
                "vertexFallbackTo5m",
                self.vertex_fallback_to_5m == Some(true),
            ),
        ];
        let changed = fields.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(field, _)| field).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    pub backend: EmbeddingsBackend,
    pub model: Option<String>,
    pub dimensions: u64,
    pub openai: Endpoint,
    pub server: Option<String>,
    pub path_prefix: Option<String>,
    /// A file of token vectors, relative to the project.
    pub table: Option<String>,
    pub tokenizer: Option<String>,
    pub batch_size: Option<u64>,
}

impl Embeddings {
    /// The default of `dimensions`: the model's own number.
    pub const UNSET_DIMENSIONS: u64 = 8;

    /// Settings of a server with OpenAI's protocol.
    pub const fn of_server(model: Option<String>, server: Endpoint) -> Self {
        Self {
            backend: EmbeddingsBackend::OpenAi,
            model,
            dimensions: Self::UNSET_DIMENSIONS,
            openai: server,
            server: None,
            path_prefix: None,
            table: None,
            tokenizer: None,
            batch_size: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingsBackend {
    None,
    OpenAi,
    SentenceTransformers,
    Table,
}

impl EmbeddingsBackend {
    pub const OPENAI_URL: &str = "https://api.openai.com/v1";
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ingest {
    pub adapters: Vec<String>,
    pub embeddings: Embeddings,
    pub step_budget: u64,
    pub max_concurrency: u64,
    pub failure_mode: FailureMode,
    pub rate_limit: RateLimit,
    pub profile: Profile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureMode {
    Abort,
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Off,
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    pub enabled: bool,
    /// The share of the limit, 0 to 1, above which `ktx` reduces concurrency.
    pub throttle_threshold: f64,
    pub min_concurrency_under_pressure: u64,
    pub max_wait_ms: Option<u64>,
    /// Includes the first attempt.
    pub max_attempts: u64,
    /// Delay before the second attempt, in milliseconds.
    pub base_delay_ms: u64,
    pub max_delay_ms: u64,
    pub jitter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Research {
    pub enabled: bool,
    pub max_iterations: u64,
    pub toolset: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    pub mode: EnrichmentMode,
    /// `None` means those of `ingest`.
    pub embeddings: Option<Embeddings>,
    pub relationships: Relationships,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrichmentMode {
    None,
    Deterministic,
    Llm,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relationships {
    pub enabled: bool,
    pub llm_proposals: bool,
    pub validation_required: bool,
    /// Minimum score of an accepted join, 0 to 1.
    pub accept_threshold: f64,
    /// Minimum score of a join listed for review, 0 to 1.
    pub review_threshold: f64,
    pub max_llm_tables_per_batch: u64,
    pub max_candidates_per_column: u64,
    pub profile_sample_rows: u64,
    pub profile_concurrency: u64,
    pub validation_concurrency: u64,
    pub validation_budget: ValidationBudget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    Unset,
    All,
    Queries(u64),
}

#[cfg(test)]
mod tests;
