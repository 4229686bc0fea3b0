//! Text and objects: results, metrics and failures (KTX-50, KTX-51, KTX-67).

use ktx_llm_runtime::{
    CallMetrics, LlmErrorKind, LlmRuntime as _, RuntimeEvent, SourceSystem, TokenUsage, UsageFact,
    UsageKind,
};
use ktx_vocabulary::ModelRole;
use serde_json::{Value, json};

use crate::support::{TestSetup, label, object_request, short, text_request};

pub(crate) const MESSAGE: TokenUsage = TokenUsage {
    input: 100,
    cache_write_5m: 10,
    cache_write_1h: 20,
    cache_read: 7,
    output: 20,
    reasoning: 0,
};

fn fact(message: &str) -> RuntimeEvent {
    let label = label();
    RuntimeEvent::Usage(UsageFact {
        kind: UsageKind::Message,
        run_id: label.run_id,
        attempt: 0,
        message_id: message.to_owned(),
        source_system: SourceSystem::LocalSession,
        model: "fake-sonnet".to_owned(),
        location: None,
        role: ModelRole::Default,
        stage: label.stage,
        unit: label.unit,
        connection: None,
        usage: MESSAGE,
    })
}

fn usage_events(bench: &TestSetup) -> Vec<RuntimeEvent> {
    let events = bench.events().into_iter();
    events
        .filter(|event| matches!(event, RuntimeEvent::Usage(_)))
        .collect()
}

/// KTX-50, COG-07…09.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_comes_with_one_usage_fact() {
    let bench = TestSetup::new(
        json!({ "message_ids": "a", "steps": [{ "text": "Grüße 🙂 vom Skript." }] }),
    );
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    assert_eq!(outcome.text, "Grüße 🙂 vom Skript.");
    let boundaries = outcome.metrics.step_boundaries.len();
    assert_eq!(
        CallMetrics {
            total: std::time::Duration::ZERO,
            step_boundaries: Vec::new(),
            ..outcome.metrics
        },
        CallMetrics {
            usage: MESSAGE,
            steps: 1,
            model: Some("fake-sonnet".to_owned()),
            reported_cost_usd: Some(0.000_759_6),
            ..CallMetrics::default()
        }
    );
    assert_eq!(bench.records().remove(0)["ending"], "done");
    assert_eq!(
        (boundaries, usage_events(&bench)),
        (1, vec![fact("msg_a_0001")])
    );
}

