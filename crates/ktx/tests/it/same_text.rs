//! Tool results have the same text on every backend.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ktx_claude_code_adapter::{ClaudeCodeRuntime, ClaudeCodeSettings, Launcher};
use ktx_llm_runtime::{CallLabel, LlmRuntime, LoopOutcome, LoopRequest, NoEvents, StopReason};
use ktx_provider_adapters::{HttpRuntime, HttpSettings, Protocol, Proxy};
use ktx_secrets::Secret;
use ktx_test_support::fake_claude::{SCENARIO_VARIABLE, executable};
use ktx_test_support::loopback::{Answer, Loopback, Request};
use ktx_tool_descriptors::{
    ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, Provider, RunId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::sandbox;

/// Tools that answer, fail, crash, and return a long result.
fn toolbox() -> ToolSet {
    let tool = |name: &str, handler: Arc<dyn ToolHandler>| ToolDescriptor {
        name: name.to_owned(),
        title: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({
            "type": "object", "required": ["key"],
            "properties": { "key": { "type": "string" } },
        }),
        output_schema: None,
        effect: WriteEffect::Writes,
        handler,
    };
    let answer = handler_fn(|arguments, _| {
        let key = arguments["key"].as_str().unwrap_or_default();
        let text = format!("**{key}**\n\n| ä | \"b\" |\n");
        Ok(ToolOutput::new(text, json!({ "secret_face": key })))
    });
    let fail = handler_fn(|_, _| Err(ToolError::new("there is no such table; try `orders`")));
    let panic = handler_fn(|_, _| -> Result<ToolOutput, ToolError> { panic!("a bug in a tool") });
    let flood = handler_fn(|_, _| Ok(ToolOutput::text("x".repeat(600_000))));
    let tools = vec![
        tool("answer", answer),
        tool("fail", fail),
        tool("flood", flood),
        tool("panic", panic),
    ];
    ToolSet::new(tools).expect("the tools are good")
}

fn turns() -> [Vec<(&'static str, Value)>; 2] {
    let key = json!({ "key": "orders" });
    [
        vec![
            ("answer", key.clone()),
            ("fail", key.clone()),
            ("panic", key.clone()),
            ("flood", key.clone()),
            ("nope", key),
            ("answer", json!({ "key": 7 })),
        ],
        vec![("flood", json!({ "_cursor": "part-1" }))],
    ]
}

fn told() -> Vec<String> {
    let note = "\n\n[cut: 100500 characters are left. Call the same tool with only {\"_cursor\": \"part-1\"} to read on.]";
    vec![
        "**orders**\n\n| ä | \"b\" |\n".to_owned(),
        "there is no such table; try `orders`".to_owned(),
        "the tool failed inside; do not call it again with the same arguments".to_owned(),
        format!("{}{note}", "x".repeat(499_500)),
        "MCP error -32602: Tool nope not found; available: answer, fail, flood, panic".to_owned(),
        "MCP error -32602: Input validation error: Invalid arguments for tool answer: /key: 7 is not of type \"string\"\nhint: correct `key`\nsend instead: {\"key\":\"7\"}".to_owned(),
        "x".repeat(100_500),
    ]
}

fn ask(runtime: &dyn LlmRuntime) -> LoopOutcome {
    let request = LoopRequest {
        role: ModelRole::Default,
        system: "You work.".to_owned(),
        prompt: "Go.".to_owned(),
        tools: toolbox(),
        step_budget: 5,
        transcript: None,
        on_step: None,
        cancel: CancellationToken::new(),
        label: CallLabel {
            run_id: RunId::parse("run-1").expect("a run id"),
            stage: "test".to_owned(),
            unit: None,
            connection: None,
        },
    };
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads");
    threads.block_on(runtime.run_agent_loop(request))
}

#[track_caller]
fn check(backend: &str, outcome: &LoopOutcome, given: &[String]) {
    assert_eq!(outcome.error, None, "{backend}");
    assert_eq!(outcome.stop_reason, StopReason::Natural, "{backend}");
    assert_eq!(outcome.metrics.tool_failures, 4, "{backend}");
    let short = |texts: &[String]| {
        let texts = texts
            .iter()
            .map(|text| text.replace(&"x".repeat(1000), "…"));
        texts.collect::<Vec<_>>()
    };
    let mut told = told();
    assert!(given == told, "{backend}: {:#?}", short(given));
    // Calls of one message end in any order.
    let traces = outcome.tools.iter();
    let mut traced: Vec<String> = traces.map(|trace| trace.markdown.clone()).collect();
    told.sort();
    traced.sort();
    assert!(traced == told, "{backend}: {:#?}", short(&traced));
}

fn message(protocol: Protocol, number: usize, calls: &[(&str, Value)]) -> Value {
    let mut parts: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, input))| called(protocol, &format!("t{number}-{at}"), name, input))
        .collect();
    let done = calls.is_empty();
    if done {
        parts.push(said(protocol, "done"));
    }
    let id = format!("m{number}");
    match protocol {
        Protocol::Anthropic => json!({
            "id": id, "type": "message", "role": "assistant", "model": "m", "content": parts,
            "stop_reason": if done { "end_turn" } else { "tool_use" },
            "usage": { "input_tokens": 1, "output_tokens": 1 },
        }),
        Protocol::OpenAiChat => {
            let message = if done {
                parts.remove(0)
            } else {
                json!({ "role": "assistant", "content": null, "tool_calls": parts })
            };
            json!({
                "id": id, "model": "m",
                "choices": [{ "index": 0, "message": message,
                    "finish_reason": if done { "stop" } else { "tool_calls" } }],
                "usage": { "prompt_tokens": 1, "completion_tokens": 1 },
            })
        }
        Protocol::OpenAiResponses => json!({
            "id": id, "model": "m", "status": "completed", "output": parts,
            "usage": { "input_tokens": 1, "output_tokens": 1 },
        }),
        Protocol::Gemini => json!({
            "responseId": id, "modelVersion": "m",
            "candidates": [{ "finishReason": "STOP", "content": { "role": "model", "parts": parts } }],
            "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1 },
        }),
    }
}

