//! Conversations that OpenAI stores: the next request names the last answer.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ktx_llm_runtime::{LlmRuntime as _, Message, MessageRole, Transcript};
use ktx_provider_adapters::ReasoningOverrides;
use ktx_vocabulary::Provider;
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::fake::{bodies, runtime, settings, sse};

/// Refuses unknown ids, and requests that do not answer exactly the open calls of the stored
/// answer.
struct StoringService {
    answers: Mutex<Vec<Value>>,
    stored: Mutex<BTreeMap<String, Vec<String>>>,
}

impl Respond for StoringService {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let refuse = |code: &str, message: &str| {
            ResponseTemplate::new(400).set_body_json(json!({"error": {
                "message": message, "type": "invalid_request_error", "param": "previous_response_id", "code": code,
            }}))
        };
        if body["store"] != true {
            return refuse("", "the fake wants `store`");
        }
        let id = body["previous_response_id"].as_str();
        let known = self.stored.lock().expect("no poison").clone();
        if let Some(id) = id.filter(|id| !known.contains_key(*id)) {
            let message = format!("Previous response with id '{id}' not found.");
            return refuse("previous_response_not_found", &message);
        }
        let mut open = id.and_then(|id| known.get(id)).cloned().unwrap_or_default();
        for item in body["input"].as_array().expect("items") {
            let id = item["call_id"].as_str().unwrap_or_default().to_owned();
            match item["type"].as_str() {
                Some("function_call") => open.push(id),
                Some("function_call_output") if open.contains(&id) => {
                    open.retain(|call| *call != id);
                }
                Some("function_call_output") => return refuse("", "an output without a call"),
                _ => {}
            }
        }
        if !open.is_empty() {
            return refuse("", "No tool output found for function call");
        }
        let item = self.answers.lock().expect("no poison").remove(0);
        let mut stored = self.stored.lock().expect("no poison");
        let id = format!("resp_{}", stored.len() + 1);
        let calls = item["call_id"]
            .as_str()
            .map(str::to_owned)
            .into_iter()
            .collect();
        stored.insert(id.clone(), calls);
        sse(&format!(
            "data: {}\n\ndata: {}\n\n",
            json!({"type": "response.output_item.done", "item": item}),
            json!({"type": "response.completed", "response": {
                "id": id, "status": "completed", "model": "gpt-5.5",
                "usage": {"input_tokens": 10, "output_tokens": 5},
            }}),
        ))
    }
}

async fn service(answers: Vec<Value>) -> MockServer {
    let server = MockServer::start().await;
    let service = StoringService {
        answers: Mutex::new(answers),
        stored: Mutex::default(),
    };
    Mock::given(any())
        .respond_with(service)
        .mount(&server)
        .await;
    server
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "sql", "arguments": "{\"query\":\"a\"}"})
}

fn said(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

#[derive(Default)]
struct RecordedMessages(Mutex<Vec<Message>>);

impl Transcript for RecordedMessages {
    fn earlier(&self) -> Vec<Message> {
        Vec::new()
    }

    fn record(&self, message: &Message) {
        self.0.lock().expect("no poison").push(message.clone());
    }
}

fn shape(body: &Value) -> String {
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["type"].as_str().expect("a type"))
        .collect();
    let from = body["previous_response_id"].as_str().unwrap_or("-");
    format!("{from}: {}", kinds.join(" "))
}

/// KODE-13: a service that does not know the id gets the whole history, once.
#[tokio::test]
async fn a_conversation_continues_from_the_stored_answer() {
    let configured = |address: &str| {
        let mut settings = settings(Provider::OpenAi, "gpt-5.5", address);
        settings.reasoning = ReasoningOverrides::parse(
            Provider::OpenAi,
            json!({"store": true}).as_object().expect("an object"),
        )
        .expect("usable");
        runtime(settings).0
    };
    let first = service(vec![call("c1"), said("42"), said("43")]).await;
    let kept = std::sync::Arc::new(RecordedMessages::default());
    let mut asked = crate::agent::request(vec![crate::agent::sql()], 5);
    asked.transcript = Some(kept.clone());
    let outcome = configured(&first.uri()).run_agent_loop(asked).await;
    assert_eq!((outcome.error, outcome.text.as_deref()), (None, Some("42")));
    let ids: Vec<Option<String>> = kept
        .0
        .lock()
        .expect("no poison")
        .iter()
        .map(|message| message.metadata.response_id.clone())
        .collect();
    let id = |name: &str| Some(name.to_owned());
    assert_eq!(ids, [id("resp_1"), None, id("resp_2")]);

    // Written and read, as by a later process.
    let mut history = vec![Message::text(MessageRole::User, "Go.")];
    history.extend(kept.0.lock().expect("no poison").clone());
    history.push(Message::text(MessageRole::User, "And now?"));
    let text = serde_json::to_string(&history).expect("JSON");
    let history: Vec<Message> = serde_json::from_str(&text).expect("messages");
    let mut next = crate::run::request(5);
    next.messages.clone_from(&history);
    let last = configured(&first.uri()).start_run(next).finish().await;
    assert_eq!(last.result, Ok("43".to_owned()));
    let shapes: Vec<String> = bodies(&first).await.iter().map(shape).collect();
    assert_eq!(
        shapes,
        [
            "-: message",
            "resp_1: function_call_output",
            "resp_2: message",
        ]
    );

    let other = service(vec![call("c9"), said("44")]).await;
    let mut next = crate::run::request(5);
    next.messages = history;
    let last = configured(&other.uri()).start_run(next).finish().await;
    assert_eq!(last.result, Ok("44".to_owned()));
    let shapes: Vec<String> = bodies(&other).await.iter().map(shape).collect();
    assert_eq!(
        shapes,
        [
            "resp_2: message",
            "-: message function_call function_call_output message message",
            "resp_1: function_call_output",
        ]
    );
}