/// KTX-04.
#[tokio::test(flavor = "multi_thread")]
async fn roles_pick_models() {
    let mut bench = TestSetup::new(json!({ "echo": {} }));
    bench
        .settings
        .models
        .insert(ModelRole::Triage, "haiku".to_owned());
    let runtime = bench.runtime();
    for role in [ModelRole::Triage, ModelRole::Curator] {
        let mut request = text_request("Say hello.");
        request.role = role;
        runtime.generate_text(request).await.unwrap();
    }
    let models: Vec<String> = bench
        .records()
        .iter()
        .map(|record| {
            record["arguments"]
                .as_array()
                .unwrap()
                .last()
                .unwrap()
                .to_string()
        })
        .collect();
    assert_eq!(models, ["\"--model=haiku\"", "\"--model=sonnet\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_prompt_arrives_whole() {
    let bench = TestSetup::new(json!({ "echo": {} }));
    let prompt = "ü🙂 ".repeat(500_000);
    bench
        .runtime()
        .generate_text(text_request(&prompt))
        .await
        .unwrap();
    assert_eq!(bench.records().remove(0)["prompt"], prompt);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_prompt_is_refused_before_any_process() {
    let bench = TestSetup::new(json!({ "echo": {} }));
    let outcome = bench.runtime().generate_text(text_request(" \n")).await;
    assert_eq!(
        short(outcome),
        (
            LlmErrorKind::InvalidRequest,
            "the prompt is empty".to_owned()
        )
    );
    assert_eq!(bench.records(), Vec::<Value>::new());
}

/// KTX-51.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_accepted() {
    let object = json!({ "name": "orders", "score": 0.9 });
    let bench = TestSetup::new(json!({ "steps": [{ "object": object }] }));
    let outcome = bench
        .runtime()
        .generate_object(object_request("An object."))
        .await
        .unwrap();
    assert_eq!((outcome.value, outcome.metrics.steps), (object, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_object_is_made_again() {
    let object = json!({ "name": "orders", "score": 0.5 });
    let steps = json!([{ "object": { "name": "orders" } }, { "object": object }]);
    let bench = TestSetup::new(json!({ "message_ids": "a", "steps": steps }));
    let outcome = bench
        .runtime()
        .generate_object(object_request("An object."))
        .await
        .unwrap();
    assert_eq!((outcome.value, outcome.metrics.steps), (object, 2));
    assert_eq!(
        usage_events(&bench),
        [fact("msg_a_0001"), fact("msg_a_0002")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn used_up_turns_keep_an_accepted_object() {
    let object = json!({ "name": "orders", "score": 0.5 });
    let end = json!({ "end": { "subtype": "error_max_turns", "is_error": true, "terminal_reason": "max_turns", "structured_output": null } });
    let bench = TestSetup::new(
        json!({ "steps": [{ "object": object }, end], "result": { "structured_output": null } }),
    );
    let outcome = bench
        .runtime()
        .generate_object(object_request("An object."))
        .await
        .unwrap();
    assert_eq!(outcome.value, object);

    let bench = TestSetup::new(json!({ "steps": [{ "text": "No." }, end] }));
    let outcome = bench
        .runtime()
        .generate_object(object_request("An object."))
        .await;
    assert_eq!(
        short(outcome),
        (
            LlmErrorKind::MaxTurns,
            "the model used up its turns before it answered".to_owned()
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn our_schema_decides() {
    let bench = TestSetup::new(json!({ "steps": [{ "text": "I will not." }] }));
    let outcome = bench
        .runtime()
        .generate_object(object_request("An object."))
        .await;
    assert_eq!(
        short(outcome),
        (
            LlmErrorKind::StructuredOutput,
            "the model returned no object that matches the schema".to_owned()
        )
    );
    let bench = TestSetup::new(json!({
        "steps": [{ "text": "Here." }],
        "result": { "structured_output": { "name": "orders", "score": -1 } },
    }));
    let outcome = bench
        .runtime()
        .generate_object(object_request("An object."))
        .await;
    let error = outcome.unwrap_err();
    assert_eq!(
        (error.kind, &*error.message, error.detail.as_deref()),
        (
            LlmErrorKind::StructuredOutput,
            "the model's object does not match its schema",
            Some("/score: -1 is less than the minimum of 0")
        )
    );
}

/// KTX-67, COG-19.
#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_api_have_kinds() {
    use LlmErrorKind as Kind;
    let table = [
        ("authentication_failed", Some(401), Kind::Auth),
        ("authentication_failed", Some(403), Kind::Auth),
        ("authentication_failed", None, Kind::Auth),
        ("billing_error", Some(400), Kind::Billing),
        ("rate_limit", Some(429), Kind::RateLimit),
        ("overloaded", Some(529), Kind::Overloaded),
        ("server_error", Some(529), Kind::Overloaded),
        ("server_error", Some(500), Kind::Server),
        ("server_error", None, Kind::Transport),
        ("unknown", None, Kind::Transport),
        ("unknown", Some(400), Kind::InvalidRequest),
        ("model_not_found", Some(404), Kind::ModelNotFound),
        ("max_output_tokens", None, Kind::MaxOutput),
    ];
    for (class, status, kind) in table {
        let text = "BACKEND said Bearer abcdefghijkl";
        let bench = TestSetup::new(json!({ "steps": [
            { "api_error": { "class": class, "status": status, "text": text } },
        ] }));
        let error = bench
            .runtime()
            .generate_text(text_request("Say hello."))
            .await
            .unwrap_err();
        assert_eq!(error.kind, kind, "{class} {status:?}");
        let shown = format!("{} {:?}", error.message, error.hint);
        let detail = error.detail.unwrap();
        assert!(!shown.contains("BACKEND"), "{shown}");
        assert!(
            detail.contains("BACKEND said Bearer ***") && !detail.contains("abcdefghijkl"),
            "{detail}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_limit_reports_its_end() {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let resets_at = now + 5_000;
    let until = jiff::Timestamp::from_second(i64::try_from(resets_at).unwrap()).unwrap();
    let until = until.strftime("%Y-%m-%d %H:%M UTC");
    let bench = TestSetup::new(json!({ "steps": [
        { "rate_limit": { "status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour", "utilization": 1.0 } },
        { "api_error": { "class": "rate_limit", "status": 429, "text": "resets soon" } },
    ] }));
    let error = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (
            LlmErrorKind::RateLimit,
            &*format!("the 5-hour usage limit of your Claude plan is reached until {until}")
        )
    );
    let wait = error.retry_after.unwrap().as_secs();
    assert!((4_000..=5_000).contains(&wait), "{wait}");
    let observed = RuntimeEvent::RateLimitObserved {
        window: "five_hour".to_owned(),
        utilization: Some(1.0),
        resets_at: i64::try_from(resets_at).ok(),
    };
    assert!(bench.events().contains(&observed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovered_call_is_a_success() {
    let synthetic = json!({
        "type": "assistant", "error": "server_error",
        "message": { "id": "x", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error" }] },
    });
    let bench = TestSetup::new(json!({ "message_ids": "a", "steps": [
        { "retry": { "attempt": 1, "max_retries": 10, "retry_delay_ms": 5, "error_status": 529 } },
        { "broken_stream": "Hel" },
        { "raw": synthetic },
        { "text": "Hello." },
    ], "result": {} }));
    let mut bench = bench;
    bench
        .settings
        .models
        .insert(ModelRole::Default, "opus".to_owned());
    let outcome = bench
        .runtime()
        .run_agent_loop(crate::support::loop_request("Work.", 5))
        .await;
    assert_eq!(
        (outcome.error, outcome.text.as_deref()),
        (None, Some("Hello."))
    );
    let retry = RuntimeEvent::Retry {
        attempt: 2,
        code: LlmErrorKind::Overloaded.code(),
    };
    assert!(bench.events().contains(&retry));
    let mut paid: Vec<(String, u64)> = Vec::new();
    for event in bench.events() {
        if let RuntimeEvent::Usage(fact) = event {
            paid.push((fact.message_id, fact.usage.output));
        }
    }
    // The interrupted message has no final count; its known counts are reported at the end.
    assert_eq!(
        paid,
        [("msg_a_0002".to_owned(), 20), ("msg_a_0001".to_owned(), 1)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_play_through_a_process() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claude");
    for version in ["v2.1.142", "v2.1.330"] {
        let file = fixtures
            .join(version)
            .join("adapter-text.jsonl")
            .canonicalize()
            .unwrap();
        let bench = TestSetup::new(json!({ "replay": file }));
        let outcome = bench
            .runtime()
            .generate_text(text_request("Say hello."))
            .await
            .unwrap();
        assert_eq!(outcome.text, "Hello from the script.");
        let file = fixtures
            .join(version)
            .join("adapter-object.jsonl")
            .canonicalize()
            .unwrap();
        let bench = TestSetup::new(json!({ "replay": file }));
        let outcome = bench
            .runtime()
            .generate_object(object_request("An object."))
            .await
            .unwrap();
        assert_eq!(outcome.value, json!({ "name": "orders", "score": 0.9 }));
        let file = fixtures
            .join(version)
            .join("probe-not-logged-in.jsonl")
            .canonicalize()
            .unwrap();
        let bench = TestSetup::new(json!({ "replay": file }));
        let outcome = bench
            .runtime()
            .generate_text(text_request("Say hello."))
            .await;
        assert_eq!(short(outcome).0, LlmErrorKind::Auth);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_answers_for_an_alias_only() {
    let switched = json!({
        "type": "system", "subtype": "model_fallback", "trigger": "model_not_found",
        "original_model": "claude-sonnet-9-1", "fallback_model": "claude-sonnet-9",
        "content": "Switched to Sonnet 9 because Sonnet 9.1 is not available",
    });
    let mut bench = TestSetup::new(json!({ "steps": [{ "raw": switched }, { "text": "Hello." }] }));
    let outcome = bench.runtime().generate_text(text_request("Hi.")).await;
    assert_eq!(outcome.unwrap().text, "Hello.");
    let warnings: Vec<RuntimeEvent> = bench
        .events()
        .into_iter()
        .filter(|event| matches!(event, RuntimeEvent::Warning(_)))
        .collect();
    assert_eq!(
        warnings,
        [RuntimeEvent::Warning(
            "`sonnet` is answered by `claude-sonnet-9`: `claude-sonnet-9-1` is not available to this Claude account"
                .to_owned()
        )]
    );
    let models = [(ModelRole::Default, "claude-sonnet-9-1".to_owned())];
    bench.settings.models = models.into();
    let error = bench.runtime().generate_text(text_request("Hi.")).await;
    let error = error.unwrap_err();
    assert_eq!(
        (error.kind, &*error.message),
        (
            LlmErrorKind::ModelNotFound,
            "Claude Code would use `claude-sonnet-9` instead of `claude-sonnet-9-1`"
        )
    );
    assert_eq!(bench.survivors(), Vec::<u32>::new());
}

/// KTX-10.
#[test]
fn an_invalid_model_is_refused_with_the_aliases() {
    for model in ["", "-x", "a b", "a\nb"] {
        let mut bench = TestSetup::new(json!({}));
        let models = [(ModelRole::Default, model.to_owned())];
        bench.settings.models = models.into();
        let events = std::sync::Arc::new(ktx_llm_runtime::NoEvents);
        let refused = ktx_claude_code_adapter::ClaudeCodeRuntime::new(bench.settings, events);
        let error = refused.err().unwrap();
        assert_eq!(
            (error.kind, &*error.message, error.hint.as_deref()),
            (
                LlmErrorKind::InvalidRequest,
                &*format!("the model `{model}` of the role `default` is not a model id"),
                Some("use an alias (`sonnet`, `opus`, `haiku`) or a full model id"),
            )
        );
    }
}
