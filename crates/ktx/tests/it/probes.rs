//! Probes are paid: the ledger has them, and a budget can forbid them.

use ktx_test_support::loopback::{Answer, Loopback};
use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::claude::{CONFIG, REGIONS, play};
use crate::support::{check, commit, json as answer, run, unscanned, write};

pub(crate) fn project(provider: &Loopback) -> Sandbox {
    configured(unscanned(REGIONS), provider, "")
}

/// `more` are other keys of `llm`.
pub(crate) fn configured(mut sandbox: Sandbox, provider: &Loopback, more: &str) -> Sandbox {
    let llm = format!(
        "llm:\n  provider:\n    backend: anthropic\n    anthropic:\n      api_key: env:PLANTED\n      base_url: {}\n  models:\n    default: sonnet\n{more}ingest:\n  rateLimit:\n    retry:\n      maxAttempts: 1\n",
        provider.address()
    );
    let config = CONFIG.split("llm:").next().unwrap();
    write(&sandbox, "ktx.yaml", &format!("{config}{llm}"));
    commit(&sandbox, "a model");
    sandbox.set("PLANTED", "planted-key-0123456789");
    sandbox
}

pub(crate) fn provider() -> Loopback {
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

/// COG-12: without an id, a message is identified by its run.
#[test]
fn every_probe_is_a_row_of_the_ledger() {
    let provider = provider();
    let sandbox = project(&provider);
    let empty = |line| run(&sandbox, line).stderr;
    assert_eq!(
        empty("usage"),
        "Project: [SANDBOX]/work\nno usage is recorded yet\n"
    );
    assert_eq!(
        empty("usage --run nope"),
        "Project: [SANDBOX]/work\nno usage of a run `nope` is recorded; `ktx usage --by run` lists the runs\n"
    );
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

hint: run the same command again with a larger budget
hint: finished work is kept; `ktx ingest` continues from there
";

/// A larger budget continues.
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

/// KTX-03: without the program or login, at a limit, and after a crash.
#[test]
fn no_other_backend_steps_in() {
    let provider = provider();
    let limit = json!({ "steps": [{ "api_error": { "class": "rate_limit", "status": 429, "text": "no" } }] });
    let scenarios = [
        None,
        Some(json!({ "account": { "tokenSource": "none" } })),
        Some(limit),
        Some(json!({ "steps": [{ "exit": 3 }] })),
    ];
    for scenario in scenarios {
        let mut sandbox = unscanned(REGIONS);
        let others = format!(
            "    anthropic:\n      api_key: env:ANTHROPIC_API_KEY\n      base_url: {0}\n    gateway:\n      api_key: env:AI_GATEWAY_API_KEY\n      base_url: {0}\ningest:\n  rateLimit:\n    maxWaitMs: 1\n    retry:\n      maxAttempts: 1\n",
            provider.address()
        );
        write(&sandbox, "ktx.yaml", &format!("{CONFIG}{others}"));
        commit(&sandbox, "claude-code beside others");
        for name in ["ANTHROPIC_API_KEY", "AI_GATEWAY_API_KEY"] {
            sandbox.set(name, "planted-key-0123456789");
        }
        for name in ["ANTHROPIC_BASE_URL", "AI_GATEWAY_BASE_URL", "HTTPS_PROXY"] {
            sandbox.set(name, provider.address());
        }
        match &scenario {
            Some(scenario) => play(&mut sandbox, scenario.clone()),
            None => sandbox.set("KTX_CLAUDE_PATH", "/nowhere/claude"),
        }
        let before = crate::support::tree(&sandbox);
        for line in ["llm probe", "ingest", "status"] {
            let printed = run(&sandbox, line);
            assert_eq!(printed.code, Some(5), "{scenario:?}: ktx {line}: {printed}");
        }
        assert_eq!(crate::support::tree(&sandbox), before, "{scenario:?}");
    }
    assert_eq!(provider.requests().len(), 0);
}

#[test]
fn a_way_that_is_barred_says_what_to_check() {
    let gone = provider();
    let mut sandbox = project(&gone);
    drop(gone);
    check!(&sandbox, "llm probe", @r"
exit 5
--- stderr
Project: [SANDBOX]/work
error: the provider could not be reached

hint: check the network, the proxy, and `base_url` in `ktx.yaml` if it is set; then run the command again
");
    for (status, message, hint) in [
        (
            403,
            "the provider does not accept the key (HTTP 403)",
            "check the key; the answer is not JSON, so a proxy or a sign-in page may intercept `base_url`",
        ),
        (
            502,
            "the provider failed (HTTP 502)",
            "run the command again later; `--debug` shows what the provider said",
        ),
    ] {
        let page = Loopback::start(move |_, _| Answer::new(status, "text/html", "<html>no</html>"))
            .unwrap();
        let sandbox = project(&page);
        let expected = format!(
            "\nexit 5\n--- stderr\nProject: [SANDBOX]/work\nerror: {message}\n\nhint: {hint}\n"
        );
        check(&sandbox, "llm probe", &expected);
    }
    sandbox.unset("PLANTED");
    let status = answer_of_failed_status(&sandbox);
    assert_eq!(
        status["llm"]["detail"],
        json!(
            "`llm.provider.anthropic.api_key` has no value: environment variable `PLANTED` is not set"
        ),
        "{status}"
    );
}

fn answer_of_failed_status(sandbox: &Sandbox) -> serde_json::Value {
    let printed = run(sandbox, "status --json");
    assert_eq!(printed.code, Some(5), "{printed}");
    serde_json::from_str(&printed.stdout).unwrap()
}
