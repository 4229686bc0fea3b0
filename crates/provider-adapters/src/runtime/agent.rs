//! The loop of model turns and tool calls.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ktx_llm_runtime::{
    CallSettings, ContentBlock, LlmError, LlmErrorKind, LoopOutcome, LoopStep, Message,
    MessageRole, RunEvent, RunFinal, RunRequest, RunWriter, SPANS, StepCallback, StepPlan,
    StopReason, ThinkingSetting, TokenUsage, ToolTrace, Transcript, TurnHook,
};
use ktx_tool_descriptors::{ResultParts, ToolSet};
use tracing::Instrument as _;
use tracing::field::Empty;

use super::role_model::RoleModel;
use super::{RuntimeOperation, RuntimeState, abilities, tool_calls, usable};
use crate::http::drop_reasoning;
use crate::wire::failure::ASK_ANOTHER;
use crate::wire::request::{CanonicalRequest, Thinking, ToolSpec};
use crate::wire::response::{Response, ResponseEnd};

/// After this many refusals, ktx returns no signatures to the provider.
const SIGNATURE_REFUSALS: u32 = 1;

pub(super) struct LoopTask<'a> {
    pub(super) system: &'a str,
    pub(super) messages: Vec<Message>,
    pub(super) tools: &'a ToolSet,
    pub(super) step_budget: u32,
    pub(super) on_step: Option<&'a StepCallback>,
    pub(super) transcript: Option<&'a dyn Transcript>,
    pub(super) hook: Option<&'a dyn TurnHook>,
    pub(super) settings: CallSettings,
}

struct LoopEnd {
    stop_reason: StopReason,
    text: Option<String>,
    error: Option<LlmError>,
}

pub(super) async fn run(mut operation: RuntimeOperation<'_>, task: LoopTask<'_>) -> LoopOutcome {
    let mut traces = Vec::new();
    let end = turns(&mut operation, task, &mut traces).await;
    let end = end.unwrap_or_else(|error| LoopEnd {
        stop_reason: StopReason::Error,
        text: None,
        error: Some(error),
    });
    LoopOutcome {
        stop_reason: end.stop_reason,
        text: end.text,
        error: end.error,
        tools: traces,
        metrics: operation.metrics(),
    }
}

async fn turns(
    operation: &mut RuntimeOperation<'_>,
    task: LoopTask<'_>,
    traces: &mut Vec<ToolTrace>,
) -> Result<LoopEnd, LlmError> {
    let mut conversation = LoopConversation::new(&task, operation, traces);
    let done = conversation.finish_pending_calls(operation).await?;
    if let Some(end) = conversation.earlier_end() {
        return Ok(end);
    }
    for index in done + 1..=task.step_budget {
        conversation.apply_hook().await?;
        let refused_before = operation.refused_signatures;
        let response = traced_turn(operation, &conversation.request, index).await?;
        if operation.refused_signatures > refused_before {
            // Every further turn would be refused first.
            drop_reasoning(&mut conversation.request.messages);
        }
        notify_step(task.on_step, index, task.step_budget);
        let response = continuable(response, conversation.request.max_output)?;
        let calls = response.calls();
        if calls.is_empty() && response.stop != ResponseEnd::Pause {
            let text = response.text();
            conversation.record(&assistant(operation.role_model, &response))?;
            return Ok(natural(text));
        }
        conversation.answer(operation, response).await?;
        if operation.refused_signatures > SIGNATURE_REFUSALS {
            drop_reasoning(&mut conversation.request.messages);
        }
    }
    Ok(LoopEnd {
        stop_reason: StopReason::Budget,
        text: None,
        error: None,
    })
}

struct LoopConversation<'a> {
    request: CanonicalRequest,
    tools: &'a ToolSet,
    transcript: Option<&'a dyn Transcript>,
    hook: Option<&'a dyn TurnHook>,
    parts: ResultParts,
    traces: &'a mut Vec<ToolTrace>,
}

