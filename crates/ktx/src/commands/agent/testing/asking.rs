//! Asks the agent, with one session per attempt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use ktx_agent_eval::{
    AgentRunner, AskEffect, AskError, AttemptRequest, Case, Conversation, ToolCall, Truth, TurnEnd,
    TurnRecord, Usage,
};
use ktx_agent_file as file;
use ktx_agent_session::{
    ASK_AGENT, Agent, AgentBackend, AgentSessionError, AskError as SessionAskError, Delegation,
    ExecutionResult, Fresh, OnAsk, SessionSettings, Sessions, TurnStart,
};
use ktx_diagnostics::Failure;
use ktx_llm_runtime::{Deltas, LlmErrorKind};
use ktx_session_log::SessionId;
use ktx_usage_ledger::Limits;
use tokio_util::sync::CancellationToken;

use super::arms::{Arm, ArmPlan};
use super::attachments::message_of;
use super::colleagues::TestColleagues;
use super::gold::told;
use super::usage::TestSink;
use crate::commands::agent::session_store;
use crate::compose::RecordingSink;
use crate::invocation::{CommandContext, Invocation};

const STAGE: &str = "test";

/// Added in every arm if a value or text is compared.
const ANSWER_LINE: &str = "End with a line `Answer: …` that holds nothing but the value.";

pub(super) struct AskedArm<'a> {
    pub(super) arm: Arc<Arm>,
    pub(super) backend: AgentBackend<'a>,
    pub(super) plan: ArmPlan,
}

pub(super) struct SessionRunner<'a> {
    pub(super) context: CommandContext<'a>,
    pub(super) sessions: Sessions,
    pub(super) arms: BTreeMap<String, AskedArm<'a>>,
    pub(super) cases: BTreeMap<&'a str, &'a file::Case>,
    pub(super) usage: Arc<TestSink>,
    pub(super) limits: Limits,
    pub(super) cancel: CancellationToken,
    pub(super) failure: Mutex<Option<Failure>>,
}

#[async_trait]
impl AgentRunner for SessionRunner<'_> {
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError> {
        let unusable = |failure: Failure| without_answer(told(&failure), AskEffect::Unusable);
        let invocation = self.context.invocation.next_run().map_err(unusable)?;
        let id = session_store::new_id(&invocation, &attempt.case.name).map_err(unusable)?;
        let Some(asked) = self.arms.get(attempt.arm) else {
            let message = format!("there is no arm `{}`", attempt.arm);
            return Err(without_answer(message, AskEffect::Unusable));
        };
        let run_id = invocation.run_id.clone();
        let delegation = self.delegation(asked, invocation);
        let conversation = CaseSession {
            runner: self,
            asked,
            settings: SessionSettings {
                agent: self.agent_for(attempt.case, asked).await?,
                on_ask: OnAsk::Deny,
                deltas: Deltas::ByTurn,
                stage: STAGE.to_owned(),
                run_id: run_id.clone(),
                delegation,
                previews: None,
            },
            id,
        };
        let asked = Box::pin(conversation.hold(attempt)).await;
        let usage = self.usage.spent(&run_id);
        match asked {
            Ok(conversation) => Ok(Conversation {
                usage,
                ..conversation
            }),
            Err(error) => Err(AskError { usage, ..error }),
        }
    }
}

fn without_answer(message: String, effect: AskEffect) -> AskError {
    AskError {
        message,
        effect,
        usage: Usage::NOTHING,
    }
}

impl SessionRunner<'_> {
    pub(super) fn first_failure(&self) -> Option<Failure> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    fn note(&self, error: impl Into<Failure>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| error.into());
    }

    pub(super) async fn close(&self) {
        for asked in self.arms.values() {
            asked.backend.teardown().await;
        }
    }

    fn delegation(&self, asked: &AskedArm<'_>, invocation: Invocation) -> Option<Delegation> {
        let plan = asked.plan.for_colleagues(&asked.arm.agent)?;
        Some(Delegation {
            sessions: self.sessions.clone(),
            delegates: Arc::new(TestColleagues {
                invocation,
                dir: self.context.project.dir.clone(),
                printer: self.context.printer.clone(),
                limits: self.limits,
                sink: Arc::clone(&self.usage) as Arc<dyn RecordingSink>,
                plan,
            }),
            level: 0,
        })
    }

    async fn agent_for(&self, case: &Case, asked: &AskedArm<'_>) -> Result<Agent, AskError> {
        let arm = &asked.arm;
        let mut agent = arm.agent.clone();
        let mut added = Vec::new();
        if let Some(today) = self.of_file(case).and_then(|case| case.as_of.as_deref()) {
            added.push(format!("Today is {today}."));
        }
        if self.arms.len() > 1 {
            let names = arm.toolbox.names(self.context).await;
            let names = names.map_err(|failure| self.unavailable(failure))?;
            let mut names = names;
            let others = asked.plan.for_colleagues(&agent);
            names.extend(others.map(|_| ASK_AGENT.to_owned()));
            let names: Vec<String> = names.iter().map(|it| format!("`{it}`")).collect();
            added.push(format!("Your tools: {}.", names.join(", ")));
        }
        let mut truths = case.turns.iter().flat_map(|turn| &turn.truths);
        if truths.any(|truth| matches!(truth, Truth::Text(_) | Truth::Value(_))) {
            added.push(ANSWER_LINE.to_owned());
        }
        if !added.is_empty() {
            let before = agent.instructions.trim_end();
            agent.instructions = format!("{before}\n\n{}", added.join("\n"));
        }
        Ok(agent)
    }

    /// The model or a tool is unavailable for all cases.
    fn unavailable(&self, failure: Failure) -> AskError {
        let message = told(&failure);
        self.note(failure);
        without_answer(message, AskEffect::Unusable)
    }

    fn of_file(&self, case: &Case) -> Option<&file::Case> {
        self.cases.get(case.name.as_str()).copied()
    }
}

