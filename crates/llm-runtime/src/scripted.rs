//! A scripted runtime for tests. An unexpected operation is an error.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ktx_tool_descriptors::CallContext;
use serde_json::Value;
use tokio_util::future::FutureExt as _;

use crate::{
    BackendInfo, CallLabel, CallMetrics, ContentBlock, EventSink, LlmError, LlmErrorKind,
    LlmRuntime, LoopOutcome, LoopRequest, LoopStep, Message, MessageRole, ObjectOutcome,
    ObjectRequest, ProbeReport, ProbeRequest, RunEvent, RunFinal, RunHandle, RunRequest, RunWriter,
    RuntimeEvent, SourceSystem, StopReason, TextOutcome, TextRequest, TokenUsage, ToolTrace,
    UsageFact, UsageKind, run_channel, validated_object,
};

#[derive(Debug, Clone)]
pub enum Reply {
    Text(String),
    /// Fails if the schema disagrees.
    Object(Value),
    /// Calls one tool per turn, then answers with the text.
    Loop {
        calls: Vec<(String, Value)>,
        text: String,
    },
    Error(LlmError),
}

/// Answers a prompt; `None` uses the script.
type AnswerFunction = dyn Fn(&str) -> Option<Reply> + Send + Sync;

pub struct ScriptedRuntime {
    script: Mutex<VecDeque<Reply>>,
    answer: Option<Box<AnswerFunction>>,
    prompts: Mutex<Vec<String>>,
    events: Arc<dyn EventSink>,
}

impl std::fmt::Debug for ScriptedRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedRuntime").finish_non_exhaustive()
    }
}

impl ScriptedRuntime {
    /// Fails after the last answer.
    pub fn new(script: impl IntoIterator<Item = Reply>, events: Arc<dyn EventSink>) -> Self {
        Self {
            script: Mutex::new(script.into_iter().collect()),
            answer: None,
            prompts: Mutex::new(Vec::new()),
            events,
        }
    }

    pub fn answering(
        answer: impl Fn(&str) -> Option<Reply> + Send + Sync + 'static,
        events: Arc<dyn EventSink>,
    ) -> Self {
        Self {
            answer: Some(Box::new(answer)),
            ..Self::new([], events)
        }
    }

    pub fn prompts(&self) -> Vec<String> {
        self.prompts
            .lock()
            .map(|prompts| prompts.clone())
            .unwrap_or_default()
    }

    fn next(&self, prompt: &str) -> Result<Reply, LlmError> {
        let internal = || LlmError::new(LlmErrorKind::Internal, "the script is poisoned");
        self.prompts
            .lock()
            .map_err(|_| internal())?
            .push(prompt.to_owned());
        if let Some(reply) = self.answer.as_ref().and_then(|answer| answer(prompt)) {
            return Ok(reply);
        }
        let reply = self.script.lock().map_err(|_| internal())?.pop_front();
        reply.ok_or_else(|| LlmError::new(LlmErrorKind::Internal, "the script has no more answers"))
    }

    fn metrics(&self, label: &CallLabel, role: ktx_vocabulary::ModelRole) -> CallMetrics {
        let count = self
            .prompts
            .lock()
            .map(|prompts| prompts.len())
            .unwrap_or_default();
        let usage = TokenUsage {
            input: 10,
            output: 5,
            ..TokenUsage::default()
        };
        self.events.event(RuntimeEvent::Usage(UsageFact {
            kind: UsageKind::Message,
            run_id: label.run_id.clone(),
            attempt: 0,
            message_id: format!("scripted-{count}"),
            source_system: SourceSystem::Scripted,
            model: "scripted".to_owned(),
            location: None,
            role,
            stage: label.stage.clone(),
            unit: label.unit.clone(),
            connection: label.connection.clone(),
            usage,
        }));
        CallMetrics {
            usage,
            steps: 1,
            model: Some("scripted".to_owned()),
            ..CallMetrics::default()
        }
    }
}

fn unexpected(asked: &str, reply: &Reply) -> LlmError {
    LlmError::new(
        LlmErrorKind::Internal,
        format!("the script answers {asked} with {reply:?}"),
    )
}

