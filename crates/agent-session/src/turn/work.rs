//! The steps of one turn, and its end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ktx_llm_runtime::{
    Ability, CallLabel, LlmError, LlmErrorKind, LlmRuntime, RunEvent, RunFinal, RunHandle,
    RunRequest, TokenUsage,
};
use ktx_tool_descriptors::{ToolDescriptor, ToolSet, ToolSetError};
use ktx_vocabulary::ModelRole;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::follower::{Between, Compress, Follower};
use super::{AskError, Turn, WaitingCall, structured};
use crate::approvals::{Approvals, Halt};
use crate::calls::{Calls, Settled};
use crate::compaction::Compressor;
use crate::delegation::Others;
use crate::event::{Breakpoint, Call, CallState, Cause, Event, Phase, Severity, TurnEnd};
use crate::execution::{ExecutionResult, Seen};
use crate::history::History;
use crate::manuals;
use crate::reminders::Reminders;
use crate::session::{Session, SessionError};
use crate::todo;

/// Maximum events of a run recorded with one write.
const MOST_AT_ONCE: usize = 64;

pub(super) struct TurnRun<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) runtime: &'a dyn LlmRuntime,
    pub(super) turn: Turn,
    pub(super) stop: CancellationToken,
    approvals: Arc<Approvals>,
    calls: Calls,
    tools: ToolSet,
    others: Option<Arc<Others>>,
    compressor: Compressor<'a>,
    reminders: Option<Arc<Reminders>>,
}

impl<'a> TurnRun<'a> {
    pub(super) fn new(
        session: &'a Arc<Session>,
        runtime: &'a dyn LlmRuntime,
        turn: Turn,
        stop: CancellationToken,
    ) -> Result<Self, ToolSetError> {
        let approvals = Approvals::new(
            turn.agent.permissions.clone(),
            turn.on_ask.clone(),
            stop.clone(),
        );
        let approvals = Arc::new(approvals.with_previews(turn.previews.clone()));
        let reminders = turn.agent.todo.map(|every| {
            let step = session.look(History::step);
            Arc::new(Reminders::new(every, step))
        });
        let abilities = runtime.abilities(ModelRole::Default);
        // Never both.
        let (between, with_results) = match reminders {
            Some(reminders) if abilities.has(Ability::BetweenSteps) => (Some(reminders), None),
            reminders => (None, reminders),
        };
        let others = Others::of(session, &turn, &stop);
        let agent = Arc::new(turn.agent.clone());
        let calls = Calls::new(
            session,
            agent,
            Arc::clone(&approvals),
            with_results,
            others.clone(),
        );
        let mut tools: Vec<ToolDescriptor> = turn.tools.iter().cloned().collect();
        if turn.agent.todo.is_some() {
            tools.extend(todo::tools(session));
        }
        tools.extend(others.as_ref().map(|others| others.tool()));
        let tools = ToolSet::new(tools)?;
        let compressor = Compressor {
            session,
            runtime,
            settings: turn.agent.context.clone(),
            run_id: turn.run_id.clone(),
            stop: stop.clone(),
            done: AtomicBool::new(false),
        };
        Ok(Self {
            session,
            runtime,
            turn,
            stop,
            approvals,
            calls,
            tools,
            others,
            compressor,
            reminders: between,
        })
    }

    fn between(&self, compress: mpsc::UnboundedSender<Compress>) -> Between {
        Between {
            most_questions: self.turn.agent.max_messages,
            reminders: self.reminders.clone(),
            tools: Some(self.tools.clone()),
            compress: Some(compress),
        }
    }

