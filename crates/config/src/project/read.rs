//! Converts a checked value to the model, with defaults.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ktx_secrets::SecretRef;
use ktx_vocabulary::{Backend, CacheTtl, ConnectionId, ModelRole, Provider};
use serde_json::{Map, Value};

use super::{
    Embeddings, EmbeddingsBackend, Endpoint, EnrichmentMode, FailureMode, Ingest, Isolation, Llm,
    ModelBudget, ModelTimeouts, OpenAiProtocol, Profile, Project, PromptCaching, RateLimit,
    Relationships, Research, Scan, ValidationBudget, VertexConfig,
};
use crate::defaults::EffectiveObject;
use crate::spec::ROOT;
use crate::{Connection, Driver};

/// Skips what the check refused.
pub(crate) fn read(value: &Value) -> Project {
    let root = EffectiveObject::new(value, ROOT);
    Project {
        setup_databases: root.at("setup").texts("database_connection_ids"),
        connections: connections(value),
        llm: llm(&root.at("llm")),
        ingest: ingest(&root.at("ingest")),
        research: research(&root.at("agent").at("run_research")),
        scan: scan(&root.at("scan")),
        clients: super::clients::read(value),
    }
}

fn connections(value: &Value) -> IndexMap<ConnectionId, Connection> {
    let entries = value.get("connections").and_then(Value::as_object);
    entries
        .into_iter()
        .flatten()
        .filter_map(|(id, fields)| connection(id, fields))
        .collect()
}

fn connection(id: &str, fields: &Value) -> Option<(ConnectionId, Connection)> {
    let id = ConnectionId::parse(id).ok()?;
    let mut fields = fields.as_object()?.clone();
    let driver = fields.shift_remove("driver")?;
    let driver = Driver::parse(driver.as_str()?)?;
    Some((id.clone(), Connection { id, driver, fields }))
}

fn llm(llm: &EffectiveObject) -> Llm {
    let provider = llm.at("provider");
    let endpoints = Provider::ALL
        .into_iter()
        .filter(|name| *name != Provider::Vertex);
    let endpoints = endpoints.filter_map(|name| {
        provider
            .optional(name.as_str())
            .map(|block| (name, endpoint(&block)))
    });
    let vertex = provider.optional("vertex").and_then(|block| {
        Some(VertexConfig {
            project: block.reference("project"),
            location: block.reference("location")?,
            reasoning: written(&block, "reasoning"),
        })
    });
    let models = llm
        .map("models")
        .into_iter()
        .filter_map(|(role, model)| Some((ModelRole::parse(role)?, model.as_str()?.to_owned())));
    let timeouts = llm.at("timeouts");
    let budget = llm.at("budget");
    let pricing = llm.map("pricing").into_iter();
    let pricing =
        pricing.filter_map(|(model, price)| Some((model.clone(), price.as_object()?.clone())));
    Llm {
        backend: provider
            .text("backend")
            .and_then(|text| Backend::parse(&text))
            .unwrap_or(Backend::None),
        added_variables: provider.texts("environment").unwrap_or_default(),
        isolation: match provider.text("isolation").as_deref() {
            Some("strict") => Isolation::Strict,
            _ => Isolation::Warn,
        },
        problems: Vec::new(),
        vertex,
        endpoints: endpoints.collect(),
        models: models.collect(),
        prompt_caching: prompt_caching(&llm.at("promptCaching")),
        timeouts: ModelTimeouts {
            first_byte_seconds: timeouts.count("first_byte_seconds").unwrap_or_default(),
            between_bytes_seconds: timeouts.count("between_bytes_seconds").unwrap_or_default(),
        },
        pricing: pricing.collect::<BTreeMap<String, Map<String, Value>>>(),
        budget: ModelBudget {
            usd_per_day: budget.number("usd_per_day"),
            tokens_per_day: budget.count("tokens_per_day"),
        },
    }
}

fn written(block: &EffectiveObject, key: &str) -> Option<Map<String, Value>> {
    Some(block.map(key).clone()).filter(|map| !map.is_empty())
}

fn endpoint(block: &EffectiveObject) -> Endpoint {
    Endpoint {
        api_key: block.reference("api_key"),
        base_url: block.reference("base_url"),
        protocol: match block.text("protocol").as_deref() {
            Some("chat") => Some(OpenAiProtocol::Chat),
            Some("responses") => Some(OpenAiProtocol::Responses),
            _ => None,
        },
        reasoning: written(block, "reasoning"),
        cache: written(block, "cache"),
    }
}

fn prompt_caching(block: &EffectiveObject) -> PromptCaching {
    let ttl = |key| CacheTtl::parse(&block.text(key)?);
    PromptCaching {
        enabled: block.flag("enabled"),
        cache_system: block.flag("cacheSystem"),
        cache_tools: block.flag("cacheTools"),
        cache_history: block.flag("cacheHistory"),
        system_ttl: ttl("systemTtl"),
        tools_ttl: ttl("toolsTtl"),
        history_ttl: ttl("historyTtl"),
        vertex_fallback_to_5m: block.flag("vertexFallbackTo5m"),
    }
}

