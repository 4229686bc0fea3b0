//! The isolation tuple on every kind of query (KTX-20…34, KTX-40…43).

use ktx_claude_code_adapter::{ClaudeCodeRuntime, Isolation};
use ktx_llm_runtime::{EventSink, LlmErrorKind, LlmRuntime as _, RuntimeEvent, StopReason};
use serde_json::{Value, json};

use crate::support::{
    TestSetup, canaries, loop_request, object_request, one_call, probe_request, run_request, short,
    text_request, until,
};

fn anything() -> Value {
    json!({ "echo": {} })
}

/// KTX-20…34, KTX-25, KTX-40: the fake refuses every process without the whole tuple.
#[tokio::test(flavor = "multi_thread")]
async fn every_query_carries_the_whole_tuple() {
    let mut bench = TestSetup::new(anything());
    bench.settings.environment.extend(canaries());
    let runtime = bench.runtime();
    every_operation(&runtime).await;
    let records = bench.records();
    let endings: Vec<&Value> = records.iter().map(|record| &record["ending"]).collect();
    assert_eq!(endings, vec![&json!("done"); 5]);
    let turns: Vec<String> = records
        .iter()
        .flat_map(|record| record["arguments"].as_array().unwrap())
        .filter_map(|argument| argument.as_str()?.strip_prefix("--max-turns="))
        .map(str::to_owned)
        .collect();
    assert_eq!(turns, ["1", "5", "3", "4", "1"]);
    works_in_the_project(&bench, &records);
}

/// KTX-20…34, KTX-25, KTX-40.
#[tokio::test(flavor = "multi_thread")]
async fn every_spare_carries_the_whole_tuple() {
    let mut bench = TestSetup::new(anything());
    bench.settings.environment.extend(canaries());
    bench.settings.max_spares = 2;
    let runtime = bench.runtime();
    for _ in 0..3 {
        every_operation(&runtime).await;
        until("a spare waits", || bench.notes() > 0).await;
    }
    let done = |record: &&Value| record["ending"] == "done";
    until("all calls are written down", || {
        bench.records().iter().filter(done).count() == 15
    })
    .await;
    drop(runtime);
    until("no process remains", || bench.survivors().is_empty()).await;
    let records = bench.records();
    let refused = |record: &&Value| record["ending"].get("fault").is_some();
    assert_eq!(records.iter().find(refused), None);
    works_in_the_project(&bench, &records);
}

async fn every_operation(runtime: &ClaudeCodeRuntime) {
    let answer = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(answer.unwrap().text, "ok");
    let given = runtime.generate_object(object_request("An object.")).await;
    given.unwrap();
    let outcome = runtime.run_agent_loop(loop_request("Work.", 3)).await;
    assert_eq!(outcome.stop_reason, StopReason::Natural);
    let last = runtime.start_run(run_request("Work.")).finish().await;
    assert_eq!(last.result.as_deref(), Ok("ok"));
    runtime.probe(probe_request()).await.unwrap();
}

#[track_caller]
fn works_in_the_project(bench: &TestSetup, records: &[Value]) {
    let project = json!(bench.root().join("project"));
    assert_ne!(json!(std::env::current_dir().unwrap()), project);
    for record in records {
        assert_eq!(record["folder"], project);
        assert!(!record.to_string().contains("canary-"), "{record}");
    }
}

/// KTX-25, KTX-40.
#[tokio::test(flavor = "multi_thread")]
async fn the_version_is_requested_in_the_same_isolation() {
    let mut bench = TestSetup::new(json!({ "unknown_options": ["--no-session-persistence"] }));
    bench.settings.environment.extend(canaries());
    let runtime = bench.runtime();
    let failed = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(short(failed).0, LlmErrorKind::Process);
    let text = std::fs::read_to_string(bench.root().join("record.versions.jsonl")).unwrap();
    let records: Vec<Value> = text.lines().flat_map(serde_json::from_str).collect();
    assert_eq!(records.len(), 1);
    works_in_the_project(&bench, &records);
}

