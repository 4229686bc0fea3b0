//! One question in a conversation of its own (HOLO-33).

use std::collections::BTreeSet;

use ktx_llm_runtime::{
    CallLabel, Deltas, LlmError, LlmErrorKind, LlmRuntime, Message, MessageRole, RunEvent,
    RunFinal, RunRequest, UsageKind,
};
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::{ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::execution::{ExecutionResult, ToolCall, ToolResult};

/// The longest message, in characters (HOLO-45).
pub const LONGEST_MESSAGE: usize = 10_000;

/// Why a run has no answer when its turns are used up (HOLO-38).
const OUT_OF_TURNS: &str = "max_turns limit reached";

/// One question and what it may be answered with.
#[derive(Debug, Clone)]
pub struct Question {
    /// Instructions: trusted text of ours.
    pub system: String,
    /// What was said before.
    pub history: Vec<Message>,
    /// What is asked. May hold untrusted text.
    pub message: String,
    /// The tools that may be called.
    pub tools: ToolSet,
    /// Assistant turns allowed; at least 1.
    pub max_turns: u32,
    /// Whether the answer is wanted while it is written.
    pub deltas: Deltas,
    /// The stage that the calls are accounted to, such as `research`.
    pub stage: String,
    /// The run that the calls belong to.
    pub run_id: RunId,
    /// Stops the run.
    pub cancel: CancellationToken,
}

/// Why there is no result at all.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nothing was asked.
    #[error("the message is empty")]
    Empty,
    /// Too much was asked at once.
    #[error("the message has {length} characters, at most {LONGEST_MESSAGE} are taken")]
    TooLong {
        /// Its characters.
        length: usize,
    },
    /// The model failed.
    #[error("the model failed")]
    Model(#[source] LlmError),
}

/// Asks one question in a fresh conversation; `told` hears every event as it happens.
///
/// A tool that fails ends nothing, and turns that are used up are a result that says so.
///
/// # Errors
///
/// Messages that cannot be asked, and failures of the model.
pub async fn invoke_once(
    runtime: &dyn LlmRuntime,
    question: Question,
    mut told: impl FnMut(&RunEvent),
) -> Result<ExecutionResult, AskError> {
    check_message(&question.message)?;
    let mut messages = question.history;
    messages.push(Message::text(MessageRole::User, question.message));
    let run_id = question.run_id.clone();
    let mut run = runtime.start_run(RunRequest {
        role: ModelRole::Default,
        system: question.system,
        messages,
        tools: question.tools,
        step_budget: question.max_turns,
        deltas: question.deltas,
        hook: None,
        cancel: question.cancel,
        label: CallLabel {
            run_id: question.run_id,
            stage: question.stage,
            unit: None,
            connection: None,
        },
        trace_id: run_id.trace_id(),
        // Nobody stands between who asks and the run.
        ingress_request_id: Some(run_id.to_string()),
    });
    let mut seen = Seen::default();
    while let Some(event) = run.next_event().await {
        seen.take(&event);
        told(&event);
    }
    seen.closed_by(run.finish().await).map_err(AskError::Model)
}

fn check_message(message: &str) -> Result<(), AskError> {
    let length = message.chars().count();
    if message.trim().is_empty() {
        return Err(AskError::Empty);
    }
    if length > LONGEST_MESSAGE {
        return Err(AskError::TooLong { length });
    }
    Ok(())
}

/// What the events of a run have told.
#[derive(Default)]
struct Seen {
    /// Text since the last tool call.
    text: String,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    messages: BTreeSet<String>,
}

impl Seen {
    fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::TextDelta(text) => self.text.push_str(text),
            RunEvent::ToolCallStart {
                call_id,
                name,
                arguments,
            } => {
                self.text.clear();
                self.calls.push(ToolCall {
                    name: name.clone(),
                    arguments: arguments.clone(),
                    call_id: call_id.clone(),
                });
            }
            RunEvent::ToolCallResult {
                call_id,
                markdown,
                is_error,
            } => self.results.push(ToolResult {
                call_id: call_id.clone(),
                result: markdown.clone(),
                is_error: *is_error,
            }),
            RunEvent::UsageReport(fact) if fact.kind != UsageKind::Unattributed => {
                self.messages.insert(fact.message_id.clone());
            }
            _ => {}
        }
    }

    fn closed_by(self, last: RunFinal) -> Result<ExecutionResult, LlmError> {
        let (response, reason) = match last.result {
            Ok(text) => (text, None),
            Err(error) if error.kind == LlmErrorKind::MaxTurns => (self.text, Some(OUT_OF_TURNS)),
            Err(error) => return Err(error),
        };
        let turns = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        Ok(ExecutionResult {
            trace_id: last.run_id.trace_id(),
            run_id: last.run_id,
            response,
            tool_calls: self.calls,
            tool_results: self.results,
            token_usage: last.usage.into(),
            num_turns: turns.max(1),
            is_error: reason.is_some(),
            error_reason: reason.map(str::to_owned),
        })
    }
}
