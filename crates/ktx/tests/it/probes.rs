//! Probes are paid calls: each is a row of the ledger, and none is made that a budget forbids.

use ktx_test_support::loopback::{Answer, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::claude::{CONFIG, REGIONS, play};
use crate::support::{check, commit, json as answer, run, unscanned, write};

/// A project with this Messages API as its backend.
fn project(provider: &Loopback) -> Sandbox {
    let mut sandbox = unscanned(REGIONS);
    let llm = format!(
        "llm:\n  provider:\n    backend: anthropic\n    anthropic:\n      api_key: env:PLANTED\n      base_url: {}\n  models:\n    default: sonnet\n",
        provider.address()
    );
    let config = CONFIG.split("llm:").next().unwrap();
    write(&sandbox, "ktx.yaml", &format!("{config}{llm}"));
    commit(&sandbox, "a model");
    sandbox.set("PLANTED", "planted-key-0123456789");
    sandbox
}

/// An API that gives its messages no ids.
fn provider() -> Loopback {
    Loopback::start(|request, _| {
        let message = json!({
            "type": "message", "role": "assistant", "model": request.json()["model"],
            "stop_reason": "end_turn", "content": [{ "type": "text", "text": "ok" }],
            "usage": { "input_tokens": 100, "output_tokens": 20 },
        });
        Answer::json(200, &message)
    })
    .expect("a provider")
}

/// COG-12: a message without an id is told apart by its run, and each command is a run of its own.
#[test]
fn every_probe_is_a_row_of_the_ledger() {
    let provider = provider();
    let sandbox = project(&provider);
    let rows = || answer(&sandbox, "usage --json")["data"]["total"]["messages"].clone();
    for (line, expected) in [
        ("llm probe", 1),
        ("llm probe", 2),
        ("status", 3),
        ("setup", 4),
    ] {
        let printed = run(&sandbox, line);
        assert!(matches!(printed.code, Some(0 | 7)), "{line}: {printed}");
        assert_eq!(rows(), json!(expected), "{line}: {printed}");
    }
    assert_eq!(provider.requests().len(), 4);
    let stages = answer(&sandbox, "usage --by stage --json");
    assert!(stages.to_string().contains("\"probe\""), "{stages}");
}

const REFUSED: &str = r"
exit 7
--- stderr
Project: [SANDBOX]/work
error: the next model call would exceed the budget: 0 of 10 tokens are used

hint: run the same command again with a larger budget: what is finished is kept
";

/// A probe that the budget forbids is not made: the same command with a larger budget goes on.
#[test]
fn a_probe_is_held_to_the_budget() {
    let provider = provider();
    let sandbox = project(&provider);
    check(&sandbox, "ingest --max-tokens 10", REFUSED);
    assert_eq!(provider.requests().len(), 0);

    let mut sandbox = unscanned(REGIONS);
    write(&sandbox, "ktx.yaml", CONFIG);
    commit(&sandbox, "claude-code");
    play(&mut sandbox, json!({ "echo": {} }));
    check(&sandbox, "ingest --max-tokens 10", REFUSED);
    assert!(!sandbox.home().join("record.jsonl").exists());
}
