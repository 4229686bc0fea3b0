//! Compression of long conversations.

use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::streamed;
use crate::agent_keys::{local, remote};
use crate::support::{json as json_of, run};

const KEYS: &str = "limits: {messages: 100}\ncontext: {window: 2000}\n";

const QUESTIONS: usize = 20;

/// Calls and results must alternate in pairs.
fn check_pairs(messages: &Value) {
    let blocks = |message: &Value, kind: &str, key: &str| -> Vec<String> {
        let content = message["content"].as_array().cloned().unwrap_or_default();
        let wanted = content.iter().filter(|block| block["type"] == kind);
        wanted.map(|block| block[key].to_string()).collect()
    };
    let messages = messages.as_array().expect("messages");
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        assert_eq!(
            blocks(message, "tool_result", "tool_use_id"),
            open,
            "{message}"
        );
        open = blocks(message, "tool_use", "id");
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Counts a token per three bytes and searches once per question.
fn counting(summary: Option<&'static str>) -> Loopback {
    Loopback::start(move |request: &Request, number| {
        let asked = request.json();
        let size = asked["messages"].to_string().len() / 3;
        let counted = |block: Value| {
            let stream = streamed(number, &block);
            Answer::stream(stream.replace("\"input_tokens\":100", &format!("\"input_tokens\":{size}")))
        };
        if asked["system"].to_string().contains("You shorten") {
            return match summary {
                Some(text) => counted(json!({ "type": "text", "text": text })),
                None => Answer::json(400, &json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } })),
            };
        }
        check_pairs(&asked["messages"]);
        assert!(size < 2000, "{size}");
        let last = asked["messages"].as_array().and_then(|all| all.last());
        let has_result = last.is_some_and(|last| last.to_string().contains("tool_result"));
        counted(if has_result {
            json!({ "type": "text", "text": format!("15. {}", "a".repeat(400)) })
        } else {
            json!({ "type": "tool_use", "id": format!("t{number}"), "name": "wiki_search", "input": { "query": "revenue" } })
        })
    })
    .expect("a provider")
}

fn chat(sandbox: &Sandbox) {
    let lines: Vec<String> = (1..=QUESTIONS)
        .map(|number| format!("How much, question {number}? {}", "q".repeat(300)))
        .collect();
    let arguments = [
        "agent",
        "chat",
        "--agent",
        "analyst",
        "--session",
        "talk",
        "--create",
    ];
    let printed = sandbox.run_with_input(&arguments, &(lines.join("\n") + "\n"));
    let printed = printed.expect("the program starts");
    assert_eq!(printed.code, Some(0), "{printed}");
}

/// At most one per turn, each with less than before.
fn compressions(sandbox: &Sandbox) -> usize {
    let printed = run(sandbox, "agent sessions events talk --channels monitor");
    let mut turns = Vec::new();
    for line in printed.stdout.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let event = &line["event"];
        if event["type"] == "context_compression" && event["phase"] == "end" {
            assert!(event["ratio"].as_f64().expect("a ratio") < 0.9, "{event}");
            turns.push(line["turn"].to_string());
        }
    }
    let count = turns.len();
    turns.dedup();
    assert_eq!(turns.len(), count);
    count
}

/// KODE-71: the log keeps everything.
#[test]
fn a_long_conversation_is_summarized() {
    let provider = counting(Some("Question: how much. Facts: 15 (t1)."));
    let sandbox = remote(&provider, KEYS);
    chat(&sandbox);
    assert!(compressions(&sandbox) >= 3);
    let shown = json_of(&sandbox, "agent sessions show talk --json");
    assert_eq!(
        shown["messages"].as_array().map(Vec::len),
        Some(QUESTIONS * 4)
    );
    let stages = json_of(&sandbox, "usage --by stage --json");
    assert!(stages.to_string().contains("compaction"), "{stages}");
}

/// KODE-71.
#[test]
fn a_long_conversation_is_shortened_without_a_model() {
    let provider = counting(None);
    let sandbox = remote(&provider, KEYS);
    chat(&sandbox);
    assert!(compressions(&sandbox) >= 3);
    let asked = provider.requests().last().expect("a request").json();
    assert!(!asked.to_string().contains("question 1?"), "{asked}");
}

/// KODE-71.
#[test]
fn the_local_session_is_compressed_between_turns() {
    let scenario = json!({
        "steps": [{ "text": "ok" }],
        "when": [
            { "prompt_contains": "Write the next assistant message", "steps": [{ "text": "15." }] },
            { "prompt_contains": "user: How much", "steps": [{ "text": "Question: how much." }] },
        ],
    });
    let sandbox = local(scenario, "context: {window: 300}\n");
    for question in ["How much in March?", "How much in April?"] {
        let padded = format!("{question} {}", "q".repeat(400));
        let line = format!("agent run --agent analyst --session talk --create -m '{padded}'");
        let printed = run(&sandbox, &line);
        assert_eq!(printed.code, Some(0), "{printed}");
    }
    assert_eq!(compressions(&sandbox), 1);
}
