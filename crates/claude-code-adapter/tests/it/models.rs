//! The model that a fact names (COG-08).

use ktx_llm_runtime::{LlmRuntime as _, RuntimeEvent};
use serde_json::{Value, json};

use crate::support::{TestSetup, text_request};

fn message(id: &str, model: &Value) -> Vec<Value> {
    let event = |event: Value| json!({ "raw": { "type": "stream_event", "parent_tool_use_id": null, "event": event } });
    vec![
        event(json!({ "type": "message_start", "message": {
            "id": id, "model": model, "usage": { "input_tokens": 10, "output_tokens": 1 },
        } })),
        event(json!({ "type": "message_delta", "usage": { "output_tokens": 5 } })),
        event(json!({ "type": "message_stop" })),
    ]
}

async fn models(scenario: Value) -> (Option<String>, Vec<(String, String)>) {
    let bench = TestSetup::new(scenario);
    let outcome = bench
        .runtime()
        .generate_text(text_request("Say hello."))
        .await
        .unwrap();
    let facts = bench.events().into_iter().filter_map(|event| match event {
        RuntimeEvent::Usage(fact) => Some((fact.message_id, fact.model)),
        _ => None,
    });
    (outcome.metrics.model, facts.collect())
}

fn named(facts: &[(&str, &str)]) -> Vec<(String, String)> {
    let facts = facts.iter();
    facts
        .map(|(message, model)| ((*message).to_owned(), (*model).to_owned()))
        .collect()
}

/// COG-08.
#[tokio::test(flavor = "multi_thread")]
async fn a_fact_has_the_model_of_its_message() {
    let refused = json!({ "raw": {
        "type": "system", "subtype": "model_refusal_fallback",
        "original_model": "claude-sonnet-9", "fallback_model": "claude-opus-9",
    } });
    let steps = [
        message("msg_1", &json!("claude-sonnet-9-20260101")),
        vec![refused],
        message("msg_2", &json!("claude-opus-9-20260101")),
        vec![json!({ "text": "Hello." })],
    ];
    let (model, facts) = models(json!({
        "message_ids": "a", "model": "claude-opus-9-20260101",
        "init": { "model": "claude-sonnet-9[1m]" }, "steps": steps.concat(),
        "result": { "modelUsage": {} },
    }))
    .await;
    assert_eq!(model.as_deref(), Some("claude-sonnet-9[1m]"));
    let expected = [
        ("msg_1", "claude-sonnet-9-20260101"),
        ("msg_2", "claude-opus-9-20260101"),
        ("msg_a_0001", "claude-opus-9-20260101"),
    ];
    assert_eq!(facts, named(&expected));
}

/// COG-08.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_model_has_that_of_the_session() {
    let steps = [
        message("msg_1", &Value::Null),
        vec![json!({ "text": "Hello." })],
    ];
    let (_, facts) = models(json!({
        "message_ids": "a", "init": { "model": "claude-sonnet-9" }, "steps": steps.concat(),
        "result": { "modelUsage": {} },
    }))
    .await;
    let expected = [("msg_1", "claude-sonnet-9"), ("msg_a_0001", "fake-sonnet")];
    assert_eq!(facts, named(&expected));
}
