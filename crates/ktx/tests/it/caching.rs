//! `llm.promptCaching` for APIs and the local Claude Code session.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{CONFIG, REGIONS, play};
use crate::support::{check, commit, json as json_of, run, unscanned, write};

const DEFAULTS: &str = "  promptCaching:
    enabled: true
    cacheSystem: true
    cacheTools: true
    cacheHistory: true
    systemTtl: 1h
    toolsTtl: 1h
    historyTtl: 5m
    vertexFallbackTo5m: false
";

/// `enabled` keeps its default.
const CHANGED: &str = "  promptCaching:
    enabled: true
    cacheSystem: false
    cacheTools: false
    cacheHistory: false
    systemTtl: 5m
    toolsTtl: 1h
    historyTtl: 1h
    vertexFallbackTo5m: true
";

fn local(caching: &str) -> Sandbox {
    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", &format!("{CONFIG}{caching}"));
    commit(&sandbox, "claude-code");
    play(&mut sandbox, json!({ "steps": [{ "text": "ok" }] }));
    sandbox
}

/// KTX-81.
#[test]
fn changed_fields_are_reported_as_ignored() {
    let sandbox = local(CHANGED);
    let status = r"
exit 0
Project      [SANDBOX]/work
Verdict      ready (everything works)
Config       ✓ valid
Model        ✓ claude-code · usable
             executable: [BIN]/fake-claude
             version: 2.1.330
             model: sonnet (fake-sonnet)
             paid by: your Claude Max subscription through the local Claude Code session
Connections  ✓ warehouse (sqlite) · configured
Can          query yes · scan yes · search yes · serve yes · ingest yes
Local data   warehouse: 0 source files, 0 manifest shards
Warning      the local Claude Code session decides on caching itself; ignored: llm.promptCaching.cacheSystem, llm.promptCaching.cacheTools, llm.promptCaching.cacheHistory, llm.promptCaching.systemTtl, llm.promptCaching.historyTtl, llm.promptCaching.vertexFallbackTo5m
             hint: remove the fields, or use an HTTP backend
Next         run `ktx ingest`, or attach an agent with `ktx mcp stdio`
";
    check(&sandbox, "status", status);
    check(&sandbox, "doctor", status);
    check!(&sandbox, "setup --skip-agents", @r"
exit 0
project   ready    [SANDBOX]/work
model     ready    claude-code: one turn was answered
                   executable: [BIN]/fake-claude
                   version: 2.1.330
                   model: sonnet (fake-sonnet)
                   paid by: your Claude Max subscription through the local Claude Code session
                   warning: the local Claude Code session decides on caching itself; ignored: llm.promptCaching.cacheSystem, llm.promptCaching.cacheTools, llm.promptCaching.cacheHistory, llm.promptCaching.systemTtl, llm.promptCaching.historyTtl, llm.promptCaching.vertexFallbackTo5m
database  ready    warehouse: reached
agents    skipped  none was named
next: run `ktx status` to see what works
");
    check!(&sandbox, "llm probe", @r"
exit 0
claude-code: usable; paid by your Claude Max subscription through the local Claude Code session
executable: [BIN]/fake-claude
version: 2.1.330
model: sonnet (fake-sonnet)
paid by: your Claude Max subscription through the local Claude Code session
--- stderr
Project: [SANDBOX]/work
warning: `llm.promptCaching.cacheSystem` is ignored by this backend
warning: `llm.promptCaching.cacheTools` is ignored by this backend
warning: `llm.promptCaching.cacheHistory` is ignored by this backend
warning: `llm.promptCaching.systemTtl` is ignored by this backend
warning: `llm.promptCaching.historyTtl` is ignored by this backend
warning: `llm.promptCaching.vertexFallbackTo5m` is ignored by this backend
");
}

/// KTX-81.
#[test]
fn written_defaults_are_not_reported() {
    let plain = local("");
    let written = local(DEFAULTS);
    for line in ["status", "doctor", "setup --skip-agents", "llm probe"] {
        let (plain, written) = (run(&plain, line), run(&written, line));
        assert_eq!(written, plain, "{line}");
        assert!(!written.to_string().contains("promptCaching"), "{written}");
        assert_eq!(written.code, Some(0), "{written}");
    }
    let answer = json_of(&written, "status --json");
    assert_eq!(answer["warnings"], json!([]));
    let answer = json_of(&written, "llm probe --json");
    assert_eq!(answer["ignoredFields"], json!([]));
}

fn provider() -> Loopback {
    Loopback::start(|request, _| {
        let text = json!({ "tableDescription": "A table.", "columns": [] }).to_string();
        let message = json!({
            "id": "m1", "type": "message", "role": "assistant", "model": request.json()["model"],
            "stop_reason": "end_turn", "content": [{ "type": "text", "text": text }],
            "usage": { "input_tokens": 100, "output_tokens": 20 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider")
}

fn marker(caching: &str) -> Value {
    let provider = provider();
    let columns: Vec<String> = (0..120)
        .map(|number| format!("a_column_of_the_wide_table_{number} TEXT"))
        .collect();
    let sandbox = unscanned(&format!("CREATE TABLE wide ({});", columns.join(", ")));
    let sandbox = crate::probes::configured(sandbox, &provider, caching);
    let printed = run(&sandbox, "ingest");
    assert_eq!(printed.code, Some(0), "{printed}");
    let validated = run(&sandbox, "status --validate");
    assert_eq!(validated.stderr, "", "{validated}");
    let asked: Vec<Value> = provider
        .requests()
        .iter()
        .map(Request::json)
        .filter(|body| body.to_string().contains("a_column_of_the_wide_table_0"))
        .collect();
    asked[0]["messages"][0]["content"][0]["cache_control"].clone()
}

/// KTX-80: fields of KTX 0.12.
#[test]
fn the_switches_reach_the_api() {
    assert_eq!(marker(""), json!({ "type": "ephemeral" }));
    assert_eq!(marker(DEFAULTS), json!({ "type": "ephemeral" }));
    let hour = "  promptCaching: { historyTtl: 1h, cacheTools: false, cacheSystem: false }\n";
    assert_eq!(marker(hour), json!({ "type": "ephemeral", "ttl": "1h" }));
    assert_eq!(
        marker("  promptCaching: { cacheHistory: false }\n"),
        Value::Null
    );
    assert_eq!(marker("  promptCaching: { enabled: false }\n"), Value::Null);
}
