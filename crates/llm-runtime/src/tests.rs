//! Tests of the port and of the scripted runtime.

use std::sync::{Arc, Mutex};

use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, Provider, RunId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    CallLabel, LlmErrorKind, LlmRuntime as _, LoopRequest, NoEvents, ObjectRequest, Reply,
    RunErrorCode, ScriptedRuntime, SourceSystem, StopReason, chosen_tools, run_channel,
};

fn label() -> CallLabel {
    CallLabel {
        run_id: RunId::parse("r1").unwrap(),
        stage: "test".to_owned(),
        unit: None,
        connection: None,
    }
}

fn object(schema: serde_json::Value) -> ObjectRequest {
    ObjectRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "p".to_owned(),
        schema: ObjectSchema::new(schema).unwrap(),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

/// KTX-51.
#[tokio::test]
async fn objects_are_validated_with_the_callers_schema() {
    let schema = json!({"type": "object", "required": ["a"]});
    let script = [
        Reply::Object(json!({"a": 1})),
        Reply::Object(json!({"b": 1})),
    ];
    let runtime = ScriptedRuntime::new(script, Arc::new(NoEvents));
    let good = runtime.generate_object(object(schema.clone())).await;
    assert_eq!(good.map(|outcome| outcome.value), Ok(json!({"a": 1})));
    let bad = runtime.generate_object(object(schema.clone())).await;
    assert_eq!(
        bad.map_err(|error| error.kind).map(|_| ()),
        Err(LlmErrorKind::StructuredOutput)
    );
    let dry = runtime.generate_object(object(schema)).await;
    assert_eq!(
        dry.map_err(|error| error.kind).map(|_| ()),
        Err(LlmErrorKind::Internal)
    );
}

fn looping(tools: ToolSet, step_budget: u32, seen: Arc<Mutex<Vec<u32>>>) -> LoopRequest {
    LoopRequest {
        role: ModelRole::Default,
        system: String::new(),
        prompt: "p".to_owned(),
        tools,
        step_budget,
        transcript: None,
        on_step: Some(Arc::new(move |step| {
            seen.lock()
                .map_err(|error| error.to_string())?
                .push(step.index);
            Err("a failing callback ends nothing".to_owned())
        })),
        cancel: CancellationToken::new(),
        label: label(),
    }
}

/// KTX-60, KTX-66, KTX-68, KTX-69.
#[tokio::test]
async fn loops_count_steps_and_failures_and_report_budget() {
    let echo = ToolDescriptor {
        name: "echo".to_owned(),
        title: "Echo".to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object", "required": ["x"]}),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|arguments, _| Ok(ToolOutput::from_value(arguments))),
    };
    let tools = ToolSet::new(vec![echo]).unwrap();
    let calls = vec![
        ("echo".to_owned(), json!({"x": 1})),
        ("echo".to_owned(), json!({})),
    ];
    let reply = Reply::Loop {
        calls,
        text: "done".to_owned(),
    };
    let runtime = ScriptedRuntime::new([reply.clone(), reply], Arc::new(NoEvents));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let natural = runtime
        .run_agent_loop(looping(tools.clone(), 3, Arc::clone(&seen)))
        .await;
    assert_eq!(
        (
            natural.stop_reason,
            natural.metrics.steps,
            natural.metrics.tool_failures
        ),
        (StopReason::Natural, 3, 1)
    );
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3]);
    let budget = runtime.run_agent_loop(looping(tools, 2, seen)).await;
    assert_eq!(
        (budget.stop_reason, budget.text),
        (StopReason::Budget, None)
    );
}

/// COG-25.
#[tokio::test]
async fn a_lost_run_ends_once_with_an_internal_error() {
    let (writer, handle) = run_channel(RunId::parse("r1").unwrap(), None);
    drop(writer);
    let last = handle.finish().await;
    assert_eq!(
        last.result.map_err(|error| error.kind),
        Err(LlmErrorKind::Internal)
    );
}

/// COG-06, COG-18, COG-19, KODE-72.
#[test]
fn error_kinds_map_to_run_codes() {
    use LlmErrorKind as Kind;
    let table = [
        (Kind::RateLimit, "rate_limit", true),
        (Kind::Billing, "insufficient_credits", false),
        (Kind::Crashed, "internal", true),
        (Kind::Overloaded, "provider_unavailable", true),
        (Kind::Server, "provider_unavailable", true),
        (Kind::Timeout, "timeout", true),
        (Kind::Transport, "provider_unavailable", true),
        (Kind::Auth, "invalid_request", false),
        (Kind::ModelNotFound, "not_found", false),
        (Kind::UnknownTool, "not_found", false),
        (Kind::ContextTooLong, "invalid_request", false),
        (Kind::InvalidRequest, "invalid_request", false),
        (Kind::Refusal, "invalid_request", false),
        (Kind::Protocol, "internal", false),
        (Kind::StructuredOutput, "internal", false),
        (Kind::MaxOutput, "internal", false),
        (Kind::Permission, "internal", false),
        (Kind::Isolation, "internal", false),
        (Kind::Process, "internal", false),
        (Kind::Internal, "internal", false),
        (Kind::MaxTurns, "timeout", false),
        (Kind::Budget, "rate_limit", false),
        (Kind::Cancelled, "aborted", false),
    ];
    for (kind, code, again) in table {
        assert_eq!(
            (kind.run_code().as_str(), kind.is_retryable()),
            (code, again),
            "{kind:?}"
        );
    }
}

