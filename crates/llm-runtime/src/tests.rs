//! Value tests of the port's own types and of the scripted runtime.

use std::sync::{Arc, Mutex};

use ktx_tool_descriptors::{
    ObjectSchema, ToolDescriptor, ToolOutput, ToolSet, WriteEffect, handler_fn,
};
use ktx_vocabulary::{ModelRole, RunId};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    CallLabel, LlmErrorKind, LlmRuntime as _, LoopRequest, NoEvents, ObjectRequest, Reply,
    RunErrorCode, ScriptedRuntime, StopReason, run_channel,
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

/// KTX-51: the result is validated with the original schema.
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

/// KTX-60, KTX-66, KTX-68, KTX-69 on the scripted runtime.
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

/// COG-25: a run without a final gets a synthetic internal one.
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

/// COG-06, COG-18: a used-up turn budget is `timeout` to the outside.
#[test]
fn error_kinds_map_to_run_codes() {
    assert_eq!(LlmErrorKind::MaxTurns.run_code(), RunErrorCode::Timeout);
    assert_eq!(LlmErrorKind::Cancelled.run_code().as_str(), "aborted");
    assert_eq!(
        LlmErrorKind::Billing.run_code().as_str(),
        "insufficient_credits"
    );
}
