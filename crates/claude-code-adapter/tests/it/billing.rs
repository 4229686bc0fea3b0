//! The billing guard: a prompt is sent only for the user's own session (KTX-03, KTX-44, KTX-84).

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _, RuntimeEvent};
use serde_json::{Value, json};

use crate::support::{
    TestSetup, loop_request, object_request, probe_request, short, text_request, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn no_prompt_leaves_for_a_foreign_account() {
    let key = "Claude Code would bill an API key instead of your local session";
    let provider =
        "Claude Code would send the prompt to another provider than your local session's";
    let login = "Claude Code is not usable with your local session";
    let accounts = [
        (
            json!({ "tokenSource": "none", "apiProvider": "firstParty" }),
            LlmErrorKind::Auth,
            login,
        ),
        (
            json!({ "tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY" }),
            LlmErrorKind::Billing,
            key,
        ),
        (
            json!({ "tokenSource": "apiKeyHelper", "apiKeySource": "apiKeyHelper" }),
            LlmErrorKind::Billing,
            key,
        ),
        (
            json!({ "email": "dev@example.com", "apiProvider": "bedrock" }),
            LlmErrorKind::Billing,
            provider,
        ),
    ];
    for (account, kind, message) in accounts {
        let bench = counted(json!({ "account": account, "steps": [{ "text": "BAD" }] }));
        let runtime = bench.runtime();
        let expected = (kind, message.to_owned());
        assert_eq!(
            short(runtime.generate_text(text_request("SECRET")).await),
            expected
        );
        assert_eq!(
            short(runtime.generate_object(object_request("SECRET")).await),
            expected
        );
        let outcome = runtime.run_agent_loop(loop_request("SECRET", 3)).await;
        assert_eq!(
            outcome.error.map(|error| (error.kind, error.message)),
            Some(expected.clone())
        );
        assert_eq!(short(runtime.probe(probe_request()).await), expected);
        assert_eq!(seen(&bench), (4, 0, 0), "four processes, no prompt");
        assert_eq!(bench.survivors(), Vec::<u32>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_is_billed_by_the_call_causes_a_warning() {
    let account = json!({ "tokenSource": "none", "apiKeySource": "/login managed key" });
    let bench = TestSetup::new(json!({ "account": account, "echo": {} }));
    let warning = "Claude Code is logged in with an Anthropic Console account: its calls are billed at API prices";
    let runtime = bench.runtime();
    let report = runtime.probe(probe_request()).await.unwrap();
    assert_eq!(report.warnings, [warning]);
    runtime.generate_text(text_request("Go.")).await.unwrap();
    let warnings = bench.events().into_iter().filter_map(|event| match event {
        RuntimeEvent::Warning(text) => Some(text),
        _ => None,
    });
    assert_eq!(warnings.collect::<Vec<_>>(), [warning]);
}

fn counted(mut scenario: Value) -> TestSetup {
    let bench = TestSetup::new(json!({}));
    let account = json!({ "file": bench.root().join("account.json") });
    let record = json!(bench.root().join("record.jsonl"));
    match scenario.get_mut("sequence").and_then(Value::as_array_mut) {
        Some(processes) => {
            for process in processes {
                process["shared_account"] = account.clone();
            }
        }
        None => scenario["shared_account"] = account,
    }
    scenario["record"] = record;
    std::fs::write(bench.root().join("scenario.json"), scenario.to_string()).unwrap();
    bench
}

fn seen(bench: &TestSetup) -> (u64, u64, u64) {
    let text = std::fs::read_to_string(bench.root().join("account.json")).unwrap();
    let state: Value = serde_json::from_str(&text).unwrap();
    let count = |key: &str| state[key].as_u64().unwrap();
    (count("starts"), count("served"), count("refused"))
}

/// Three processes, one prompt.
#[tokio::test(flavor = "multi_thread")]
async fn a_spare_of_a_foreign_account_is_started_once() {
    let foreign = json!({ "account": { "apiKeySource": "ANTHROPIC_API_KEY" } });
    let mut bench = counted(json!({ "sequence": [{ "echo": {} }, foreign] }));
    bench.settings.max_spares = 2;
    let runtime = bench.runtime();
    runtime.generate_text(text_request("First.")).await.unwrap();
    until("the spare was started and ended", || {
        seen(&bench).0 == 2 && bench.survivors().is_empty() && bench.notes() == 0
    })
    .await;
    let outcome = runtime.generate_text(text_request("Second.")).await;
    let message = "Claude Code would bill an API key instead of your local session";
    assert_eq!(short(outcome), (LlmErrorKind::Billing, message.to_owned()));
    drop(runtime);
    assert_eq!(seen(&bench), (3, 1, 0));
    assert_eq!((bench.survivors(), bench.notes()), (Vec::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_surface_is_refused() {
    let bench = TestSetup::new(json!({
        "init": { "apiKeySource": "ANTHROPIC_API_KEY" }, "steps": ["hang"],
    }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(short(outcome).0, LlmErrorKind::Billing);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payer_is_the_account() {
    let bench = TestSetup::new(json!({
        "account": { "email": "dev@example.com", "subscriptionType": "Claude Pro" }, "echo": {},
    }));
    let runtime = bench.runtime();
    let before = "your Claude subscription through the local Claude Code session";
    assert_eq!(runtime.describe().payer, before);
    runtime
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    let after = "your Claude Pro subscription through the local Claude Code session";
    assert_eq!(runtime.describe().payer, after);
}