    pub(super) async fn take_steps(&self) -> Result<ExecutionResult, AskError> {
        let settled = self.settle_left_calls().await;
        if settled == Settled::Waits {
            self.approvals.halt(Halt::Parked);
        }
        if self.approvals.halted().is_some() {
            return self.ended(Err(LlmError::cancelled())).await;
        }
        self.session.close_step()?;
        self.session.tell_manuals(&manuals::names(&self.tools))?;
        let answer = || self.session.look(History::answer);
        if answer().is_none() {
            self.session.remind_of_files(&self.tools)?;
            self.session.join_queued(self.turn.agent.max_messages)?;
        }
        let result = match answer() {
            // An earlier process stopped before it structured the answer.
            Some(answer) => self.answered_before(answer),
            None => self.ask_until_answered().await?,
        };
        let result = match (result, &self.turn.agent.response_format) {
            (Ok(result), Some(schema)) if !result.is_error => {
                self.session.record(&Event::Answered)?;
                match structured::object_of(self, schema, &result.response).await {
                    Ok(outcome) => Ok(structured::keep(self, outcome, result)?),
                    Err(error) => Err(error),
                }
            }
            (result, _) => result,
        };
        self.ended(result).await
    }

    /// Begins calls allowed since an earlier process, and asks about waiting ones.
    async fn settle_left_calls(&self) -> Settled {
        let left: Vec<Call> = self
            .session
            .look(|history| history.open_calls().cloned().collect());
        let (allowed, waiting): (Vec<Call>, Vec<Call>) = left
            .into_iter()
            .partition(|call| call.state == CallState::Approved);
        let mut settled = Settled::Over;
        for call in allowed {
            settled = settled.and(self.begin_left(call).await);
        }
        for call in waiting {
            if call.state == CallState::ApprovalRequired {
                self.calls.ask_again(call.clone(), &self.stop).await;
            }
            let now = self.session.look(|history| history.call(&call.id).cloned());
            if let Some(call) = now
                && call.state == CallState::Approved
            {
                settled = settled.and(self.begin_left(call).await);
            }
        }
        settled
    }

    async fn begin_left(&self, call: Call) -> Settled {
        self.calls.go_on(call, &self.tools, &self.stop).await
    }

    fn answered_before(&self, answer: String) -> Result<ExecutionResult, LlmError> {
        Seen::default().closed_by(RunFinal {
            run_id: self.turn.run_id.clone(),
            request_id: None,
            result: Ok(answer),
            usage: TokenUsage::default(),
        })
    }

    /// Asks again while new messages come.
    async fn ask_until_answered(&self) -> Result<Result<ExecutionResult, LlmError>, SessionError> {
        let most = self.turn.agent.max_messages;
        let mut result = self.ask_model().await?;
        while let Ok(answer) = &result
            && !answer.is_error
            && self.approvals.halted().is_none()
            && !self.session.join_queued(most)?.is_empty()
        {
            let before = answer.clone();
            result = self.ask_model().await?.map(|next| next.following(before));
        }
        Ok(result)
    }

    /// Asks until the model answers.
    async fn ask_model(&self) -> Result<Result<ExecutionResult, LlmError>, SessionError> {
        self.session.reach(Breakpoint::PreModel)?;
        if let Err(error) = self.compressor.compress().await {
            return Ok(Err(error));
        }
        let (compress, mut requests) = mpsc::unbounded_channel();
        let follower = Arc::new(Follower::new(
            self.session,
            self.stop.clone(),
            self.between(compress),
        ));
        // The run's events must come after this record.
        self.session.reach(Breakpoint::StreamingModel)?;
        let run = self
            .runtime
            .start_run(self.request(ModelRole::Default, &follower));
        let mut seen = Seen::default();
        let last = {
            let followed = follow(run, &follower, &mut seen);
            tokio::pin!(followed);
            loop {
                tokio::select! {
                    last = &mut followed => break last,
                    Some(reply) = requests.recv() => {
                        // The run may have ended.
                        drop(reply.send(self.compressor.compress().await));
                    }
                }
            }
        };
        if let Some(error) = follower.close(last.result.as_deref().ok(), &seen) {
            // The answer was paid for, but the log cannot be written.
            drop(
                self.session
                    .end_turn(TurnEnd::Interrupted, Some(Cause::Failed)),
            );
            return Err(error);
        }
        Ok(seen.closed_by(last))
    }