/// COG-24, COG-26.
#[tokio::test(flavor = "multi_thread")]
async fn no_query_has_a_session() {
    let bench = TestSetup::new(anything());
    let runtime = bench.runtime();
    let answer = runtime.generate_text(text_request("Say hello.")).await;
    assert_eq!(answer.unwrap().text, "ok");
    let last = runtime.start_run(run_request("Work.")).finish().await;
    assert_eq!(last.result.as_deref(), Ok("ok"));
    let watched = [
        "--include-partial-messages",
        "--setting-sources",
        "--no-session-persistence",
        "--session-id",
        "--resume",
        "--continue",
        "--fork-session",
    ];
    let records = bench.records();
    let found: Vec<Vec<&str>> = records
        .iter()
        .map(|record| {
            let arguments = record["arguments"].as_array().unwrap().iter();
            let texts = arguments.filter_map(Value::as_str);
            let mut found: Vec<&str> = texts
                .filter(|text| watched.contains(&text.split('=').next().unwrap_or(text)))
                .collect();
            found.sort_unstable();
            found
        })
        .collect();
    let every = vec![
        "--include-partial-messages",
        "--no-session-persistence",
        "--setting-sources=",
    ];
    assert_eq!(found, vec![every; 2]);
}

/// COG-01, COG-02.
#[test]
fn the_adapter_depends_on_the_port_alone() {
    let manifest = include_str!("../../Cargo.toml");
    let section = manifest.split("[dependencies]\n").nth(1).unwrap();
    let lines = section.split("\n\n").next().unwrap().lines();
    let names: Vec<&str> = lines.map(|line| line.split('.').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "ktx-llm-runtime",
            "ktx-secrets",
            "ktx-tool-descriptors",
            "ktx-vocabulary",
            "async-trait",
            "jiff",
            "rustix",
            "serde_json",
            "sha2",
            "sysinfo",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "uuid",
        ]
    );
}

/// KTX-25.
#[tokio::test(flavor = "multi_thread")]
async fn the_child_works_in_the_project() {
    let mut bench = TestSetup::new(anything());
    bench.settings.project_dir = bench.root().join("not there");
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    let message = format!(
        "the project directory `{}` does not exist",
        bench.settings.project_dir.display()
    );
    assert_eq!(short(outcome), (LlmErrorKind::Process, message));
    assert_eq!(bench.records(), Vec::<Value>::new());
}