impl<'a> LoopConversation<'a> {
    fn new(
        task: &LoopTask<'a>,
        operation: &RuntimeOperation<'_>,
        traces: &'a mut Vec<ToolTrace>,
    ) -> Self {
        let settings = abilities::of(operation.role_model).accepted(&task.settings);
        // Some models refuse both together.
        let usual = settings.top_p.is_none().then_some(0.0);
        Self {
            request: CanonicalRequest {
                system: task.system.to_owned(),
                messages: task.messages.clone(),
                tools: specs(task.tools),
                thinking: match settings.thinking {
                    None => Thinking::On,
                    Some(ThinkingSetting::Off) => Thinking::Off,
                    Some(ThinkingSetting::Budget(tokens)) => Thinking::Budget(tokens),
                    Some(ThinkingSetting::Effort(effort)) => Thinking::Effort(effort),
                },
                temperature: settings.temperature.or(usual),
                top_p: settings.top_p,
                max_output: settings.max_output,
                caching: Some(operation.inner.caching),
                ..CanonicalRequest::default()
            },
            tools: task.tools,
            transcript: task.transcript,
            hook: task.hook,
            parts: ResultParts::default(),
            traces,
        }
    }

    /// Runs unanswered tool calls of the continued loop. Returns its number of turns.
    async fn finish_pending_calls(
        &mut self,
        operation: &mut RuntimeOperation<'_>,
    ) -> Result<u32, LlmError> {
        let mut earlier = self.transcript.map(Transcript::earlier).unwrap_or_default();
        let turns = earlier
            .iter()
            .filter(|message| message.role == MessageRole::Assistant)
            .count();
        let last = earlier.pop_if(|message| {
            let calls = |block: &ContentBlock| matches!(block, ContentBlock::ToolUse { .. });
            message.role == MessageRole::Assistant && message.content.iter().any(calls)
        });
        self.request.messages.extend(earlier);
        if let Some(last) = last {
            let results = self
                .results(operation, &Response::earlier(last.content.clone()))
                .await;
            self.request.messages.push(last);
            self.take(operation, results)?;
        }
        Ok(u32::try_from(turns).unwrap_or(u32::MAX))
    }

    fn earlier_end(&self) -> Option<LoopEnd> {
        let last = self.request.messages.last()?;
        let is_answer = self.transcript.is_some() && last.role == MessageRole::Assistant;
        is_answer.then(|| natural(Response::earlier(last.content.clone()).text()))
    }

    async fn apply_hook(&mut self) -> Result<(), LlmError> {
        let Some(hook) = self.hook else {
            return Ok(());
        };
        match hook.before_step().await? {
            StepPlan::Continue => {}
            StepPlan::Append(messages) => self.request.messages.extend(messages),
            StepPlan::Replace(messages) => self.request.messages = messages,
        }
        Ok(())
    }

    async fn answer(
        &mut self,
        operation: &mut RuntimeOperation<'_>,
        response: Response,
    ) -> Result<(), LlmError> {
        let answer = assistant(operation.role_model, &response);
        let has_calls = !response.calls().is_empty();
        if has_calls {
            // The turn is billed, whatever happens to its calls.
            self.record(&answer)?;
        }
        let results = self.results(operation, &response).await;
        self.request.messages.push(answer.clone());
        if !has_calls {
            self.record(&answer)?;
        }
        self.take(operation, results)
    }

    async fn results(
        &mut self,
        operation: &mut RuntimeOperation<'_>,
        response: &Response,
    ) -> Vec<ToolTrace> {
        let results = tool_calls::execute(operation, self.tools, &mut self.parts, response).await;
        let failed = results.iter().filter(|trace| trace.is_error).count();
        operation.metrics.tool_failures += u32::try_from(failed).unwrap_or(u32::MAX);
        results
    }

    /// Does not store results of canceled calls: a continuing loop runs those again.
    fn take(
        &mut self,
        operation: &RuntimeOperation<'_>,
        results: Vec<ToolTrace>,
    ) -> Result<(), LlmError> {
        let content = results.iter().map(tool_calls::block).collect();
        let message = Message::new(MessageRole::User, content);
        self.traces.extend(results);
        if operation.cancel.is_cancelled() {
            return Err(LlmError::cancelled());
        }
        self.record(&message)?;
        self.request.messages.push(message);
        Ok(())
    }

    fn record(&self, message: &Message) -> Result<(), LlmError> {
        if let Some(transcript) = self.transcript {
            transcript.record(message);
        }
        self.hook.map_or(Ok(()), |hook| hook.after_message(message))
    }
}

fn assistant(role_model: &RoleModel, response: &Response) -> Message {
    let mut message = Message::new(MessageRole::Assistant, response.content.clone());
    if role_model.stores() {
        message.metadata.response_id.clone_from(&response.draft.id);
    }
    message
}

