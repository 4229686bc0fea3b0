//! Model processes that end during a turn, and late calls.

use ktx_test_support::sandbox::Sandbox;
use serde_json::json;

use crate::agent::{CONFIG, shop};
use crate::claude::play;
use crate::support::json as json_of;

fn mortal() -> Sandbox {
    let mut sandbox = shop(CONFIG);
    let when = json!([
        { "prompt_contains": "And now?", "steps": [{ "text": "Still here." }] },
        { "prompt_contains": "Die.", "steps": [
            { "tools": [{ "name": "wiki_search", "input": { "query": "revenue" } }] },
            { "broken_stream": "I am dy" }, "die",
        ] },
        { "prompt_contains": "How much revenue?", "steps": [{ "text": "Revenue is 15." }] },
    ]);
    play(
        &mut sandbox,
        json!({ "steps": [{ "text": "ok" }], "when": when }),
    );
    sandbox
}

fn chat(sandbox: &Sandbox, words: &[&str], input: &str) -> String {
    let mut arguments = vec!["agent", "chat"];
    arguments.extend(words);
    let printed = sandbox.run_with_input(&arguments, input);
    printed.expect("the program starts").to_string()
}

/// HOLO-36: `/resume` continues, and nothing is lost.
#[test]
fn a_child_that_dies_closes_the_conversation() {
    let sandbox = mortal();
    let lines = "How much revenue?\nDie.\nHello?\nHello?\n";
    let told = chat(&sandbox, &["--session", "talk", "--create"], lines);
    let closed = "the session is closed: the process of the model ended during its last turn";
    assert!(told.contains("Revenue is 15."), "{told}");
    assert_eq!(told.matches(closed).count(), 2, "{told}");
    let shown = json_of(&sandbox, "agent sessions show talk --json").to_string();
    assert!(!shown.contains("Hello?"), "{shown}");
    let told = chat(&sandbox, &["--session", "talk"], "And now?\n");
    assert!(told.contains("Still here."), "{told}");
}

/// HOLO-44.
#[test]
fn a_late_call_is_answered() {
    let mut sandbox = shop(CONFIG);
    let search = json!({ "name": "wiki_search", "input": { "query": "revenue" } });
    play(
        &mut sandbox,
        json!({ "steps": [
            { "text": "Let me think." }, { "sleep": 2500 }, { "tools": [search] },
            { "sleep": 1000 }, { "tools": [search] }, { "text": "Revenue counts paid orders." },
        ] }),
    );
    let told = json_of(&sandbox, "agent run -m 'What is revenue?' --json");
    assert_eq!(told["response"], "Revenue counts paid orders.");
    assert_eq!(told["tool_results"].as_array().map(Vec::len), Some(2));
    assert_eq!(told["tool_results"][1]["is_error"], false);
}