/// KTX-40, KTX-41, KTX-42, KTX-43.
#[tokio::test(flavor = "multi_thread")]
async fn no_variable_reaches_the_child_that_it_does_not_need() {
    let mut bench = TestSetup::new(anything());
    let canaries = canaries();
    assert_eq!(canaries.len(), 104);
    bench.settings.environment.extend(canaries);
    bench
        .settings
        .environment
        .insert("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), "own-login".to_owned());
    bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    let record = bench.records().remove(0);
    assert!(!record.to_string().contains("canary-"));
    let names: Vec<&String> = record["environment"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "CLAUDE_AGENT_SDK_CLIENT_APP",
            "CLAUDE_CODE_DISABLE_ATTACHMENTS",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "DISABLE_AUTO_COMPACT",
            "HOME",
            "KTX_CLAUDE_CHILD",
            "LC_KTX_FAKE_CLAUDE",
            "PATH",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_adds_variables_by_name() {
    let mut bench = TestSetup::new(anything());
    let planted = [("LIBRARY_DIR", "/opt/lib"), ("GITLAB_TOKEN", "canary-1")];
    for (name, value) in planted {
        bench
            .settings
            .environment
            .insert(name.to_owned(), value.to_owned());
    }
    bench.settings.added_variables = vec!["LIBRARY_DIR".to_owned(), "NOT_SET".to_owned()];
    let answer = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    answer.unwrap();
    let environment = bench.records().remove(0)["environment"].clone();
    assert_eq!(environment["LIBRARY_DIR"], "/opt/lib");
    assert_eq!(environment.get("NOT_SET"), None);
    assert_eq!(environment.get("GITLAB_TOKEN"), None);
    for name in [
        "ANTHROPIC_API_KEY",
        "AWS_PROFILE",
        "CLAUDE_CODE_USE_TOMORROW",
        "NODE_OPTIONS",
    ] {
        bench.settings.added_variables = vec![name.to_owned()];
        let events = std::sync::Arc::clone(&bench.event_log) as std::sync::Arc<dyn EventSink>;
        let refused = ClaudeCodeRuntime::new(bench.settings.clone(), events);
        let message = format!(
            "`llm.provider.environment` may not add `{name}`: it changes the account, the provider or the session of `claude`"
        );
        assert_eq!(short(refused), (LlmErrorKind::InvalidRequest, message));
    }
}

fn hook_error() -> Value {
    let hook = json!({
        "type": "system", "subtype": "hook_started", "hook_name": "SessionStart:startup",
        "hook_event": "SessionStart",
    });
    json!({ "before": [{ "raw": hook }, { "raw": hook }], "echo": {} })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_of_the_machine_is_a_warning() {
    let bench = TestSetup::new(hook_error());
    let runtime = bench.runtime();
    for _ in 0..2 {
        let answer = runtime.generate_text(text_request("Say hello.")).await;
        assert_eq!(answer.unwrap().text, "ok");
    }
    let warning = "a hook (`SessionStart`) from the Claude Code settings of this machine runs inside each call and may change what the model reads";
    let mut warnings = bench.events();
    warnings.retain(|event| matches!(event, RuntimeEvent::Warning(_)));
    assert_eq!(warnings, [RuntimeEvent::Warning(warning.to_owned())]);
    let report = runtime.probe(probe_request()).await.unwrap();
    assert_eq!(report.warnings, [warning]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_of_the_machine_is_refused_by_strict_isolation() {
    let mut bench = TestSetup::new(hook_error());
    bench.settings.isolation = Isolation::Strict;
    bench.settings.max_spares = 2;
    let runtime = bench.runtime();
    for _ in 0..4 {
        let failed = runtime.generate_text(text_request("Say hello.")).await;
        let message = "a hook (`SessionStart`) from the Claude Code settings of this machine runs inside the call; ktx discarded the answer";
        assert_eq!(short(failed), (LlmErrorKind::Isolation, message.to_owned()));
    }
    drop(runtime);
    until("no process remains", || bench.survivors().is_empty()).await;
    for record in bench.records() {
        assert_eq!(record["prompt"], Value::Null, "{record}");
    }
    let paid = |event: &RuntimeEvent| matches!(event, RuntimeEvent::Usage(_));
    assert!(!bench.events().iter().any(paid));
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_are_never_arguments() {
    let bench = TestSetup::new(anything());
    let prompt = "/clear @/etc/passwd --dangerous SECRET-PROMPT";
    let mut request = object_request(prompt);
    request.system = "SECRET-SYSTEM".to_owned();
    bench.runtime().generate_object(request).await.unwrap();
    let record = bench.records().remove(0);
    let arguments = record["arguments"].to_string();
    assert!(!arguments.contains("SECRET") && !arguments.contains("score"));
    assert_eq!(record["prompt"], prompt);
    assert_eq!(record["initialize"]["systemPrompt"], json!("SECRET-SYSTEM"));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_before_the_surface_is_refused() {
    let early = json!({
        "type": "assistant", "message": { "id": "m", "model": "x", "content": [{ "type": "text", "text": "BAD" }] },
    });
    let bench = TestSetup::new(json!({ "before": [{ "raw": early }, "hang"] }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(short(outcome).0, LlmErrorKind::Isolation);
}

/// KTX-32.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_built_in_plugin_is_reported_once() {
    let plugins =
        json!([{ "name": "cc-plugin-new", "path": "builtin", "source": "cc-plugin-new@builtin" }]);
    let bench = TestSetup::new(json!({ "init": { "plugins": plugins }, "echo": {} }));
    let runtime = bench.runtime();
    for _ in 0..2 {
        runtime
            .generate_text(text_request("Say hello."))
            .await
            .unwrap();
    }
    let warnings: Vec<RuntimeEvent> = bench
        .events()
        .into_iter()
        .filter(|event| matches!(event, RuntimeEvent::Warning(_)))
        .collect();
    let warning = "Claude Code keeps its built-in plugin `cc-plugin-new` on";
    assert_eq!(warnings, [RuntimeEvent::Warning(warning.to_owned())]);
}

/// KTX-28.
#[tokio::test(flavor = "multi_thread")]
async fn the_gate_stays_shut_for_everything_not_ours() {
    let foreign = [
        "Bash",
        "Skill",
        "Agent",
        "SlashCommand",
        "mcp__github__push",
        "mcp__ktx__nothing",
    ];
    let calls: Vec<Value> = foreign.iter().map(|name| json!({ "name": name })).collect();
    let mut steps = vec![json!({ "tools": calls })];
    for name in foreign.iter().chain(&["answer"]) {
        steps.push(json!({ "ask_permission": { "name": name, "input": { "key": "k" } } }));
    }
    steps.push(json!({ "text": "Nothing ran." }));
    let bench = TestSetup::new(json!({ "steps": steps }));
    let outcome = bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 3))
        .await;
    assert_eq!(outcome.error, None);
    let refused: Vec<(&str, bool)> = outcome
        .tools
        .iter()
        .map(|trace| (&*trace.name, trace.is_error))
        .collect();
    let expected: Vec<(&str, bool)> = [
        "Bash",
        "Skill",
        "Agent",
        "SlashCommand",
        "mcp__github__push",
        "nothing",
    ]
    .map(|name| (name, true))
    .to_vec();
    assert_eq!((refused, outcome.metrics.tool_failures), (expected, 6));
    let record = bench.records().remove(0);
    let allowed = &record["seen"].as_array().unwrap()[6];
    assert_eq!(
        allowed,
        &json!({ "permission": "mcp__ktx__answer", "behavior": "allow" })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_surface_is_reported() {
    let bench = TestSetup::new(one_call());
    bench
        .runtime()
        .run_agent_loop(loop_request("Work.", 3))
        .await;
    let verified = RuntimeEvent::IsolationVerified {
        version: "2.1.330".to_owned(),
    };
    assert_eq!(bench.events().first(), Some(&verified));
}

/// KTX-34.
#[test]
fn there_is_one_way_to_start_a_child() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    collect(&root, &mut sources);
    let holding = |words: &str| -> Vec<&str> {
        let found = sources.iter().filter(|(_, text)| text.contains(words));
        found.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(holding("Command::new("), ["process/launch.rs"]);
    assert_eq!(
        holding("launch::command("),
        ["process.rs", "process/version.rs"]
    );
    assert_eq!(holding("command.spawn()"), ["process.rs"]);
    assert_eq!(holding("spawn(settings, guard, &query)"), ["link.rs"]);
    assert_eq!(holding("Query::new("), ["exchange.rs"]);
    let (_, facade) = sources.iter().find(|(name, _)| name == "lib.rs").unwrap();
    let public: Vec<&str> = facade
        .lines()
        .filter(|line| line.starts_with("pub "))
        .collect();
    assert_eq!(
        public,
        [
            "pub use internal_guard::internal_guard;",
            "pub use process::sweep;",
            "pub use runtime::ClaudeCodeRuntime;",
            "pub use settings::{ClaudeCodeSettings, Isolation, KnownLimits, Launcher, Timeouts};",
        ]
    );
}

fn collect(folder: &std::path::Path, sources: &mut Vec<(String, String)>) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let entries = std::fs::read_dir(folder).expect("the sources are there");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, sources);
        } else if !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).expect("a source can be read");
            let name = path.strip_prefix(&root).expect("below the root");
            sources.push((name.display().to_string(), text));
        }
    }
    sources.sort();
}

/// KTX-82 is deferred: all versions understand one string.
#[tokio::test(flavor = "multi_thread")]
async fn the_system_prompt_is_one_text_without_a_mark() {
    let bench = TestSetup::new(anything());
    bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    let record = bench.records().remove(0);
    assert_eq!(record["initialize"]["systemPrompt"], "You are terse.");
    assert!(!record.to_string().contains("DYNAMIC_BOUNDARY"));
}

/// KTX-83.
#[tokio::test(flavor = "multi_thread")]
async fn the_probe_carries_the_whole_tuple() {
    let bench = TestSetup::new(anything());
    bench.runtime().probe(probe_request()).await.unwrap();
    let record = bench.records().remove(0);
    assert_eq!(record["ending"], "done");
    assert!(record["arguments"].to_string().contains("--max-turns=1"));
    assert_eq!(record["initialize"].get("sdkMcpServers"), None);
    assert_eq!(record["prompt"], "Say ok.");
}
