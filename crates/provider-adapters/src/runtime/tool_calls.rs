//! Runs the tool calls of one turn.

use std::panic::AssertUnwindSafe;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use ktx_llm_runtime::{ContentBlock, RunEvent, ToolTrace};
use ktx_tool_descriptors::{CallContext, ResultParts, ToolError, ToolOutput, ToolSet, WriteEffect};
use serde_json::Value;

use super::RuntimeOperation;
use crate::schema;
use crate::wire::response::Response;

const AT_ONCE: usize = 8;

#[derive(Debug)]
struct PendingCall {
    id: String,
    name: String,
    arguments: Value,
    broken: bool,
}

/// In call order. Adjacent read-only calls run concurrently; writing calls run alone.
pub(super) async fn execute(
    operation: &RuntimeOperation<'_>,
    tools: &ToolSet,
    parts: &mut ResultParts,
    response: &Response,
) -> Vec<ToolTrace> {
    let pending: Vec<PendingCall> = response
        .calls()
        .into_iter()
        .map(|(id, name, arguments)| PendingCall {
            broken: response.broken.iter().any(|call| call.id == id),
            arguments: match tools.get(&name) {
                Some(tool) if operation.role_model.has_strict_tools() => {
                    schema::strict_arguments(arguments, &tool.input_schema)
                }
                _ => arguments,
            },
            id,
            name,
        })
        .collect();
    let mut traces = Vec::new();
    for group in pending.chunk_by(|left, right| reads(tools, left) && reads(tools, right)) {
        for call in group {
            announce(operation, call).await;
        }
        let work: Vec<_> = group
            .iter()
            .map(|call| {
                let part = parts.asked_for(&call.arguments);
                one(operation, tools, call, part)
            })
            .collect();
        let done: Vec<CallOutcome> = stream::iter(work).buffered(AT_ONCE).collect().await;
        let done: Vec<ToolTrace> = group
            .iter()
            .zip(done)
            .map(|(call, outcome)| trace_of(call, outcome, parts))
            .collect();
        for trace in &done {
            report(operation, trace).await;
        }
        traces.extend(done);
    }
    traces
}

/// Only the Markdown (KTX-54, KTX-58).
pub(super) fn block(trace: &ToolTrace) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: trace.call_id.clone(),
        content: trace.markdown.clone(),
        is_error: trace.is_error,
    }
}

fn reads(tools: &ToolSet, call: &PendingCall) -> bool {
    tools
        .get(&call.name)
        .is_some_and(|tool| tool.effect != WriteEffect::Writes)
}

enum CallOutcome {
    Part(Result<String, String>),
    Called(Result<ToolOutput, ToolError>),
}

async fn one(
    operation: &RuntimeOperation<'_>,
    tools: &ToolSet,
    call: &PendingCall,
    part: Option<Result<String, String>>,
) -> CallOutcome {
    match part {
        Some(part) => CallOutcome::Part(part),
        None => CallOutcome::Called(answer(operation, tools, call).await),
    }
}

fn trace_of(call: &PendingCall, outcome: CallOutcome, parts: &mut ResultParts) -> ToolTrace {
    let (shown, structured) = match outcome {
        CallOutcome::Part(part) => (part, None),
        CallOutcome::Called(outcome) => {
            let shown = parts.shown(&outcome);
            (shown, outcome.ok().and_then(|output| output.structured))
        }
    };
    let is_error = shown.is_err();
    let (Ok(markdown) | Err(markdown)) = shown;
    ToolTrace {
        call_id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        markdown,
        structured,
        is_error,
    }
}

async fn answer(
    operation: &RuntimeOperation<'_>,
    tools: &ToolSet,
    call: &PendingCall,
) -> Result<ToolOutput, ToolError> {
    if call.broken {
        return Err(ToolError::cut_arguments());
    }
    let mut context = CallContext::detached(call.id.clone());
    context.cancel = operation.cancel.child_token();
    let stop = context.cancel.clone();
    let work = AssertUnwindSafe(tools.call(&call.name, call.arguments.clone(), context));
    let limit = operation.inner.timeouts.tool;
    match tokio::time::timeout(limit, work.catch_unwind()).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => {
            tracing::error!(tool = call.name, "a tool panicked");
            Err(ToolError::broke_down())
        }
        Err(_) => {
            stop.cancel();
            Err(ToolError::too_late(limit))
        }
    }
}

async fn announce(operation: &RuntimeOperation<'_>, call: &PendingCall) {
    if let Some(writer) = operation.writer {
        writer
            .event(RunEvent::ToolCallStart {
                call_id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            })
            .await;
    }
}

async fn report(operation: &RuntimeOperation<'_>, trace: &ToolTrace) {
    if let Some(writer) = operation.writer {
        writer
            .event(RunEvent::ToolCallResult {
                call_id: trace.call_id.clone(),
                markdown: trace.markdown.clone(),
                is_error: trace.is_error,
            })
            .await;
    }
}
