//! `ktx.yaml` as a value, with every default filled in.

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
    /// The ids as written; `None` if the key is absent.
    pub setup_databases: Option<Vec<String>>,
    /// Connections have the order of the file.
    pub connections: IndexMap<ConnectionId, Connection>,
    pub llm: Llm,
    pub ingest: Ingest,
    pub research: Research,
    pub scan: Scan,
    /// The clients of the server, in the order of the file.
    pub clients: Vec<Client>,
}

impl Project {
    /// The configuration of an empty file.
    pub fn defaults() -> Self {
        read(&Value::Object(Map::new()))
    }

    /// The result does not depend on the backend.
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
    /// The model backend; `none` while there are problems.
    pub backend: Backend,
    /// The errors of the section. While there is one, no model may be called.
    pub problems: Vec<Diagnostic>,
    pub endpoints: BTreeMap<Provider, Endpoint>,
    /// Names of variables passed to `claude` in addition to those that it needs.
    pub added_variables: Vec<String>,
    /// What happens to a call of `claude` if the machine has a hook.
    pub isolation: Isolation,
    pub vertex: Option<Vertex>,
    /// The configured models by role. Use [`Project::model`] instead.
    pub models: BTreeMap<ModelRole, String>,
    pub prompt_caching: PromptCaching,
    pub timeouts: ModelTimeouts,
    /// The user's own prices by model id, as written.
    pub pricing: BTreeMap<String, Map<String, Value>>,
    /// What all commands of the project together may use in a day.
    pub budget: ModelBudget,
}

/// `llm.budget`. `None` means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelBudget {
    /// US dollars at list prices.
    pub usd_per_day: Option<f64>,
    /// Tokens, input and output.
    pub tokens_per_day: Option<u64>,
}

/// `llm.provider.isolation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Warn,
    Strict,
}

impl Llm {
    /// Whether a warning about the file is an error of this section.
    pub fn is_refused(&self, warning: &Diagnostic) -> bool {
        let same = |problem: &Diagnostic| {
            (&problem.location, &problem.message) == (&warning.location, &warning.message)
        };
        self.problems.iter().any(same)
    }

    /// Sets the errors of the section; with an error, there is no backend.
    pub(crate) fn refuse(&mut self, problems: Vec<Diagnostic>) {
        if !problems.is_empty() {
            self.backend = Backend::None;
        }
        self.problems = problems;
    }
}

/// `llm.timeouts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// Seconds until the first byte of an answer.
    pub first_byte_seconds: u64,
    /// Seconds of silence in the middle of an answer.
    pub between_bytes_seconds: u64,
}

/// Which of OpenAI's protocols a backend uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenAiProtocol {
    Chat,
    Responses,
}

/// `llm.provider.<backend>` of an HTTP backend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Endpoint {
    pub api_key: Option<SecretRef>,
    /// The address of the API.
    pub base_url: Option<SecretRef>,
    /// The protocol, if the backend supports more than one.
    pub protocol: Option<OpenAiProtocol>,
    /// Overrides of the provider's reasoning preset, as written.
    pub reasoning: Option<Map<String, Value>>,
    /// Overrides of the provider's caching preset, as written.
    pub cache: Option<Map<String, Value>>,
}

/// `llm.provider.vertex`.
#[derive(Debug, Clone, PartialEq)]
pub struct Vertex {
    pub project: Option<SecretRef>,
    pub location: SecretRef,
    /// Overrides of the reasoning preset, as written.
    pub reasoning: Option<Map<String, Value>>,
}

/// `llm.promptCaching`. Absent fields are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptCaching {
    pub enabled: Option<bool>,
    pub cache_system: Option<bool>,
    pub cache_tools: Option<bool>,
    pub cache_history: Option<bool>,
    pub system_ttl: Option<CacheTtl>,
    pub tools_ttl: Option<CacheTtl>,
    pub history_ttl: Option<CacheTtl>,
    /// Whether `5m` is requested from Vertex where it does not offer `1h`.
    pub vertex_fallback_to_5m: Option<bool>,
}

impl PromptCaching {
    /// Returns the fields whose value differs from the meaning of an absent field, by their names
    /// in the file. An explicit default changes nothing (KTX-81).
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

/// An embeddings block.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    pub backend: EmbeddingsBackend,
    pub model: Option<String>,
    pub dimensions: u64,
    pub openai: Endpoint,
    /// The address of a sentence-transformers server; `None` if absent or blank.
    pub server: Option<String>,
    /// The prefix of that server's paths.
    pub path_prefix: Option<String>,
    /// The file of a table of token vectors; relative paths begin at the project.
    pub table: Option<String>,
    /// The file with the tokens of that table.
    pub tokenizer: Option<String>,
    pub batch_size: Option<u64>,
}

impl Embeddings {
    /// The default of `dimensions`, which no model has: it means the model's own number.
    pub const UNSET_DIMENSIONS: u64 = 8;

    /// Returns the settings of a server that speaks OpenAI's protocol.
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
    /// A table of token vectors in a file.
    Table,
}

impl EmbeddingsBackend {
    /// The URL of `OpenAi` without a `base_url`.
    pub const OPENAI_URL: &str = "https://api.openai.com/v1";
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ingest {
    pub adapters: Vec<String>,
    pub embeddings: Embeddings,
    /// Agent steps per work unit.
    pub step_budget: u64,
    /// Concurrent work units.
    pub max_concurrency: u64,
    pub failure_mode: FailureMode,
    /// What happens near and at a rate limit.
    pub rate_limit: RateLimit,
    pub profile: Profile,
}

/// `ingest.workUnits.failureMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureMode {
    Abort,
    Continue,
}

/// `ingest.profile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Off,
    Table,
    Json,
}

/// `ingest.rateLimit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    pub enabled: bool,
    /// The share of the limit, 0 to 1, from which fewer requests run concurrently.
    pub throttle_threshold: f64,
    /// The minimum number of concurrent requests while throttled.
    pub min_concurrency_under_pressure: u64,
    /// The maximum wait of a call, in milliseconds.
    pub max_wait_ms: Option<u64>,
    /// Maximum attempts, including the first.
    pub max_attempts: u64,
    /// Milliseconds before the second attempt.
    pub base_delay_ms: u64,
    /// The longest retry delay, in milliseconds.
    pub max_delay_ms: u64,
    pub jitter: bool,
}

/// `agent.run_research`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Research {
    pub enabled: bool,
    pub max_iterations: u64,
    pub toolset: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Whether and how tables and columns are described.
    pub mode: EnrichmentMode,
    /// The scan's own embeddings; without them, those of `ingest` count.
    pub embeddings: Option<Embeddings>,
    pub relationships: Relationships,
}

/// `scan.enrichment.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrichmentMode {
    None,
    Deterministic,
    Llm,
}

/// `scan.relationships`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relationships {
    pub enabled: bool,
    /// Whether a model may propose joins.
    pub llm_proposals: bool,
    /// Whether the data must confirm a join before it is written.
    pub validation_required: bool,
    /// The minimum score, 0 to 1, of an accepted join.
    pub accept_threshold: f64,
    /// The minimum score, 0 to 1, of a join listed for review.
    pub review_threshold: f64,
    pub max_llm_tables_per_batch: u64,
    pub max_candidates_per_column: u64,
    pub profile_sample_rows: u64,
    pub profile_concurrency: u64,
    pub validation_concurrency: u64,
    /// The maximum number of queries that check joins.
    pub validation_budget: ValidationBudget,
}

/// `scan.relationships.validationBudget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    Unset,
    All,
    Queries(u64),
}

#[cfg(test)]
mod tests;