    fn request(&self, role: ModelRole, follower: &Arc<Follower>) -> RunRequest {
        let turn = &self.turn;
        let abilities = self.runtime.abilities(role);
        RunRequest {
            role,
            system: manuals::instructions(&turn.agent.instructions, &self.tools),
            messages: self.session.messages(),
            tools: self.calls.wrap(&self.tools),
            step_budget: turn.agent.max_turns,
            deltas: turn.deltas,
            settings: turn.agent.settings.for_model(&abilities),
            hook: Some(Arc::clone(follower) as _),
            cancel: self.stop.clone(),
            label: CallLabel {
                run_id: turn.run_id.clone(),
                stage: turn.stage.clone(),
                unit: None,
                connection: None,
            },
            trace_id: turn.run_id.trace_id(),
            // There is no proxy between the caller and the run.
            ingress_request_id: Some(turn.run_id.to_string()),
        }
    }

    /// Includes those of sub-agents.
    fn waiting_calls(&self) -> Vec<WaitingCall> {
        let own = self.session.look(History::waiting_calls).into_iter();
        let mut waiting: Vec<WaitingCall> = own.map(WaitingCall::own).collect();
        waiting.extend(self.others.iter().flat_map(|others| others.waiting()));
        waiting
    }

    async fn ended(
        &self,
        result: Result<ExecutionResult, LlmError>,
    ) -> Result<ExecutionResult, AskError> {
        let session = self.session;
        if let Some(others) = &self.others {
            others.settle().await;
        }
        if let Some(halt) = self.approvals.halted() {
            session.tell_waiting_ends()?;
            let cause = match halt {
                Halt::Parked => Cause::Parked,
                Halt::Unasked | Halt::Expired => Cause::Failed,
            };
            if halt != Halt::Parked {
                session.cancel_waiting()?;
            }
            session.end_turn(TurnEnd::Interrupted, Some(cause))?;
            return Err(match halt {
                Halt::Parked => AskError::Waiting {
                    calls: self.waiting_calls(),
                },
                Halt::Unasked => AskError::Unasked,
                Halt::Expired => AskError::Expired,
            });
        }
        session.cancel_waiting()?;
        match result {
            Ok(result) if !result.is_error => {
                session.end_turn(TurnEnd::Completed, None)?;
                Ok(result)
            }
            Ok(result) => {
                session.end_turn(TurnEnd::Interrupted, Some(Cause::Budget))?;
                Ok(result)
            }
            Err(error) => {
                let cause = cause_of(error.kind);
                if cause != Cause::User {
                    session.complain(Severity::Error, Phase::Model, &error.message)?;
                }
                session.end_turn(TurnEnd::Interrupted, Some(cause))?;
                Err(AskError::Model(error))
            }
        }
    }
}

async fn follow(mut run: RunHandle, follower: &Follower, seen: &mut Seen) -> RunFinal {
    loop {
        let next = match follower.due() {
            Some(due) => tokio::time::timeout_at(due, run.next_event()).await,
            None => Ok(run.next_event().await),
        };
        match next {
            Ok(Some(event)) => {
                let events = with_ready(event, &mut run).await;
                for event in &events {
                    seen.take(event);
                }
                follower.hear(events);
            }
            Ok(None) => return run.finish().await,
            Err(_) => follower.flush(),
        }
    }
}

/// Adds the events that came meanwhile, so that a busy run costs fewer writes.
async fn with_ready(first: RunEvent, run: &mut RunHandle) -> Vec<RunEvent> {
    let mut events = vec![first];
    while events.len() < MOST_AT_ONCE {
        let next = tokio::select! {
            biased;
            next = run.next_event() => next,
            () = std::future::ready(()) => None,
        };
        let Some(next) = next else { break };
        events.push(next);
    }
    events
}

const fn cause_of(kind: LlmErrorKind) -> Cause {
    match kind {
        LlmErrorKind::Cancelled => Cause::User,
        LlmErrorKind::Budget | LlmErrorKind::MaxTurns => Cause::Budget,
        _ => Cause::Failed,
    }
}
