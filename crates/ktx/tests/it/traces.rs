//! Logs and traces at a loopback collector.

use ktx_test_support::loopback::{Answer, Loopback};
use ktx_test_support::otlp::{Collector, SeenSpan};
use ktx_test_support::sandbox::{RunOutput, Sandbox};
use serde_json::{Value, json};

use crate::claude::play;
use crate::support::{commit, run, unscanned, write};

const REGIONS: &str = "
CREATE TABLE regions (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO regions VALUES (1, 'North'), (2, 'South');
";

const KEY: &str = "planted-key-0123456789";

fn description() -> Value {
    json!({
        "tableDescription": "A sales region.",
        "columns": [
            { "name": "id", "description": "The key." },
            { "name": "name", "description": "What the region is called." },
        ],
    })
}

fn project(llm: &str) -> Sandbox {
    let sandbox = unscanned(REGIONS);
    let config = format!(
        "connections:\n  warehouse:\n    driver: sqlite\n    path: warehouse.db\nllm:\n{llm}"
    );
    write(&sandbox, "ktx.yaml", &config);
    commit(&sandbox, "a model");
    sandbox
}

fn claude() -> Sandbox {
    let mut sandbox = project("  provider:\n    backend: claude-code\n");
    let scenario = json!({
        "steps": [{ "text": "ok" }],
        "when": [{ "prompt_contains": "table: regions", "steps": [{ "object": description() }] }],
    });
    play(&mut sandbox, scenario);
    sandbox
}

/// Describes regions; else answers `ok`.
fn provider() -> Loopback {
    Loopback::start(|request, number| {
        let asked = request.json();
        let describes = asked.to_string().contains("table: regions");
        let text = if describes {
            description().to_string()
        } else {
            "ok".to_owned()
        };
        let message = json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": asked["model"], "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": text }],
            "usage": { "input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 7 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider")
}

fn http(provider: &Loopback) -> Sandbox {
    let mut sandbox = project(&format!(
        "  provider:\n    backend: anthropic\n    anthropic:\n      api_key: env:PLANTED\n      base_url: {}\n  models:\n    default: sonnet\n",
        provider.address()
    ));
    sandbox.set("PLANTED", KEY);
    sandbox
}

fn exporting(sandbox: &mut Sandbox, collector: &Collector) {
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address());
    sandbox.set(
        "OTEL_EXPORTER_OTLP_HEADERS",
        "x-collector-key=planted%2Dheader%2Dvalue",
    );
    sandbox.set("OTEL_SERVICE_NAME", "nightly");
}

fn succeeds(sandbox: &Sandbox, line: &str) -> RunOutput {
    let printed = run(sandbox, line);
    assert_eq!(printed.code, Some(0), "`ktx {line}`: {printed}");
    printed
}

/// Name, kind and attributes, indented below the parent.
fn outline(spans: &[SeenSpan]) -> Vec<String> {
    let depth = |span: &SeenSpan| {
        let mut depth = 0;
        let mut above = span.parent.clone();
        while let Some(id) = above {
            depth += 1;
            above = spans
                .iter()
                .find(|other| other.id == id)
                .and_then(|other| other.parent.clone());
        }
        depth
    };
    spans
        .iter()
        .map(|span| {
            let text = |name: &str| {
                let value = span.attributes.get(name).cloned().unwrap_or_default();
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            };
            format!(
                "{:>width$}{} kind {} {} {} in {} out {} stage {} role {} connection {}",
                "",
                span.name,
                span.kind,
                text("gen_ai.operation.name"),
                text("gen_ai.provider.name"),
                text("gen_ai.usage.input_tokens"),
                text("gen_ai.usage.output_tokens"),
                text("ktx.stage"),
                text("ktx.role"),
                text("ktx.connection"),
                width = depth(span)
            )
        })
        .collect()
}

/// COG-23, COG-27.
#[test]
fn an_ingest_with_claude_is_one_trace() {
    let mut sandbox = claude();
    let collector = Collector::start().unwrap();
    exporting(&mut sandbox, &collector);
    succeeds(&sandbox, "ingest");
    let spans = collector.spans().unwrap();
    assert_eq!(
        outline(&spans),
        [
            "ktx ingest kind 1 invoke_workflow anthropic in 274 out 40 stage null role null connection null",
            " chat sonnet kind 3 chat anthropic in 137 out 20 stage probe role default connection null",
            " chat sonnet kind 3 chat anthropic in 137 out 20 stage descriptions role candidateExtraction connection warehouse",
        ]
    );
    let run = &spans[0].attributes;
    assert_eq!(
        (&run["ktx.backend"], &run["ktx.calls"], &run["ktx.messages"]),
        (&json!("claude-code"), &json!(2), &json!(2))
    );
    assert_eq!(
        run["ktx.run_id"].as_str().map(|id| id.replace('-', "")),
        Some(spans[0].trace.clone()),
        "the trace has the id of the run"
    );
    assert_eq!(collector.resource()["service.name"], json!("nightly"));
    let sent = collector.requests();
    assert!(
        sent.iter()
            .all(|post| post.headers["x-collector-key"] == "planted-header-value")
    );
    let bodies = bodies(&collector);
    for words in [
        "A sales region",
        "table: regions",
        "North",
        "planted-header-value",
    ] {
        assert!(!bodies.contains(words), "`{words}` left the machine");
    }
}

#[test]
fn an_ingest_over_http_is_one_trace_with_its_cost() {
    let provider = provider();
    let mut sandbox = http(&provider);
    let collector = Collector::start().unwrap();
    exporting(&mut sandbox, &collector);
    succeeds(&sandbox, "ingest");
    let spans = collector.spans().unwrap();
    assert_eq!(
        outline(&spans),
        [
            "ktx ingest kind 1 invoke_workflow anthropic in 214 out 40 stage null role null connection null",
            " chat claude-sonnet-5-5 kind 3 chat anthropic in 107 out 20 stage probe role default connection null",
            " chat claude-sonnet-5-5 kind 3 chat anthropic in 107 out 20 stage descriptions role candidateExtraction connection warehouse",
        ]
    );
    let call = &spans[2].attributes;
    assert_eq!(
        (
            &call["gen_ai.request.model"],
            &call["gen_ai.response.model"],
            &call["gen_ai.response.id"],
            &call["gen_ai.usage.cache_read.input_tokens"],
            &call["gen_ai.output.type"],
        ),
        (
            &json!("claude-sonnet-5-5"),
            &json!("claude-sonnet-5-5"),
            &json!("msg_1"),
            &json!(7),
            &json!("json"),
        )
    );
    // 100 × 2 + 7 × 0.1 + 20 × 10 dollars per million.
    assert_eq!(call["ktx.cost_usd"], json!(0.000_400_7));
    let bodies = bodies(&collector);
    for words in ["A sales region", "table: regions", "North", KEY] {
        assert!(!bodies.contains(words), "`{words}` left the machine");
    }
}

#[test]
fn the_first_probe_of_a_demo_is_traced() {
    let mut sandbox = crate::support::sandbox();
    play(&mut sandbox, json!({ "echo": {} }));
    let collector = Collector::start().unwrap();
    exporting(&mut sandbox, &collector);
    succeeds(&sandbox, "demo --backend claude-code");
    let outline = outline(&collector.spans().unwrap());
    let probes: Vec<&String> = outline
        .iter()
        .filter(|line| line.contains("stage probe"))
        .collect();
    let probe =
        " chat sonnet kind 3 chat anthropic in 137 out 20 stage probe role default connection null";
    assert_eq!(probes, [probe, probe], "{outline:#?}");
}

fn bodies(collector: &Collector) -> String {
    collector
        .requests()
        .iter()
        .map(|post| String::from_utf8_lossy(&post.body).into_owned())
        .collect()
}

#[test]
fn content_is_captured_only_when_asked_for_and_without_secrets() {
    let mut sandbox = claude();
    let collector = Collector::start().unwrap();
    exporting(&mut sandbox, &collector);
    sandbox.set("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
    let planted = "INSERT INTO regions VALUES (3, 'token sk-planted-0123456789abcdef');";
    crate::support::database(&sandbox, "warehouse.db", planted);
    succeeds(&sandbox, "ingest");
    collector.spans().unwrap();
    let bodies = bodies(&collector);
    assert!(bodies.contains("A sales region"), "{bodies}");
    assert!(bodies.contains("table: regions"), "{bodies}");
    assert!(!bodies.contains("sk-planted"), "{bodies}");
}

#[test]
fn nothing_is_sent_without_the_variables_or_without_a_model_call() {
    let mut sandbox = claude();
    let collector = Collector::start().unwrap();
    succeeds(&sandbox, "ingest");
    assert_eq!(collector.requests(), []);
    exporting(&mut sandbox, &collector);
    for line in [
        "status --fast",
        "sl",
        "wiki",
        "connection list",
        "usage",
        "scan",
    ] {
        succeeds(&sandbox, line);
    }
    assert_eq!(collector.requests(), []);
    sandbox.set("OTEL_SDK_DISABLED", "true");
    succeeds(&sandbox, "status");
    assert_eq!(collector.requests(), []);
    sandbox.unset("OTEL_SDK_DISABLED");
    succeeds(&sandbox, "status");
    assert_eq!(collector.spans().unwrap().len(), 2);
}

#[test]
fn a_collector_that_fails_fails_no_command() {
    let mut sandbox = claude();
    let gone = Loopback::start(|_, _| Answer::default()).unwrap();
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", gone.address());
    drop(gone);
    let printed = succeeds(&sandbox, "status");
    assert!(
        printed
            .stderr
            .contains("traces were not exported in full: the collector: it could not be reached"),
        "{printed}"
    );
    let refusing = Loopback::start(|_, _| Answer::json(401, &json!({}))).unwrap();
    sandbox.set("OTEL_EXPORTER_OTLP_ENDPOINT", refusing.address());
    let printed = succeeds(&sandbox, "status --json");
    assert!(
        printed
            .stderr
            .contains("the collector answers with HTTP 401"),
        "{printed}"
    );
    serde_json::from_str::<Value>(&printed.stdout).unwrap();
    sandbox.set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let printed = succeeds(&sandbox, "status");
    assert!(
        printed
            .stderr
            .contains("traces are not exported: ktx speaks `http/json`, not `grpc`"),
        "{printed}"
    );
    assert_eq!(refusing.requests().len(), 1);
}

#[test]
fn the_steps_of_a_scan_are_logged() {
    let mut sandbox = crate::support::shop();
    sandbox.set("KTX_LOG", "ktx_scan=debug,warn");
    let printed = crate::support::run(&sandbox, "scan --structural");
    assert!(
        printed
            .stderr
            .contains("DEBUG ktx_scan::ports: scan event=StageStarted { stage: Structure"),
        "{printed}"
    );
}

/// `KTX_LOG` and `KTX_LOG_FORMAT`; stdout is unchanged.
#[test]
fn log_lines_are_json_on_stderr_when_asked_for() {
    let mut sandbox = claude();
    let quiet = succeeds(&sandbox, "status");
    assert_eq!(quiet.stderr, "");
    sandbox.set("KTX_LOG", "info");
    sandbox.set("KTX_LOG_FORMAT", "json");
    let printed = succeeds(&sandbox, "status");
    let lines: Vec<Value> = printed
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let paid = lines
        .iter()
        .find(|line| line["fields"]["message"] == "a message was paid for")
        .unwrap();
    assert_eq!(
        (
            &paid["level"],
            &paid["target"],
            &paid["fields"]["gen_ai.usage.output_tokens"]
        ),
        (&json!("INFO"), &json!("ktx::usage"), &json!(20))
    );
    let spans: Vec<&str> = paid["spans"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|span| span["name"].as_str())
        .collect();
    assert_eq!(spans, ["run", "call"]);
    sandbox.set("KTX_LOG_FORMAT", "xml");
    let printed = succeeds(&sandbox, "status");
    assert!(
        printed
            .stderr
            .contains("`KTX_LOG_FORMAT` is `xml`, not `text` or `json`; text is written"),
        "{printed}"
    );
}

/// Includes local state.
fn everything(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&everything(&path));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    text
}

/// COG-19: in no output, log, span or file.
#[test]
fn a_repeated_key_stands_nowhere() {
    for status in [400, 401, 429, 500] {
        let echoing = Loopback::start(move |request, _| {
            let key = request.headers.get("x-api-key").cloned().unwrap_or_default();
            let error = json!({ "type": "error", "error": { "type": key, "message": format!("{key} is wrong") } });
            Answer::json(status, &error).header("x-echo", &key).header("retry-after-ms", "1")
        })
        .unwrap();
        let mut sandbox = http(&echoing);
        let collector = Collector::start().unwrap();
        exporting(&mut sandbox, &collector);
        sandbox.set("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
        sandbox.set("KTX_LOG", "trace");
        write(
            &sandbox,
            "ktx.yaml",
            &format!(
                "{}ingest:\n  rateLimit:\n    retry:\n      maxAttempts: 2\n      baseDelayMs: 1\n",
                sandbox.read("ktx.yaml").unwrap()
            ),
        );
        for line in ["ingest --debug", "ingest --json --debug"] {
            let printed = run(&sandbox, line);
            assert_eq!(printed.code, Some(5), "{status}: {printed}");
            assert!(
                echoing.requests().last().unwrap().headers["x-api-key"] == KEY,
                "the key was sent"
            );
            assert!(!printed.to_string().contains(KEY), "{status}: {printed}");
        }
        assert!(!bodies(&collector).contains(KEY), "{status}: in a span");
        let spans = collector.spans().unwrap();
        assert!(spans.iter().any(|span| span.failure.is_some()), "{status}");
        assert!(
            !everything(&sandbox.work()).contains(KEY),
            "{status}: in a file"
        );
    }
}

/// `ingest.rateLimit`: the next command sends nothing.
#[test]
fn a_limit_is_remembered_by_the_next_command() {
    let full = Loopback::start(|_, _| {
        let error =
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "full" } });
        Answer::json(429, &error).header("retry-after", "3600")
    })
    .unwrap();
    let sandbox = http(&full);
    let config = sandbox.read("ktx.yaml").unwrap();
    write(
        &sandbox,
        "ktx.yaml",
        &format!("{config}ingest:\n  rateLimit:\n    maxWaitMs: 1000\n"),
    );
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(5), "{printed}");
    let held = "error: the provider refuses calls until 2";
    assert!(printed.stderr.contains(held), "{printed}");
    assert!(printed.stderr.contains("(limit of requests)"), "{printed}");
    assert_eq!(full.requests().len(), 1);
    let status = crate::support::json(&sandbox, "status --fast --json");
    let limit = &status["llm"]["rateLimit"];
    assert_eq!(
        (&limit["window"], &limit["standing"]),
        (&json!("limit of requests"), &json!("refused")),
        "{limit}"
    );
    assert!(limit["resetsAt"].is_string());
    let printed = run(&sandbox, "status --fast");
    assert!(
        printed
            .stdout
            .contains("limit: limit of requests: calls are refused, until "),
        "{printed}"
    );
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(5), "{printed}");
    assert!(printed.stderr.contains(held), "{printed}");
    assert_eq!(
        full.requests().len(),
        1,
        "nobody was asked before the limit ends"
    );
}

/// KTX-05: byte for byte.
#[test]
fn backends_make_the_same_files() {
    let provider = provider();
    let files = [http(&provider), claude()].map(|sandbox| {
        succeeds(&sandbox, "ingest");
        sandbox
            .read("semantic-layer/warehouse/_schema/public.yaml")
            .unwrap()
    });
    assert_eq!(files[0], files[1]);
    assert!(files[0].contains("ai: A sales region."), "{}", files[0]);
}
