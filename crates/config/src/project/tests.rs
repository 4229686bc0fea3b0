//! Value tests of the model.

use super::*;
use crate::{Driver, parse};

#[track_caller]
fn project(text: &str) -> Project {
    let parsed = parse(text, "ktx.yaml");
    assert_eq!(parsed.diagnostics, []);
    parsed.project.expect("a good file")
}

#[test]
fn an_empty_file_is_every_default() {
    let embeddings = Embeddings {
        backend: EmbeddingsBackend::None,
        model: None,
        dimensions: 8,
        openai: Endpoint::default(),
        server: None,
        path_prefix: None,
        table: None,
        tokenizer: None,
        batch_size: None,
    };
    let expected = Project {
        clients: Vec::new(),
        setup_databases: None,
        connections: IndexMap::new(),
        llm: Llm {
            backend: Backend::None,
            problems: Vec::new(),
            endpoints: BTreeMap::new(),
            added_variables: Vec::new(),
            isolation: Isolation::Warn,
            vertex: None,
            models: BTreeMap::new(),
            prompt_caching: PromptCaching::default(),
            timeouts: ModelTimeouts {
                first_byte_seconds: 120,
                between_bytes_seconds: 60,
            },
            pricing: BTreeMap::new(),
            budget: ModelBudget::default(),
        },
        ingest: Ingest {
            adapters: Vec::new(),
            embeddings,
            step_budget: 40,
            max_concurrency: 1,
            failure_mode: FailureMode::Continue,
            rate_limit: RateLimit {
                enabled: true,
                throttle_threshold: 0.8,
                min_concurrency_under_pressure: 1,
                max_wait_ms: None,
                max_attempts: 6,
                base_delay_ms: 1000,
                max_delay_ms: 60_000,
                jitter: true,
            },
            profile: Profile::Off,
        },
        research: Research {
            enabled: true,
            max_iterations: 20,
            toolset: ["sl_query", "wiki_search", "wiki_read", "sl_read_source"]
                .map(str::to_owned)
                .to_vec(),
        },
        scan: Scan {
            mode: EnrichmentMode::None,
            embeddings: None,
            relationships: Relationships {
                enabled: true,
                llm_proposals: true,
                validation_required: true,
                accept_threshold: 0.85,
                review_threshold: 0.55,
                max_llm_tables_per_batch: 40,
                max_candidates_per_column: 25,
                profile_sample_rows: 10_000,
                profile_concurrency: 4,
                validation_concurrency: 4,
                validation_budget: ValidationBudget::Unset,
            },
        },
    };
    assert_eq!(project(""), expected);
    assert_eq!(Project::defaults(), expected);
    assert_eq!(
        project("llm: ~\ningest: {rateLimit: ~}\nscan: {relationships: {enabled: ~}}\n"),
        expected
    );
}

/// KTX-04: independent of the backend.
#[test]
fn a_role_without_a_model_uses_the_default_one() {
    for backend in ["none", "anthropic", "claude-code", "vertex"] {
        let models = format!(
            "llm:\n  provider: {{backend: {backend}}}\n  models: {{default: big, triage: small}}\n"
        );
        let project = project(&models);
        let found = ModelRole::ALL.map(|role| project.model(role).unwrap_or_default());
        assert_eq!(found, ["big", "small", "big", "big", "big", "big"]);
    }
    assert_eq!(
        project("llm: {models: {triage: small}}\n").model(ModelRole::Repair),
        None
    );
}

#[test]
fn the_boundary_of_claude_is_read() {
    let llm = project("llm: {provider: {environment: [LD_LIBRARY_PATH], isolation: strict}}\n").llm;
    assert_eq!(
        (llm.added_variables, llm.isolation),
        (vec!["LD_LIBRARY_PATH".to_owned()], Isolation::Strict)
    );
}

#[test]
fn providers_are_read_with_their_references() {
    let llm = project(
        "llm:\n  provider:\n    backend: vertex\n    vertex: {location: global}\n    groq:\n      api_key: env:GROQ\n      reasoning: {fieldName: reasoning}\n    anthropic: {base_url: 'https://x'}\n  promptCaching: {enabled: true, systemTtl: 1h, historyTtl: 5m}\n  pricing: {m: {input: 1.5, output: 2}}\n",
    )
    .llm;
    let location = SecretRef::parse("global");
    assert_eq!(
        llm.vertex,
        Some(VertexConfig {
            project: None,
            location,
            reasoning: None,
        })
    );
    let groq = llm.endpoints.get(&Provider::Groq).expect("it is written");
    assert_eq!(groq.api_key, Some(SecretRef::Env("GROQ".to_owned())));
    assert_eq!(groq.reasoning.as_ref().map(Map::len), Some(1));
    assert_eq!(
        llm.endpoints.keys().copied().collect::<Vec<_>>(),
        [Provider::Anthropic, Provider::Groq]
    );
    assert_eq!(llm.prompt_caching.system_ttl, Some(CacheTtl::OneHour));
    assert_eq!(llm.prompt_caching.tools_ttl, None);
    assert_eq!(
        llm.pricing.get("m").and_then(|price| price.get("input")),
        Some(&Value::from(1.5))
    );
}

