//! Objects: forms, repair, validation against the original schema.

use ktx_llm_runtime::{LlmErrorKind, LlmRuntime as _};
use ktx_vocabulary::Provider;
use serde_json::{Value, json};

use crate::fake::{
    EventRecorder, anthropic, ask_object, bodies, message, refused, runtime, said, server,
    settings, sse, tool_use,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"count": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
        "required": ["count"],
    })
}

/// KTX-51.
#[tokio::test]
async fn a_native_object_is_checked_with_the_limits_that_the_provider_ignores() {
    let server = server(vec![
        said("m1", "{\"count\": 0}"),
        said("m2", "{\"count\": 2}"),
    ])
    .await;
    let (runtime, events) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.generate_object(ask_object(schema())).await.unwrap();
    assert_eq!(outcome.value, json!({"count": 2}));
    assert_eq!(outcome.metrics.steps, 2);
    assert_eq!(outcome.metrics.usage.output, 14);
    assert_eq!(events.lines().len(), 2);
    let sent = bodies(&server).await;
    assert_eq!(
        sent[0]["output_config"]["format"]["schema"]["properties"]["count"],
        json!({"type": "integer", "description": "(minimum: 1)"})
    );
    let repair = sent[1]["messages"][2]["content"][0]["text"]
        .as_str()
        .unwrap();
    assert_eq!(
        repair,
        "The object does not match what was asked for. Send the whole object again, corrected, \
         and nothing else. What is wrong with it:\n/count: 0 is less than the minimum of 1"
    );
}

#[tokio::test]
async fn an_object_that_stays_wrong_fails_after_two_corrections() {
    let wrong = || said("m", "{\"count\": \"many\"}");
    let server = server(vec![wrong(), wrong(), wrong()]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let error = runtime
        .generate_object(ask_object(schema()))
        .await
        .unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::StructuredOutput);
    assert_eq!(
        error.detail.as_deref(),
        Some("/count: \"many\" is not of type \"integer\"")
    );
    assert_eq!(bodies(&server).await.len(), 3);
}

#[tokio::test]
async fn a_form_that_is_refused_is_not_tried_again() {
    let call = |id: &str| {
        message(
            id,
            "tool_use",
            &[tool_use("t1", "json", &json!({"count": 3}))],
        )
    };
    let server = server(vec![
        refused(400, "invalid_request_error"),
        call("m1"),
        call("m2"),
    ])
    .await;
    let (runtime, events) = anthropic(&server.uri(), "haiku");
    for _ in 0..2 {
        let outcome = runtime.generate_object(ask_object(schema())).await.unwrap();
        assert_eq!(outcome.value, json!({"count": 3}));
    }
    assert_eq!(
        warnings(&events),
        [
            "warning the provider refuses to enforce a schema for `claude-haiku-5-5` by its structured output; ktx uses a forced tool instead and still checks every object"
        ]
    );
    let forms: Vec<(bool, Value)> = bodies(&server)
        .await
        .iter()
        .map(|body| {
            (
                body.get("output_config").is_some(),
                body["tool_choice"]["name"].clone(),
            )
        })
        .collect();
    assert_eq!(
        forms,
        [
            (true, Value::Null),
            (false, json!("json")),
            (false, json!("json"))
        ]
    );
}

fn warnings(events: &EventRecorder) -> Vec<String> {
    let lines = events.lines().into_iter();
    lines.filter(|line| line.starts_with("warning")).collect()
}

/// For each request, whether it had the native form.
async fn native(server: &wiremock::MockServer) -> Vec<bool> {
    let bodies = bodies(server).await;
    bodies
        .iter()
        .map(|body| body.get("output_config").is_some())
        .collect()
}

#[tokio::test]
async fn a_refused_schema_does_not_refuse_its_form() {
    let call = |id: &str| {
        let input = json!({"count": 3});
        message(id, "tool_use", &[tool_use("t1", "json", &input)])
    };
    let server = server(vec![
        refused(400, "invalid_request_error"),
        call("m1"),
        said("m2", "{\"count\": 3}"),
        call("m3"),
    ])
    .await;
    let (runtime, events) = anthropic(&server.uri(), "haiku");
    let mut other = schema();
    other["properties"]["more"] = json!({"type": "string"});
    for schema in [schema(), other, schema()] {
        runtime.generate_object(ask_object(schema)).await.unwrap();
    }
    assert_eq!(native(&server).await, [true, false, true, false]);
    assert_eq!(warnings(&events).len(), 1);
}

#[tokio::test]
async fn a_refusal_of_every_form_is_forgotten() {
    let no = || refused(400, "invalid_request_error");
    let server = server(vec![no(), no(), no(), said("m1", "{\"count\": 3}")]).await;
    let (runtime, events) = anthropic(&server.uri(), "haiku");
    let ask = || runtime.generate_object(ask_object(schema()));
    assert_eq!(ask().await.unwrap_err().kind, LlmErrorKind::InvalidRequest);
    assert!(ask().await.is_ok());
    assert_eq!(native(&server).await, [true, false, false, true]);
    assert_eq!(warnings(&events), Vec::<String>::new());
}

/// A model that cannot be forced to a tool, with a schema without a native form.
#[tokio::test]
async fn the_prompt_contains_the_schema_as_a_last_resort() {
    let open = json!({"type": "object"});
    let server = server(vec![said("m1", "Sure:\n```json\n{\"any\": 1}\n```")]).await;
    let (runtime, _) = anthropic(&server.uri(), "sonnet");
    let outcome = runtime.generate_object(ask_object(open)).await.unwrap();
    assert_eq!(outcome.value, json!({"any": 1}));
    let sent = bodies(&server).await;
    assert_eq!(
        sent[0]["system"][0]["text"].as_str().unwrap(),
        "Be exact.\n\nAnswer with one JSON object and nothing else: no words before or after it, \
         no code fence. The object must match this JSON Schema:\n{\"type\":\"object\"}"
    );
}

#[tokio::test]
async fn openai_nulls_that_stand_for_absence_do_not_fail_the_original_schema() {
    let stream = format!(
        "data: {}\n\n",
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "{\"count\":1,\"note\":null}"}]},
        ]}})
    );
    let server = server(vec![sse(&stream)]).await;
    let (runtime, _) = runtime(settings(Provider::OpenAi, "gpt-5.5", &server.uri()));
    let outcome = runtime.generate_object(ask_object(schema())).await.unwrap();
    assert_eq!(outcome.value, json!({"count": 1}));
    let sent = bodies(&server).await;
    assert_eq!(sent[0]["text"]["format"]["strict"], json!(true));
}