#[async_trait]
impl LlmRuntime for ScriptedRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        if request.cancel.is_cancelled() {
            return Err(LlmError::cancelled());
        }
        match self.next(&request.prompt)? {
            Reply::Text(text) => Ok(TextOutcome {
                text,
                metrics: self.metrics(&request.label, request.role),
            }),
            Reply::Error(error) => Err(error),
            reply => Err(unexpected("a text request", &reply)),
        }
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        if request.cancel.is_cancelled() {
            return Err(LlmError::cancelled());
        }
        match self.next(&request.prompt)? {
            Reply::Object(value) => {
                let metrics = self.metrics(&request.label, request.role);
                let value = validated_object(value, &request.schema).map_err(|error| {
                    LlmError::new(
                        LlmErrorKind::StructuredOutput,
                        "the model's object does not match its schema",
                    )
                    .detail(error.to_string())
                })?;
                Ok(ObjectOutcome { value, metrics })
            }
            Reply::Error(error) => Err(error),
            reply => Err(unexpected("an object request", &reply)),
        }
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        if let Err(error) = request.checked() {
            return LoopOutcome::failed(error);
        }
        let (calls, text) = match self.next(&request.prompt) {
            Ok(Reply::Loop { calls, text }) => (calls, text),
            Ok(Reply::Error(error)) | Err(error) => return LoopOutcome::failed(error),
            Ok(reply) => return LoopOutcome::failed(unexpected("a loop", &reply)),
        };
        let mut metrics = self.metrics(&request.label, request.role);
        metrics.steps = 0;
        let mut tools = Vec::new();
        let turns = u32::try_from(calls.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        for (index, (name, arguments)) in calls.into_iter().enumerate() {
            if metrics.steps == request.step_budget {
                break;
            }
            let call_id = format!("call-{}", index + 1);
            let mut context = CallContext::detached(call_id.clone());
            context.cancel = request.cancel.clone();
            let answer = request.tools.call(&name, arguments.clone(), context).await;
            let (markdown, structured, is_error) = match answer {
                Ok(output) => (output.markdown, output.structured, false),
                Err(error) => (error.message, None, true),
            };
            metrics.tool_failures += u32::from(is_error);
            tools.push(ToolTrace {
                call_id,
                name,
                arguments,
                markdown,
                structured,
                is_error,
            });
            step(&request, &mut metrics);
            if request.cancel.is_cancelled() {
                return LoopOutcome {
                    tools,
                    metrics,
                    ..LoopOutcome::failed(LlmError::cancelled())
                };
            }
        }
        let budget = turns > request.step_budget;
        if !budget {
            step(&request, &mut metrics);
        }
        LoopOutcome {
            stop_reason: if budget {
                StopReason::Budget
            } else {
                StopReason::Natural
            },
            text: (!budget).then_some(text),
            error: None,
            tools,
            metrics,
        }
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        let (writer, handle) = run_channel(
            request.label.run_id.clone(),
            request.ingress_request_id.clone(),
        );
        let plan = match self.next(&last_words(&request.messages)) {
            Ok(Reply::Text(text)) => Ok((Vec::new(), text)),
            Ok(Reply::Loop { calls, text }) => Ok((calls, text)),
            Ok(Reply::Error(error)) | Err(error) => Err(error),
            Ok(reply) => Err(unexpected("a run", &reply)),
        };
        let usage = match &plan {
            Ok(_) => self.metrics(&request.label, request.role).usage,
            Err(_) => TokenUsage::default(),
        };
        tokio::spawn(async move {
            let result = match plan {
                Ok((calls, text)) => scripted_run(&request, &writer, calls, text).await,
                Err(error) => Err(error),
            };
            let last = RunFinal {
                run_id: request.label.run_id.clone(),
                request_id: request.ingress_request_id,
                result,
                usage,
            };
            writer.finish(last).await;
        });
        handle
    }

    async fn probe(&self, _request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        Ok(ProbeReport {
            facts: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn describe(&self) -> BackendInfo {
        BackendInfo {
            name: "scripted",
            payer: "nobody".to_owned(),
            ignored_fields: Vec::new(),
            continues_loops: false,
        }
    }
}

fn last_words(messages: &[Message]) -> String {
    let blocks = messages.last().map(|message| message.content.as_slice());
    let texts = blocks.unwrap_or_default().iter().map(|block| match block {
        ContentBlock::Text { text } => text.as_str(),
        ContentBlock::ToolResult { content, .. } => content.as_str(),
        _ => "",
    });
    texts.collect::<Vec<&str>>().join("\n")
}

async fn scripted_run(
    request: &RunRequest,
    writer: &RunWriter,
    calls: Vec<(String, Value)>,
    text: String,
) -> Result<String, LlmError> {
    let follow = |message: &Message| match &request.hook {
        Some(hook) => hook.after_message(message),
        None => Ok(()),
    };
    for (index, (name, arguments)) in calls.into_iter().enumerate() {
        if u32::try_from(index).unwrap_or(u32::MAX) >= request.step_budget {
            return Err(LlmError::new(LlmErrorKind::MaxTurns, "no more turns"));
        }
        let call_id = format!("use-{}", index + 1);
        let asked = Message::of(
            MessageRole::Assistant,
            ContentBlock::ToolUse {
                id: call_id.clone(),
                name: name.clone(),
                input: arguments.clone(),
                meta: serde_json::Map::new(),
            },
        );
        follow(&asked)?;
        let mut context = CallContext::detached(call_id.clone());
        context.cancel = request.cancel.child_token();
        let called = request.tools.call(&name, arguments, context);
        let called = called.with_cancellation_token(&request.cancel).await;
        if request.cancel.is_cancelled() {
            return Err(LlmError::cancelled());
        }
        let (content, is_error) = match called {
            Some(Ok(output)) => (output.markdown, false),
            Some(Err(error)) => (error.message, true),
            None => return Err(LlmError::cancelled()),
        };
        let answered = Message::of(
            MessageRole::User,
            ContentBlock::ToolResult {
                tool_use_id: call_id,
                content,
                is_error,
            },
        );
        follow(&answered)?;
    }
    writer.event(RunEvent::TextDelta(text.clone())).await;
    follow(&Message::text(MessageRole::Assistant, text.clone()))?;
    Ok(text)
}

fn step(request: &LoopRequest, metrics: &mut CallMetrics) {
    metrics.steps += 1;
    if let Some(on_step) = &request.on_step
        && let Err(reason) = on_step(LoopStep {
            index: metrics.steps,
            budget: request.step_budget,
        })
    {
        tracing::warn!(reason, "a step callback failed");
    }
}
