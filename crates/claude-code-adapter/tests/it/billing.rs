//! The billing guard: the prompt leaves only for the user's own session (KTX-03, KTX-44, KTX-84).

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _};
use serde_json::{Value, json};

use crate::support::{Bench, loop_request, object_request, short, text_request};

/// Accounts that may not pay: the child is killed before the prompt is written.
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
        let bench = Bench::new(json!({ "account": account, "steps": [{ "text": "BAD" }] }));
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
        assert_eq!(short(runtime.probe().await), expected);
        assert!(
            bench
                .records()
                .iter()
                .all(|record| record["prompt"] == Value::Null)
        );
        assert_eq!(bench.survivors(), Vec::<u32>::new());
    }
}

/// A key that shows only in the surface ends the call before any output.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_surface_is_refused() {
    let bench = Bench::new(json!({
        "init": { "apiKeySource": "ANTHROPIC_API_KEY" }, "steps": ["hang"],
    }));
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await;
    assert_eq!(short(outcome).0, LlmErrorKind::Billing);
}

/// Who pays is told when the account has told it.
#[tokio::test(flavor = "multi_thread")]
async fn the_payer_is_the_account() {
    let bench = Bench::new(json!({
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