struct CaseSession<'a> {
    runner: &'a SessionRunner<'a>,
    asked: &'a AskedArm<'a>,
    settings: SessionSettings,
    id: SessionId,
}

impl CaseSession<'_> {
    async fn hold(self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError> {
        let begun = Instant::now();
        let id = self.id.to_string();
        let results = Arc::clone(&self.asked.arm.results);
        let files = self.runner.of_file(attempt.case);
        let project = &self.runner.context.project.dir;
        let mut messages = Vec::new();
        for (index, turn) in attempt.case.turns.iter().enumerate() {
            let files = files.and_then(|case| case.turns.get(index));
            let message = message_of(&turn.input, files, project);
            messages.push(message.map_err(|why| without_answer(why, AskEffect::Lasting))?);
        }
        let mut conversation = Conversation {
            session: Some(id.clone()),
            ..Conversation::default()
        };
        let mut keep = |result: ExecutionResult| {
            let is_cut = result.is_error;
            conversation.turns.push(TurnRecord {
                rows: results.take(&id),
                ..record_of(result)
            });
            if is_cut {
                conversation.end = TurnEnd::OutOfSteps;
            }
            is_cut
        };
        let runner = self.runner;
        let backend = &self.asked.backend;
        let fresh = Fresh {
            sessions: &runner.sessions,
            id: self.id,
            settings: self.settings,
        };
        let stop = runner.cancel.child_token();
        if let [message] = messages.as_slice() {
            let asked = backend.invoke_once(fresh, message, &stop);
            keep(Box::pin(runner.in_time(asked, &stop, attempt.stop)).await?);
        } else {
            let session = backend
                .begin_session(fresh)
                .map_err(|error| runner.without_answer(error))?;
            for message in &messages {
                let asked = session.send(TurnStart::Question(message.into()), &stop);
                if keep(Box::pin(runner.in_time(asked, &stop, attempt.stop)).await?) {
                    break;
                }
            }
        }
        conversation.seconds = begun.elapsed().as_secs_f64();
        Ok(conversation)
    }
}

impl SessionRunner<'_> {
    /// Stops the turn at the time limit of the case.
    async fn in_time(
        &self,
        asked: impl Future<Output = Result<ExecutionResult, AgentSessionError>> + Send,
        stop: &CancellationToken,
        out_of_time: &CancellationToken,
    ) -> Result<ExecutionResult, AskError> {
        tokio::pin!(asked);
        let asked = tokio::select! {
            asked = &mut asked => asked,
            () = out_of_time.cancelled() => {
                stop.cancel();
                asked.await
            }
        };
        asked.map_err(|error| self.without_answer(error))
    }

    fn without_answer(&self, error: AgentSessionError) -> AskError {
        match error {
            AgentSessionError::Equipment(failure) => self.unavailable(*failure),
            AgentSessionError::Ask(error) => {
                let effect = effect_of(&error);
                let message = match error {
                    SessionAskError::Model(error) => {
                        let message = format!("{}: {}", error.kind.code(), error.message);
                        self.note(error);
                        message
                    }
                    other => other.to_string(),
                };
                without_answer(message, effect)
            }
            other => without_answer(other.to_string(), AskEffect::Unusable),
        }
    }
}

const fn effect_of(error: &SessionAskError) -> AskEffect {
    match error {
        SessionAskError::Model(error) => match error.kind {
            LlmErrorKind::Budget => AskEffect::Budget,
            LlmErrorKind::Cancelled => AskEffect::Cancelled,
            LlmErrorKind::Auth
            | LlmErrorKind::Billing
            | LlmErrorKind::ModelNotFound
            | LlmErrorKind::Isolation
            | LlmErrorKind::Process => AskEffect::Unusable,
            kind if kind.is_retryable() => AskEffect::Retry,
            _ => AskEffect::Lasting,
        },
        SessionAskError::Session(_) => AskEffect::Unusable,
        _ => AskEffect::Lasting,
    }
}

fn record_of(result: ExecutionResult) -> TurnRecord {
    let calls = result.tool_calls.into_iter().map(|call| ToolCall {
        name: call.name,
        arguments: call.arguments,
    });
    let found = result.tool_results.into_iter();
    TurnRecord {
        answer: result.response,
        structured: result.structured_output,
        calls: calls.collect(),
        found: found
            .filter(|result| !result.is_error)
            .map(|result| result.result)
            .collect(),
        rows: None,
    }
}
