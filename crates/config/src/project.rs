//! `ktx.yaml` as a value, every default filled in.

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
    /// The connections that setup treats as databases, as written; none when the key is absent.
    pub setup_databases: Option<Vec<String>>,
    /// The connections, in the order of the file.
    pub connections: IndexMap<ConnectionId, Connection>,
    /// Who runs language models, and which ones.
    pub llm: Llm,
    /// How context is read from sources.
    pub ingest: Ingest,
    /// The research agent.
    pub research: Research,
    /// How warehouses are scanned.
    pub scan: Scan,
}

impl Project {
    /// The configuration of an empty file: every default.
    pub fn defaults() -> Self {
        read(&Value::Object(Map::new()))
    }

    /// The model of a role: its own, else that of `default`. The same for every backend.
    pub fn model(&self, role: ModelRole) -> Option<&str> {
        let models = &self.llm.models;
        models
            .get(&role)
            .or_else(|| models.get(&ModelRole::Default))
            .map(String::as_str)
    }

    /// The connection with this id.
    pub fn connection(&self, id: &str) -> Option<&Connection> {
        self.connections.get(id)
    }

    /// The connections to databases, in the order of the file.
    pub fn warehouses(&self) -> impl Iterator<Item = &Connection> {
        self.of_kind(DriverKind::Warehouse)
    }

    /// The connections to tools and document stores, in the order of the file.
    pub fn context_sources(&self) -> impl Iterator<Item = &Connection> {
        self.of_kind(DriverKind::ContextSource)
    }

    fn of_kind(&self, kind: DriverKind) -> impl Iterator<Item = &Connection> {
        self.connections
            .values()
            .filter(move |connection| connection.driver.kind() == kind)
    }

    /// The embeddings of scans: `scan.enrichment.embeddings`, else `ingest.embeddings`.
    pub fn scan_embeddings(&self) -> &Embeddings {
        self.scan
            .embeddings
            .as_ref()
            .unwrap_or(&self.ingest.embeddings)
    }
}

/// `llm`.
#[derive(Debug, Clone, PartialEq)]
pub struct Llm {
    /// Who runs models; `none` while there are problems.
    pub backend: Backend,
    /// The errors of the section. While there is one, no model may be asked.
    pub problems: Vec<Diagnostic>,
    /// How each provider is reached, where the file says something about it.
    pub endpoints: BTreeMap<Provider, Endpoint>,
    /// Names of variables that `claude` is given beside those that it needs.
    pub added_variables: Vec<String>,
    /// What becomes of a call of `claude` with a hook of the machine's.
    pub isolation: Isolation,
    /// Anthropic models on Vertex AI.
    pub vertex: Option<Vertex>,
    /// The models that are named, by role. Ask [`Project::model`] instead.
    pub models: BTreeMap<ModelRole, String>,
    /// How prompts are cached.
    pub prompt_caching: PromptCaching,
    /// How long a provider over HTTP is waited for.
    pub timeouts: ModelTimeouts,
    /// The user's own prices by model id, as written.
    pub pricing: BTreeMap<String, Map<String, Value>>,
}

/// `llm.provider.isolation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// It goes on, with a warning.
    Warn,
    /// It fails.
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

    /// Takes the errors of the section; with one, there is no backend.
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

/// Which of OpenAI's protocols is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenAiProtocol {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
}

/// `llm.provider.<backend>` of an HTTP backend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Endpoint {
    /// The key.
    pub api_key: Option<SecretRef>,
    /// Where the API is.
    pub base_url: Option<SecretRef>,
    /// The protocol, where the backend speaks more than one.
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
    /// The region.
    pub location: SecretRef,
}

/// `llm.promptCaching`. What is absent was not written.
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
    /// Whether Vertex is asked for `5m` where it does not offer `1h`.
    pub vertex_fallback_to_5m: Option<bool>,
}

