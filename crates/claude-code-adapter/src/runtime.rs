//! The runtime port over the local Claude Code session.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use ktx_llm_runtime::{
    BackendInfo, EventSink, LlmError, LlmErrorKind, LlmRuntime, LoopOutcome, LoopRequest, LoopStep,
    ObjectOutcome, ObjectRequest, ProbeReport, ProbeRequest, RunHandle, RunRequest, StopReason,
    TextOutcome, TextRequest, validated_object,
};
use ktx_vocabulary::ModelRole;

use crate::attempts::run;
use crate::conversation::ConversationNote;
use crate::exchange::{failure_of, natural, query_for};
use crate::host::Host;
use crate::invocation::QueryPurpose;
use crate::outcome::{ASK_ANOTHER, no_object, require_text, stop_reason_of, text_of};
use crate::report::{CallReport, Caller};
use crate::settings::ClaudeCodeSettings;

/// Every call is an isolated child of the user's `claude`.
pub struct ClaudeCodeRuntime {
    host: Arc<Host>,
}

impl std::fmt::Debug for ClaudeCodeRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaudeCodeRuntime").finish_non_exhaustive()
    }
}

impl ClaudeCodeRuntime {
    /// Starts no process. Fails without a default model, or with a relative project directory.
    pub fn new(settings: ClaudeCodeSettings, events: Arc<dyn EventSink>) -> Result<Self, LlmError> {
        Ok(Self {
            host: Arc::new(Host::new(settings.checked()?, events)),
        })
    }
}

fn nothing(_note: &ConversationNote) {}

#[async_trait]
impl LlmRuntime for ClaudeCodeRuntime {
    async fn generate_text(&self, request: TextRequest) -> Result<TextOutcome, LlmError> {
        let TextRequest {
            role,
            system,
            prompt,
            cancel,
            label,
        } = request;
        let query = query_for(
            &self.host,
            role,
            QueryPurpose::Text,
            system,
            prompt,
            &label.stage,
        )?;
        let caller = Caller {
            role,
            label,
            cancel,
        };
        let report = run(&self.host, query, &caller, &mut nothing).await;
        let result = natural(&self.host, role, &report)?;
        Ok(TextOutcome {
            text: text_of(result)?,
            metrics: report.metrics,
        })
    }

    async fn generate_object(&self, request: ObjectRequest) -> Result<ObjectOutcome, LlmError> {
        let ObjectRequest {
            role,
            system,
            prompt,
            schema,
            cancel,
            label,
        } = request;
        let purpose = QueryPurpose::Object(schema.clone());
        let query = query_for(&self.host, role, purpose, system, prompt, &label.stage)?;
        let caller = Caller {
            role,
            label,
            cancel,
        };
        let report = run(&self.host, query, &caller, &mut nothing).await;
        let value = object_of(&self.host, role, &report)?;
        let value = validated_object(value, &schema).map_err(|error| {
            LlmError::new(
                LlmErrorKind::StructuredOutput,
                "the model's object does not match its schema",
            )
            .hint(ASK_ANOTHER)
            .detail(error.to_string())
        })?;
        Ok(ObjectOutcome {
            value,
            metrics: report.metrics,
        })
    }

    async fn run_agent_loop(&self, request: LoopRequest) -> LoopOutcome {
        if let Err(error) = request.checked() {
            return LoopOutcome::failed(error);
        }
        let LoopRequest {
            role,
            system,
            prompt,
            tools,
            step_budget,
            on_step,
            // Children keep no session.
            transcript: _,
            cancel,
            label,
        } = request;
        let purpose = QueryPurpose::Loop {
            tools,
            budget: step_budget,
        };
        let query = match query_for(&self.host, role, purpose, system, prompt, &label.stage) {
            Ok(query) => query,
            Err(error) => return LoopOutcome::failed(error),
        };
        let caller = Caller {
            role,
            label,
            cancel,
        };
        let mut index = 0;
        let mut observe = |note: &ConversationNote| {
            if *note == ConversationNote::Step {
                index += 1;
                if let Some(on_step) = &on_step {
                    let step = LoopStep {
                        index,
                        budget: step_budget,
                    };
                    match catch_unwind(AssertUnwindSafe(|| on_step(step))) {
                        Ok(Ok(())) => {}
                        Ok(Err(reason)) => tracing::warn!(reason, "a step callback failed"),
                        Err(_) => tracing::warn!("a step callback panicked"),
                    }
                }
            }
        };
        let report = run(&self.host, query, &caller, &mut observe).await;
        loop_outcome(&self.host, role, report)
    }

    fn start_run(&self, request: RunRequest) -> RunHandle {
        crate::run::start(Arc::clone(&self.host), request)
    }

    async fn probe(&self, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
        crate::probe::probe(&self.host, request).await
    }

    async fn settle(&self) {
        self.host.spares.wait_for_exits().await;
    }

    fn describe(&self) -> BackendInfo {
        BackendInfo {
            name: "claude-code",
            payer: self.host.payer(),
            ignored_fields: self.host.settings.ignored_caching_fields.clone(),
            continues_loops: false,
        }
    }
}

/// Accepted means paid and complete, even after a turn limit, budget or crash.
fn object_of(
    host: &Host,
    role: ModelRole,
    report: &CallReport,
) -> Result<serde_json::Value, LlmError> {
    let missing = match natural(host, role, report) {
        Ok(result) => return result.object.ok_or_else(no_object),
        Err(error) => error,
    };
    let result = report.ending.as_ref().ok();
    let accepted = result.and_then(|result| result.object.clone());
    match (&missing.kind, accepted.or_else(|| report.accepted.clone())) {
        (LlmErrorKind::Cancelled | LlmErrorKind::Isolation | LlmErrorKind::Protocol, _) => {
            Err(missing)
        }
        (_, Some(object)) => Ok(object),
        (_, None) => Err(missing),
    }
}

fn loop_outcome(host: &Host, role: ModelRole, report: CallReport) -> LoopOutcome {
    let (stop_reason, text, error) = match &report.ending {
        // Some versions count no turns (KTX-64).
        Err(error) if error.kind == LlmErrorKind::MaxTurns => (StopReason::Budget, None, None),
        Err(error) => (StopReason::Error, None, Some(error.clone())),
        Ok(result) => match stop_reason_of(result) {
            StopReason::Natural => match require_text(result) {
                // It may have ended with a tool.
                Ok(()) => {
                    let text = result.text.clone().filter(|text| !text.is_empty());
                    (StopReason::Natural, text, None)
                }
                Err(error) => (StopReason::Error, None, Some(error)),
            },
            StopReason::Budget => (StopReason::Budget, None, None),
            StopReason::Error => {
                let error = failure_of(host, role, result, &report);
                (StopReason::Error, None, Some(error))
            }
        },
    };
    LoopOutcome {
        stop_reason,
        text,
        error,
        tools: report.tools,
        metrics: report.metrics,
    }
}