fn natural(text: String) -> LoopEnd {
    LoopEnd {
        stop_reason: StopReason::Natural,
        text: (!text.is_empty()).then_some(text),
        error: None,
    }
}

async fn traced_turn(
    operation: &mut RuntimeOperation<'_>,
    request: &CanonicalRequest,
    index: u32,
) -> Result<Response, LlmError> {
    let model = operation.role_model.facts.id.as_str();
    let span = tracing::info_span!(
        target: SPANS,
        "turn",
        otel.name = format!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = operation.inner.provider.trace_name(),
        gen_ai.request.model = model,
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        ktx.step = index,
        error.type = Empty,
        otel.status_description = Empty,
    );
    let outcome = operation.turn(request).instrument(span.clone()).await;
    if let Err(error) = &outcome {
        span.record("error.type", error.kind.code().as_str());
        span.record("otel.status_description", error.message.as_str());
    }
    outcome
}

/// An error answers a truncated tool call.
fn continuable(response: Response, permitted: Option<u64>) -> Result<Response, LlmError> {
    if response.stop != ResponseEnd::MaxOutput {
        return usable(response);
    }
    if !response.calls().is_empty() {
        return Ok(response);
    }
    match permitted {
        // Another model would stop there too.
        Some(tokens) => Err(LlmError::new(
            LlmErrorKind::MaxOutput,
            format!("the answer exceeds the requested limit of {tokens} tokens"),
        )
        .hint("ask for a larger limit or a shorter answer")),
        None => usable(response),
    }
}

fn specs(tools: &ToolSet) -> Vec<ToolSpec> {
    tools
        .iter()
        .map(|tool| ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: ktx_tool_descriptors::plain_schema(&tool.input_schema),
        })
        .collect()
}

/// Its errors and panics end nothing (KTX-69).
fn notify_step(on_step: Option<&StepCallback>, index: u32, budget: u32) {
    let Some(on_step) = on_step else {
        return;
    };
    match catch_unwind(AssertUnwindSafe(|| on_step(LoopStep { index, budget }))) {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => tracing::warn!(reason, "a step callback failed"),
        Err(_) => tracing::warn!("a step callback panicked"),
    }
}

pub(super) async fn run_with_events(
    inner: &RuntimeState,
    request: &RunRequest,
    writer: &RunWriter,
) -> RunFinal {
    tracing::debug!("a run starts");
    let (result, usage) = outcome(inner, request, writer).await;
    RunFinal {
        run_id: request.label.run_id.clone(),
        request_id: request.ingress_request_id.clone(),
        result,
        usage,
    }
}

async fn outcome(
    inner: &RuntimeState,
    request: &RunRequest,
    writer: &RunWriter,
) -> (Result<String, LlmError>, TokenUsage) {
    if request.step_budget == 0 {
        let message = "the step budget must be at least 1";
        let error = LlmError::new(LlmErrorKind::InvalidRequest, message);
        return (Err(error), TokenUsage::default());
    }
    let mut operation = match inner.operation(request.role, &request.label, &request.cancel) {
        Ok(operation) => operation,
        Err(error) => return (Err(error), TokenUsage::default()),
    };
    operation.writer = Some(writer);
    operation.deltas = request.deltas;
    writer
        .event(RunEvent::Status(format!(
            "asking {}",
            operation.role_model.facts.id
        )))
        .await;
    let task = LoopTask {
        system: &request.system,
        messages: request.messages.clone(),
        tools: &request.tools,
        step_budget: request.step_budget,
        on_step: None,
        transcript: None,
        hook: request.hook.as_deref(),
        settings: request.settings.clone(),
    };
    let outcome = run(operation, task).await;
    let usage = outcome.metrics.usage;
    let result = match (outcome.stop_reason, outcome.error) {
        (StopReason::Natural, _) => Ok(outcome.text.unwrap_or_default()),
        (StopReason::Budget, _) => Err(LlmError::new(
            LlmErrorKind::MaxTurns,
            format!(
                "the {} turns were used up before the answer",
                request.step_budget
            ),
        )
        .hint(ASK_ANOTHER)),
        (StopReason::Error, Some(error)) => Err(error),
        (StopReason::Error, None) => Err(LlmError::new(
            LlmErrorKind::Internal,
            "the run failed without a reason",
        )),
    };
    (result, usage)
}
