//! Variables and administrator hooks of the local Claude Code session.

use ktx_test_support::fake_claude::CANARIES;
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::{CONFIG, REGIONS, play, processes};
use crate::support::{commit, json as answer, run, unscanned, write};

fn project(provider: &str, scenario: Value) -> Sandbox {
    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", &format!("{CONFIG}{provider}"));
    commit(&sandbox, "claude-code");
    play(&mut sandbox, scenario);
    sandbox
}

fn environments(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.home().join("record.jsonl")).unwrap();
    let records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    records
        .map(|record| record["environment"].clone())
        .collect()
}

/// KTX-40…43.
#[test]
fn claude_is_given_what_it_needs_and_nothing_else() {
    let provider = "    environment: [PROXY_LIBRARY, NOT_SET]\n";
    let mut sandbox = project(provider, json!({ "steps": [{ "text": "ok" }] }));
    for name in CANARIES {
        // ktx reads these itself.
        if !["KTX_PROJECT_DIR", "OTEL_EXPORTER_OTLP_ENDPOINT"].contains(name) {
            sandbox.set(name, format!("canary-{name}"));
        }
    }
    sandbox.set("PROXY_LIBRARY", "/opt/proxy.so");
    sandbox.set("LANG", "de_DE.UTF-8");
    sandbox.set("https_proxy", "http://127.0.0.1:9");
    let printed = run(&sandbox, "llm probe");
    assert_eq!(printed.code, Some(0), "{printed}");
    let environment = environments(&sandbox).remove(0);
    assert!(
        !environment.to_string().contains("canary-"),
        "{environment}"
    );
    let names: Vec<&String> = environment.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "CLAUDE_AGENT_SDK_CLIENT_APP",
            "CLAUDE_CODE_DISABLE_ATTACHMENTS",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK",
            "DISABLE_AUTO_COMPACT",
            "HOME",
            "KTX_CLAUDE_CHILD",
            "LANG",
            "LC_KTX_FAKE_CLAUDE",
            "PATH",
            "PROXY_LIBRARY",
            "TZ",
            "https_proxy",
        ]
    );
}

/// KTX-44.
#[test]
fn a_project_cannot_add_a_variable_that_chooses_the_account() {
    let provider = "    environment: [ANTHROPIC_API_KEY]\n";
    let sandbox = project(provider, json!({ "steps": [{ "text": "ok" }] }));
    check!(&sandbox, "llm probe", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: `llm.provider.environment` may not add `ANTHROPIC_API_KEY`: it changes the account, the provider or the session of `claude`

hint: remove it from `llm.provider.environment` in ktx.yaml
");
    assert_eq!(processes(&sandbox), 0);
}

fn hooked() -> Value {
    let hook = json!({
        "type": "system", "subtype": "hook_started", "hook_name": "SessionStart:startup",
        "hook_event": "SessionStart",
    });
    json!({ "before": [{ "raw": hook }], "steps": [{ "text": "ok" }] })
}

#[test]
fn a_hook_of_the_machine_is_told() {
    let sandbox = project("", hooked());
    let warning = "a hook (`SessionStart`) from the Claude Code settings of this machine runs inside each call and may change what the model reads";
    let status = answer(&sandbox, "status --json");
    assert_eq!(status["llm"]["warnings"], json!([warning]));
    let shown = run(&sandbox, "status").stdout;
    assert!(shown.contains(warning), "{shown}");
    let told = run(&sandbox, "ingest").stderr;
    assert_eq!(
        told.matches(&format!("warning: {warning}\n")).count(),
        1,
        "{told}"
    );
}

#[test]
fn a_hook_of_the_machine_is_refused_where_isolation_is_strict() {
    let sandbox = project("    isolation: strict\n", hooked());
    check!(&sandbox, "llm probe", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: a hook (`SessionStart`) from the Claude Code settings of this machine runs inside the call; ktx discarded the answer

hint: ask the administrator to remove the hook from the managed settings of Claude Code, or set `llm.provider.isolation` to `warn`
");
    let printed = run(&sandbox, "status --json");
    assert_eq!(printed.code, Some(5), "{printed}");
    let status: serde_json::Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(status["llm"]["code"], json!("llm_isolation"));
    let usage = answer(&sandbox, "usage --json");
    assert_eq!(usage["data"]["total"]["messages"], json!(0));
}
