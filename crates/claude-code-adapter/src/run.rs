//! The run handle (COG-03…06, COG-25).

use std::sync::Arc;

use ktx_llm_runtime::{
    ContentBlock, LlmError, LlmErrorKind, Message, MessageRole, RunEvent, RunFinal, RunHandle,
    RunRequest, RunWriter, TokenUsage, run_channel,
};
use tokio::sync::mpsc;

use crate::attempts::run;
use crate::conversation::ConversationNote;
use crate::exchange::{natural, query_for};
use crate::host::Host;
use crate::invocation::QueryPurpose;
use crate::outcome::{text_of, window_words};
use crate::prompt::build_prompt;
use crate::report::Caller;
use crate::surface::hook_warning;

pub(crate) fn start(host: Arc<Host>, request: RunRequest) -> RunHandle {
    let run_id = request.label.run_id.clone();
    let (writer, handle) = run_channel(run_id, request.ingress_request_id.clone());
    let span = tracing::info_span!(
        "run",
        run_id = %request.label.run_id,
        trace_id = request.trace_id.as_deref().unwrap_or_default(),
    );
    tokio::spawn(tracing::Instrument::instrument(
        run_to_end(host, request, writer),
        span,
    ));
    handle
}

async fn run_to_end(host: Arc<Host>, request: RunRequest, writer: RunWriter) {
    let run_id = request.label.run_id.clone();
    let request_id = request.ingress_request_id.clone();
    // A slow listener must not delay child or billing.
    let (events, mut queue) = mpsc::unbounded_channel();
    let work = async move {
        let outcome = work(&host, request, &events).await;
        drop(events);
        outcome
    };
    let forward = async {
        while let Some(event) = queue.recv().await {
            writer.event(event).await;
        }
    };
    let ((result, usage), ()) = tokio::join!(work, forward);
    let last = RunFinal {
        run_id,
        request_id,
        result,
        usage,
    };
    writer.finish(last).await;
}

async fn work(
    host: &Host,
    request: RunRequest,
    events: &mpsc::UnboundedSender<RunEvent>,
) -> (Result<String, LlmError>, TokenUsage) {
    let RunRequest {
        role,
        system,
        messages,
        tools,
        step_budget,
        hook,
        cancel,
        label,
        ..
    } = request;
    if step_budget == 0 {
        let error = LlmError::new(
            LlmErrorKind::InvalidRequest,
            "the step budget must be at least 1",
        );
        return (Err(error), TokenUsage::default());
    }
    let query = build_prompt(&messages).and_then(|prompt| {
        let purpose = QueryPurpose::Loop {
            tools,
            budget: step_budget,
        };
        query_for(host, role, purpose, system, prompt, &label.stage)
    });
    let query = match query {
        Ok(query) => query,
        Err(error) => return (Err(error), TokenUsage::default()),
    };
    // Also if the caller cannot keep a message.
    let stop = cancel.child_token();
    let caller = Caller {
        role,
        label,
        cancel: stop.clone(),
    };
    let mut not_kept = None;
    let mut observe = |note: &ConversationNote| {
        if let (Some(hook), Some(message)) = (&hook, message_of(note))
            && let Err(error) = hook.after_message(&message)
        {
            stop.cancel();
            not_kept.get_or_insert(error);
        }
        if let Some(event) = event_of(note, &caller)
            && events.send(event).is_err()
        {
            tracing::trace!("no listener forwards the events of the run");
        }
    };
    let report = run(host, query, &caller, &mut observe).await;
    let result = match not_kept {
        Some(error) => Err(error),
        None => natural(host, role, &report).and_then(text_of),
    };
    (result, report.metrics.usage)
}

/// One part per block.
fn message_of(note: &ConversationNote) -> Option<Message> {
    let (role, block) = match note {
        ConversationNote::Block(block) => (MessageRole::Assistant, block.clone()),
        ConversationNote::ToolEnd {
            call_id,
            markdown,
            is_error,
        } => {
            let block = ContentBlock::ToolResult {
                tool_use_id: call_id.clone(),
                content: markdown.clone(),
                is_error: *is_error,
            };
            (MessageRole::User, block)
        }
        _ => return None,
    };
    Some(Message::of(role, block))
}

/// COG-06.
fn event_of(note: &ConversationNote, caller: &Caller) -> Option<RunEvent> {
    Some(match note {
        ConversationNote::Text(text) => RunEvent::TextDelta(text.clone()),
        ConversationNote::ToolStart {
            call_id,
            name,
            arguments,
        } => RunEvent::ToolCallStart {
            call_id: call_id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
        },
        ConversationNote::ToolEnd {
            call_id,
            markdown,
            is_error,
        } => RunEvent::ToolCallResult {
            call_id: call_id.clone(),
            markdown: markdown.clone(),
            is_error: *is_error,
        },
        ConversationNote::Usage(message) => RunEvent::UsageReport(caller.usage_fact(message)),
        ConversationNote::Retry { attempt, .. } => {
            let next = attempt.saturating_add(1);
            RunEvent::Status(format!("Claude did not answer; attempt {next} begins"))
        }
        ConversationNote::Compaction => {
            RunEvent::Status("the conversation is being summarized".to_owned())
        }
        ConversationNote::RateLimit(limit) if limit.status == "allowed_warning" => {
            RunEvent::Status(format!("{} is nearly reached", window_words(&limit.window)))
        }
        ConversationNote::Warning(warning) => RunEvent::Status(warning.clone()),
        ConversationNote::Hook(event) => RunEvent::Status(hook_warning(event)),
        ConversationNote::Payer(_)
        | ConversationNote::Verified(_)
        | ConversationNote::Step
        | ConversationNote::Block(_)
        | ConversationNote::Begun(_)
        | ConversationNote::FurtherTurn
        | ConversationNote::RateLimit(_) => return None,
    })
}