/// KTX-80, KTX-81.
#[test]
fn caching_is_read_and_compared_with_its_defaults() {
    let changed = |fields: &str| {
        let text = format!("llm: {{promptCaching: {{{fields}}}}}\n");
        project(&text).llm.prompt_caching.changed()
    };
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (
            "enabled: true, cacheSystem: true, cacheTools: true, cacheHistory: true, \
             systemTtl: 1h, toolsTtl: 1h, historyTtl: 5m, vertexFallbackTo5m: false",
            &[],
        ),
        ("enabled: false", &["enabled"]),
        ("cacheSystem: false", &["cacheSystem"]),
        ("cacheTools: false", &["cacheTools"]),
        ("cacheHistory: false", &["cacheHistory"]),
        ("systemTtl: 5m", &["systemTtl"]),
        ("toolsTtl: 5m", &["toolsTtl"]),
        ("historyTtl: 1h", &["historyTtl"]),
        ("vertexFallbackTo5m: true", &["vertexFallbackTo5m"]),
        (
            "vertexFallbackTo5m: true, toolsTtl: 5m, enabled: true",
            &["toolsTtl", "vertexFallbackTo5m"],
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(changed(fields), *expected, "{fields}");
    }
}

#[test]
fn connections_keep_their_order_and_unknown_fields() {
    let project = project(
        "connections:\n  w: {driver: postgres, host: h, port: 5433, mine: {a: 1}}\n  d: {driver: dbt, source_dir: ./dbt}\n  a: {driver: sqlite, path: a.db, enabled_tables: orders}\n",
    );
    let ids: Vec<&str> = project
        .connections
        .keys()
        .map(ConnectionId::as_str)
        .collect();
    assert_eq!(ids, ["w", "d", "a"]);
    let warehouses: Vec<Driver> = project.warehouses().map(|found| found.driver).collect();
    assert_eq!(warehouses, [Driver::Postgres, Driver::Sqlite]);
    assert_eq!(project.context_sources().count(), 1);
    let warehouse = project.connection("w").expect("it is written");
    assert_eq!(
        Value::Object(warehouse.fields.clone()).to_string(),
        r#"{"host":"h","port":5433,"mine":{"a":1}}"#
    );
    let tables = project
        .connection("a")
        .map(|found| found.texts(&["enabled_tables"]));
    assert_eq!(tables, Some(vec!["orders".to_owned()]));
}

/// KTX-08.
#[test]
fn scans_and_ingest_have_separate_embeddings() {
    let shared = project(
        "llm: {provider: {backend: claude-code}}\ningest: {embeddings: {backend: openai, dimensions: 1536, openai: {api_key: 'env:K'}}}\n",
    );
    assert_eq!(shared.scan.embeddings, None);
    assert_eq!(shared.ingest.embeddings.backend, EmbeddingsBackend::OpenAi);
    assert_eq!(shared.ingest.embeddings.dimensions, 1536);
    assert_eq!(
        shared.ingest.embeddings.openai.api_key,
        Some(SecretRef::Env("K".to_owned()))
    );
    let own = project(
        "scan: {enrichment: {mode: llm, embeddings: {backend: sentence-transformers, sentenceTransformers: {base_url: ''}}}}\n",
    );
    let own = own.scan.embeddings.expect("its own block");
    assert_eq!(own.backend, EmbeddingsBackend::SentenceTransformers);
    assert_eq!((own.dimensions, own.server.as_deref()), (8, None));
}

#[test]
fn either_form_of_a_switch_is_read() {
    let budget = |text: &str| {
        project(&format!(
            "scan: {{relationships: {{validationBudget: {text}}}}}\n"
        ))
        .scan
        .relationships
        .validation_budget
    };
    assert_eq!(
        [budget("all"), budget("0"), budget("12")],
        [
            ValidationBudget::All,
            ValidationBudget::Queries(0),
            ValidationBudget::Queries(12)
        ]
    );
    let profile = |text: &str| {
        project(&format!("ingest: {{profile: {text}}}\n"))
            .ingest
            .profile
    };
    assert_eq!(
        [profile("true"), profile("json"), profile("false")],
        [Profile::Table, Profile::Json, Profile::Off]
    );
}

#[test]
fn a_budget_may_limit_money_or_tokens_or_both() {
    let budget = |text: &str| project(&format!("llm: {{budget: {text}}}\n")).llm.budget;
    let expected = |usd_per_day, tokens_per_day| ModelBudget {
        usd_per_day,
        tokens_per_day,
    };
    assert_eq!(
        [
            budget("{usd_per_day: 2.5}"),
            budget("{tokens_per_day: 1000000}"),
            budget("{usd_per_day: 0, tokens_per_day: 0}"),
            budget("{}"),
        ],
        [
            expected(Some(2.5), None),
            expected(None, Some(1_000_000)),
            expected(Some(0.0), Some(0)),
            expected(None, None),
        ]
    );
}