impl PromptCaching {
    /// The fields that say something else than they do when absent, by their names in the file: a
    /// default that is written out changes nothing (KTX-81).
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
    /// Who computes embeddings.
    pub backend: EmbeddingsBackend,
    /// The embedding model.
    pub model: Option<String>,
    /// The length of the vectors.
    pub dimensions: u64,
    /// The OpenAI embeddings API.
    pub openai: Endpoint,
    /// Where a sentence-transformers server is; none when not written or blank.
    pub server: Option<String>,
    /// What precedes that server's paths.
    pub path_prefix: Option<String>,
    /// How many texts go into one request.
    pub batch_size: Option<u64>,
}

/// Who computes embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingsBackend {
    /// Nobody.
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
    /// Agent steps per unit of work.
    pub step_budget: u64,
    /// Units of work at one time.
    pub max_concurrency: u64,
    /// Whether a failed unit ends the run.
    pub failure_mode: FailureMode,
    /// What happens near and at a rate limit.
    pub rate_limit: RateLimit,
    /// Whether the time of each phase is printed.
    pub profile: Profile,
}

/// `ingest.workUnits.failureMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureMode {
    /// A failed unit ends the run.
    Abort,
    /// The other units go on.
    Continue,
}

/// `ingest.profile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Nothing is printed.
    Off,
    /// A table is printed.
    Table,
    /// JSON is printed.
    Json,
}

/// `ingest.rateLimit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Whether requests are held back at all.
    pub enabled: bool,
    /// The share of the limit, 0 to 1, at which fewer requests run at one time.
    pub throttle_threshold: f64,
    /// How many requests run at one time even then.
    pub min_concurrency_under_pressure: u64,
    /// After how many milliseconds of waiting a call gives up.
    pub max_wait_ms: Option<u64>,
    /// Tries in all.
    pub max_attempts: u64,
    /// Milliseconds before the second try.
    pub base_delay_ms: u64,
    /// The longest pause, in milliseconds.
    pub max_delay_ms: u64,
    /// Whether pauses vary at random.
    pub jitter: bool,
}

/// `agent.run_research`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Research {
    /// Whether the agent may run.
    pub enabled: bool,
    /// Its steps.
    pub max_iterations: u64,
    /// Its tools.
    pub toolset: Vec<String>,
}

/// `scan`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Whether tables and columns are described, and by whom.
    pub mode: EnrichmentMode,
    /// The scan's own embeddings. Ask [`Project::scan_embeddings`] instead.
    pub embeddings: Option<Embeddings>,
    /// How joins are found.
    pub relationships: Relationships,
}

/// `scan.enrichment.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrichmentMode {
    /// Nothing is described.
    None,
    /// What the warehouse itself says is used.
    Deterministic,
    /// A model describes.
    Llm,
}

/// `scan.relationships`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relationships {
    /// Whether joins are looked for.
    pub enabled: bool,
    /// Whether a model may propose joins.
    pub llm_proposals: bool,
    /// Whether a join must be confirmed by the data before it is written.
    pub validation_required: bool,
    /// From which score, 0 to 1, a join is accepted.
    pub accept_threshold: f64,
    /// From which score, 0 to 1, a join is listed for review.
    pub review_threshold: f64,
    /// Tables per question to the model.
    pub max_llm_tables_per_batch: u64,
    /// Candidates kept per column.
    pub max_candidates_per_column: u64,
    /// Rows sampled per table.
    pub profile_sample_rows: u64,
    /// Tables profiled at one time.
    pub profile_concurrency: u64,
    /// Joins checked at one time.
    pub validation_concurrency: u64,
    /// How many queries may check joins.
    pub validation_budget: ValidationBudget,
}

/// `scan.relationships.validationBudget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidationBudget {
    /// The file says nothing.
    Unset,
    /// No bound.
    All,
    /// At most so many queries.
    Queries(u64),
}

#[cfg(test)]
mod tests;