fn called(protocol: Protocol, id: &str, name: &str, input: &Value) -> Value {
    let text = input.to_string();
    match protocol {
        Protocol::Anthropic => {
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Protocol::OpenAiChat => {
            let function = json!({ "name": name, "arguments": text });
            json!({ "id": id, "type": "function", "function": function })
        }
        Protocol::OpenAiResponses => json!({
            "type": "function_call", "id": format!("fc-{id}"), "call_id": id,
            "name": name, "arguments": text,
        }),
        Protocol::Gemini => {
            json!({ "functionCall": { "name": name, "args": input }, "thoughtSignature": "c2ln" })
        }
    }
}

fn said(protocol: Protocol, text: &str) -> Value {
    match protocol {
        Protocol::Anthropic => json!({ "type": "text", "text": text }),
        Protocol::OpenAiChat => json!({ "role": "assistant", "content": text }),
        Protocol::OpenAiResponses => json!({
            "type": "message", "id": "msg", "role": "assistant",
            "content": [{ "type": "output_text", "text": text }],
        }),
        Protocol::Gemini => json!({ "text": text }),
    }
}

fn results(protocol: Protocol, body: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let inside = |key: &str, part: &str| -> Vec<Value> {
        let messages = list(&body[key]);
        messages
            .iter()
            .flat_map(|message| list(&message[part]))
            .collect()
    };
    let texts: Vec<Value> = match protocol {
        Protocol::Anthropic => inside("messages", "content")
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| block["content"].clone())
            .collect(),
        Protocol::OpenAiChat => list(&body["messages"])
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].clone())
            .collect(),
        Protocol::OpenAiResponses => list(&body["input"])
            .iter()
            .filter(|item| item["type"] == "function_call_output")
            .map(|item| item["output"].clone())
            .collect(),
        Protocol::Gemini => inside("contents", "parts")
            .iter()
            .filter_map(|part| part["functionResponse"]["response"].as_object())
            .map(|response| {
                assert_eq!(response.len(), 1, "{response:?}");
                response.values().next().cloned().unwrap_or_default()
            })
            .collect(),
    };
    let text = |value: &Value| value.as_str().expect("one text").to_owned();
    texts.iter().map(text).collect()
}

