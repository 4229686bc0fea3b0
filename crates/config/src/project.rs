//! `ktx.yaml` as a value, with every default filled in.

mod read;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ktx_diagnostics::Diagnostic;
use ktx_secrets::SecretRef;
use ktx_vocabulary::{Backend, CacheTtl, ConnectionId, ModelRole, Provider};
use serde_json::{Map, Value};

use crate::{Connection, DriverKind};

pub(crate) use read::read;

/// A project's configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The connections that setup treats as databases, as written; `None` if the key is absent.
    pub setup_databases: Option<Vec<String>>,
    /// The connections, in the order of the file.
    pub connections: IndexMap<ConnectionId, Connection>,
    /// Which backend runs language models, and which models.
    pub llm: Llm,
    /// How context is read from sources.
    pub ingest: Ingest,
    /// The research agent.
    pub research: Research,
    /// How warehouses are scanned.
    pub scan: Scan,
}

impl Project {
    /// Returns the configuration of an empty file: every default.
    pub fn defaults() -> Self {
        read(&Value::Object(Map::new()))
    }

    /// Returns the model of a role, or else that of `default`, independently of the backend.
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

    /// Returns the connections to databases, in the order of the file.
    pub fn warehouses(&self) -> impl Iterator<Item = &Connection> {
        self.of_kind(DriverKind::Warehouse)
    }

    /// Returns the connections to tools and document stores, in the order of the file.
    pub fn context_sources(&self) -> impl Iterator<Item = &Connection> {
        self.of_kind(DriverKind::ContextSource)
    }

    fn of_kind(&self, kind: DriverKind) -> impl Iterator<Item = &Connection> {
        self.connections
            .values()
            .filter(move |connection| connection.driver.kind() == kind)
    }
}

/// `llm`.
#[derive(Debug, Clone, PartialEq)]
pub struct Llm {
    /// The model backend; `none` while there are problems.
    pub backend: Backend,
    /// The errors of the section. While there is one, no model may be called.
    pub problems: Vec<Diagnostic>,
    /// How to reach each provider that the file configures.
    pub endpoints: BTreeMap<Provider, Endpoint>,
    /// Names of variables passed to `claude` in addition to those that it needs.
    pub added_variables: Vec<String>,
    /// What happens to a call of `claude` if the machine has a hook.
    pub isolation: Isolation,
    /// Anthropic models on Vertex AI.
    pub vertex: Option<Vertex>,
    /// The configured models by role. Use [`Project::model`] instead.
    pub models: BTreeMap<ModelRole, String>,
    /// How prompts are cached.
    pub prompt_caching: PromptCaching,
    /// How long to wait for an HTTP provider.
    pub timeouts: ModelTimeouts,
    /// The user's own prices by model id, as written.
    pub pricing: BTreeMap<String, Map<String, Value>>,
    /// What all commands of the project together may use in a day.
    pub budget: ModelBudget,
}

/// `llm.budget`. `None` is no limit.
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
    /// The call continues with a warning.
    Warn,
    /// The call fails.
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
    /// Chat Completions.
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
    /// The Google Cloud project.
    pub project: Option<SecretRef>,
    pub location: SecretRef,
    /// Overrides of the reasoning preset, as written.
    pub reasoning: Option<Map<String, Value>>,
}

/// `llm.promptCaching`. Absent fields are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptCaching {
    /// Whether prompts are marked for caching.
    pub enabled: Option<bool>,
    /// Whether system prompts are marked.
    pub cache_system: Option<bool>,
    /// Whether tool lists are marked.
    pub cache_tools: Option<bool>,
    /// Whether conversations are marked.
    pub cache_history: Option<bool>,
    /// How long system prompts stay cached.
    pub system_ttl: Option<CacheTtl>,
    /// How long tool lists stay cached.
    pub tools_ttl: Option<CacheTtl>,
    /// How long conversations stay cached.
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
    /// The length of the vectors.
    pub dimensions: u64,
    /// The OpenAI embeddings API.
    pub openai: Endpoint,
    /// The address of a sentence-transformers server; `None` if absent or blank.
    pub server: Option<String>,
    /// The prefix of that server's paths.
    pub path_prefix: Option<String>,
    /// The number of texts per request.
    pub batch_size: Option<u64>,
}

/// Which service computes embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingsBackend {
    /// Embeddings are off.
    None,
    /// The OpenAI embeddings API.
    OpenAi,
    /// A sentence-transformers server.
    SentenceTransformers,
}

/// `ingest`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ingest {
    /// The context-source adapters that setup chose.
    pub adapters: Vec<String>,
    /// Embeddings for search and ingest.
    pub embeddings: Embeddings,
    /// Agent steps per work unit.
    pub step_budget: u64,
    /// Concurrent work units.
    pub max_concurrency: u64,
    /// Whether a failed work unit ends the run.
    pub failure_mode: FailureMode,
    /// What happens near and at a rate limit.
    pub rate_limit: RateLimit,
    /// Whether the time of each phase is printed.
    pub profile: Profile,
}

/// `ingest.workUnits.failureMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureMode {
    /// A failed work unit ends the run.
    Abort,
    /// The other work units continue.
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
    /// Whether requests are throttled at all.
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
    /// Whether retry delays vary at random.
    pub jitter: bool,
}

/// `agent.run_research`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Research {
    /// Whether the agent may run.
    pub enabled: bool,
    /// Its maximum number of steps.
    pub max_iterations: u64,
    /// The names of its tools.
    pub toolset: Vec<String>,
}

/// `scan`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Whether and how tables and columns are described.
    pub mode: EnrichmentMode,
    /// The scan's own embeddings; without them, those of `ingest` count.
    pub embeddings: Option<Embeddings>,
    /// How joins are found.
    pub relationships: Relationships,
}

/// `scan.enrichment.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrichmentMode {
    /// No descriptions.
    None,
    /// Descriptions come from the warehouse itself.
    Deterministic,
    /// A model writes the descriptions.
    Llm,
}

/// `scan.relationships`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relationships {
    /// Whether a scan looks for joins.
    pub enabled: bool,
    /// Whether a model may propose joins.
    pub llm_proposals: bool,
    /// Whether the data must confirm a join before it is written.
    pub validation_required: bool,
    /// The minimum score, 0 to 1, of an accepted join.
    pub accept_threshold: f64,
    /// The minimum score, 0 to 1, of a join listed for review.
    pub review_threshold: f64,
    /// Tables per question to the model.
    pub max_llm_tables_per_batch: u64,
    /// Candidates kept per column.
    pub max_candidates_per_column: u64,
    /// Rows sampled per table.
    pub profile_sample_rows: u64,
    /// Tables profiled concurrently.
    pub profile_concurrency: u64,
    /// Joins checked concurrently.
    pub validation_concurrency: u64,
    /// The maximum number of queries that check joins.
    pub validation_budget: ValidationBudget,
}

/// `scan.relationships.validationBudget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    /// The file does not set it.
    Unset,
    /// Unlimited.
    All,
    /// At most this number of queries.
    Queries(u64),
}

#[cfg(test)]
mod tests;