/// KTX-67.
#[test]
fn every_kind_has_a_code() {
    let codes = LlmErrorKind::ALL.map(|kind| kind.code().as_str());
    assert_eq!(
        codes,
        [
            "llm_auth",
            "llm_billing",
            "llm_rate_limit",
            "llm_overloaded",
            "llm_server",
            "llm_transport",
            "llm_timeout",
            "llm_context_too_long",
            "llm_max_output",
            "llm_refusal",
            "llm_model_not_found",
            "llm_unknown_tool",
            "llm_invalid_request",
            "llm_structured_output",
            "llm_permission",
            "llm_isolation",
            "llm_max_turns",
            "llm_budget",
            "cancelled",
            "llm_process",
            "llm_crashed",
            "llm_protocol",
            "llm_internal",
        ]
    );
}

/// COG-20.
#[test]
fn a_request_has_exactly_the_tools_that_it_names() {
    let tool = |name: &str| ToolDescriptor {
        name: name.to_owned(),
        title: String::new(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: WriteEffect::ReadOnly,
        handler: handler_fn(|arguments, _| Ok(ToolOutput::from_value(arguments))),
    };
    let all = ToolSet::new(vec![tool("a"), tool("b"), tool("c")]).unwrap();
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let chosen = chosen_tools(&all, &names(&["c", "a"])).unwrap();
    let chosen: Vec<&str> = chosen.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(chosen, ["a", "c"]);
    assert!(
        chosen_tools(&all, &[]).unwrap().is_empty(),
        "none by default"
    );
    let error = chosen_tools(&all, &names(&["a", "drop"])).unwrap_err();
    assert_eq!(
        (error.kind.run_code(), error.to_string(), error.hint),
        (
            RunErrorCode::NotFound,
            "there is no tool `drop`".to_owned(),
            Some("there are: a, b, c".to_owned())
        )
    );
}

/// KODE-31.
#[test]
fn cache_markers_are_kept_with_the_conversation() {
    let text = r#"{"role":"user","content":[{"type":"text","text":"long"},{"type":"cache_control","ttl":"1h"},{"type":"cache_control"}]}"#;
    let message: crate::Message = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
}

/// KODE-01.
#[test]
fn messages_are_read_in_both_forms_and_written_in_one() {
    let read = |rest: &str| {
        let text = format!(r#"{{"role":"assistant","content":[]{rest}}}"#);
        let message: crate::Message = serde_json::from_str(&text).unwrap();
        serde_json::to_string(&message).unwrap()
    };
    let written = [
        read(""),
        read(r#","transport":"provider""#),
        read(r#","transport":"omit""#),
        read(r#","transport":"omit","metadata":{"transport":"text"}"#),
        read(r#","metadata":{}"#),
        read(
            r#","metadata":{"response_id":"resp_1","content_blocks":[{"type":"text","text":"whole"}],"more":1}"#,
        ),
    ];
    assert_eq!(
        written,
        [
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":"assistant","content":[],"metadata":{"transport":"omit"}}"#,
            r#"{"role":"assistant","content":[],"metadata":{"transport":"text"}}"#,
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":"assistant","content":[],"metadata":{"content_blocks":[{"type":"text","text":"whole"}],"response_id":"resp_1"}}"#,
        ]
    );
}

/// COG-13.
#[test]
fn the_systems_that_count_have_their_spellings() {
    let systems = std::iter::once(SourceSystem::LocalSession)
        .chain(Provider::ALL.into_iter().map(SourceSystem::Provider))
        .chain(std::iter::once(SourceSystem::Scripted));
    let spelled: Vec<(&str, &str)> = systems
        .map(|system| (system.as_str(), system.executor()))
        .collect();
    assert_eq!(
        spelled,
        [
            ("anthropic_sdk", "claude_sdk"),
            ("anthropic_api", "inproc"),
            ("vertex", "inproc"),
            ("gateway", "inproc"),
            ("openai", "inproc"),
            ("gemini", "inproc"),
            ("deepseek", "inproc"),
            ("qwen", "inproc"),
            ("glm", "inproc"),
            ("minimax", "inproc"),
            ("kimi", "inproc"),
            ("groq", "inproc"),
            ("cerebras", "inproc"),
            ("openai_compatible", "inproc"),
            ("scripted", "inproc"),
        ]
    );
}