fn over_http(provider: Provider, protocol: Protocol, model: &str) {
    let server = Loopback::start(move |_: &Request, number| {
        let calls = turns().get(number).cloned().unwrap_or_default();
        Answer::json(200, &message(protocol, number, &calls))
    })
    .expect("a provider");
    let mut settings = HttpSettings::new(provider, Some(Secret::new("sk-test-key-123")), model);
    settings.base_url = Some(server.address());
    settings.protocol = Some(protocol);
    settings.proxy = Proxy::Direct;
    let runtime = HttpRuntime::new(settings, Arc::new(NoEvents)).expect("usable settings");
    let outcome = ask(&runtime);
    let requests = server.requests();
    let mut given: Vec<String> = Vec::new();
    for request in &requests {
        let shown = results(protocol, &request.json());
        // Some protocols send earlier turns again.
        given.extend(
            shown
                .into_iter()
                .filter(|text| !given.contains(text))
                .collect::<Vec<_>>(),
        );
    }
    check(&format!("{provider} {protocol:?}"), &outcome, &given);
    assert!(
        !requests
            .iter()
            .any(|request| request.json().to_string().contains("secret_face"))
    );
}

/// KTX-54 (C-09).
#[test]
fn every_http_protocol_gives_the_same_text() {
    over_http(Provider::Anthropic, Protocol::Anthropic, "sonnet");
    over_http(Provider::OpenAi, Protocol::OpenAiResponses, "gpt-5.5");
    over_http(Provider::OpenAiCompatible, Protocol::OpenAiChat, "m");
    over_http(Provider::Gemini, Protocol::Gemini, "gemini-3-pro");
}

/// KTX-54 (C-09).
#[test]
fn claude_code_gives_the_same_text() {
    let sandbox = sandbox();
    let record = sandbox.home().join("record.jsonl");
    let steps = turns().map(|calls| {
        let calls = calls.into_iter();
        let calls: Vec<Value> = calls
            .map(|(name, input)| json!({ "name": name, "input": input }))
            .collect();
        json!({ "tools": calls })
    });
    let scenario = json!({ "record": record, "steps": [steps[0], steps[1], { "text": "done" }] });
    let file = sandbox.home().join("scenario.json");
    std::fs::write(&file, scenario.to_string()).expect("the scenario");
    let environment = [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", sandbox.home().display().to_string()),
        (SCENARIO_VARIABLE, file.display().to_string()),
    ];
    let environment: BTreeMap<String, String> = environment
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let project = sandbox.work().canonicalize().expect("a folder");
    let mut settings = ClaudeCodeSettings::new(project, environment, "sonnet");
    settings.program = Some(executable().expect("the fake is built"));
    settings.state_dir = Some(sandbox.home().join("state"));
    settings.launcher = Launcher::Guarded(PathBuf::from(env!("CARGO_BIN_EXE_ktx")));
    settings.max_spares = 0;
    let runtime = ClaudeCodeRuntime::new(settings, Arc::new(NoEvents)).expect("good settings");
    let outcome = ask(&runtime);
    let record = std::fs::read_to_string(record).expect("a record");
    let record: Value =
        serde_json::from_str(record.lines().next().unwrap_or_default()).expect("JSON");
    let mut told = record["told"].as_array().cloned().unwrap_or_default();
    // Calls of one message are answered in any order.
    told.sort_by_key(|answer| answer["call"].as_str().unwrap_or_default().to_owned());
    let given: Vec<String> = told
        .iter()
        .map(|answer| answer["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    check("claude-code", &outcome, &given);
    assert!(!record.to_string().contains("secret_face"));
}