fn embeddings(block: &EffectiveObject) -> Embeddings {
    let server = block.optional("sentenceTransformers");
    let table = block.optional("table");
    let backend = match block.text("backend").as_deref() {
        Some("openai") => EmbeddingsBackend::OpenAi,
        Some("sentence-transformers") => EmbeddingsBackend::SentenceTransformers,
        Some("table") => EmbeddingsBackend::Table,
        _ => EmbeddingsBackend::None,
    };
    Embeddings {
        backend,
        model: block.text("model"),
        dimensions: block.count("dimensions").unwrap_or_default(),
        openai: block
            .optional("openai")
            .as_ref()
            .map(endpoint)
            .unwrap_or_default(),
        server: server
            .as_ref()
            .and_then(|server| server.text("base_url"))
            .filter(|url| !url.trim().is_empty()),
        path_prefix: server.and_then(|server| server.text("pathPrefix")),
        table: table.as_ref().and_then(|table| table.text("path")),
        tokenizer: table.and_then(|table| table.text("tokenizer")),
        batch_size: block.count("batchSize"),
    }
}

fn ingest(ingest: &EffectiveObject) -> Ingest {
    let units = ingest.at("workUnits");
    let failure_mode = match units.text("failureMode").as_deref() {
        Some("abort") => FailureMode::Abort,
        _ => FailureMode::Continue,
    };
    let profile = match (ingest.flag("profile"), ingest.text("profile").as_deref()) {
        (Some(true), _) => Profile::Table,
        (_, Some("json")) => Profile::Json,
        _ => Profile::Off,
    };
    Ingest {
        adapters: ingest.texts("adapters").unwrap_or_default(),
        embeddings: embeddings(&ingest.at("embeddings")),
        step_budget: units.count("stepBudget").unwrap_or_default(),
        max_concurrency: units.count("maxConcurrency").unwrap_or_default(),
        failure_mode,
        rate_limit: rate_limit(&ingest.at("rateLimit")),
        profile,
    }
}

fn rate_limit(block: &EffectiveObject) -> RateLimit {
    let retry = block.at("retry");
    RateLimit {
        enabled: block.flag("enabled").unwrap_or_default(),
        throttle_threshold: block.number("throttleThreshold").unwrap_or_default(),
        min_concurrency_under_pressure: block
            .count("minConcurrencyUnderPressure")
            .unwrap_or_default(),
        max_wait_ms: block.count("maxWaitMs"),
        max_attempts: retry.count("maxAttempts").unwrap_or_default(),
        base_delay_ms: retry.count("baseDelayMs").unwrap_or_default(),
        max_delay_ms: retry.count("maxDelayMs").unwrap_or_default(),
        jitter: retry.flag("jitter").unwrap_or_default(),
    }
}

fn research(block: &EffectiveObject) -> Research {
    Research {
        enabled: block.flag("enabled").unwrap_or_default(),
        max_iterations: block.count("max_iterations").unwrap_or_default(),
        toolset: block.texts("default_toolset").unwrap_or_default(),
    }
}

fn scan(scan: &EffectiveObject) -> Scan {
    let enrichment = scan.at("enrichment");
    let mode = match enrichment.text("mode").as_deref() {
        Some("deterministic") => EnrichmentMode::Deterministic,
        Some("llm") => EnrichmentMode::Llm,
        _ => EnrichmentMode::None,
    };
    Scan {
        mode,
        embeddings: enrichment.optional("embeddings").as_ref().map(embeddings),
        relationships: relationships(&scan.at("relationships")),
    }
}

fn relationships(block: &EffectiveObject) -> Relationships {
    let flag = |key| block.flag(key).unwrap_or_default();
    let count = |key| block.count(key).unwrap_or_default();
    let ratio = |key| block.number(key).unwrap_or_default();
    let budget = (
        block.text("validationBudget"),
        block.count("validationBudget"),
    );
    Relationships {
        enabled: flag("enabled"),
        llm_proposals: flag("llmProposals"),
        validation_required: flag("validationRequiredForManifest"),
        accept_threshold: ratio("acceptThreshold"),
        review_threshold: ratio("reviewThreshold"),
        max_llm_tables_per_batch: count("maxLlmTablesPerBatch"),
        max_candidates_per_column: count("maxCandidatesPerColumn"),
        profile_sample_rows: count("profileSampleRows"),
        profile_concurrency: count("profileConcurrency"),
        validation_concurrency: count("validationConcurrency"),
        validation_budget: match budget {
            (Some(_), _) => ValidationBudget::All,
            (_, Some(queries)) => ValidationBudget::Queries(queries),
            _ => ValidationBudget::Unset,
        },
    }
}

impl EffectiveObject {
    fn reference(&self, key: &str) -> Option<SecretRef> {
        self.text(key).map(|text| SecretRef::parse(&text))
    }
}
