//! The session of a sub-agent.

use std::sync::Arc;

use ktx_llm_runtime::{Deltas, LlmRuntime};
use ktx_session_log::{Channel, LogError, Record, SessionId};
use ktx_tool_descriptors::{ToolError, ToolOutput, ToolSet};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Delegate, Delegated, Delegates, Delegation, Others};
use crate::agent::Agent;
use crate::event::{Call, Event, Parent, Strategy, SubagentState};
use crate::execution::ExecutionResult;
use crate::session::{Channels, Session, SessionError};
use crate::turn::{AskError, Turn, WaitingCall, ask, go_on};

/// Maximum characters of the parent's session id in the child's.
const LONGEST_BEGINNING: usize = 44;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Assignment {
    agent: String,
    message: String,
}

enum ChildSession {
    New(Session),
    Continued(Session),
    Answered(String),
}

pub(super) struct Child {
    pub(super) others: Arc<Others>,
    pub(super) call: Call,
}

impl Child {
    pub(super) async fn ask(self) -> Delegated {
        let failed = |text: String| Delegated::Over(Err(ToolError::new(text)));
        let task = match Assignment::deserialize(&self.call.input) {
            Ok(task) if self.others.names.contains(&task.agent) => task,
            Ok(task) => {
                return failed(format!(
                    "`{}` is not an agent that you can ask; ask one of: {}",
                    task.agent,
                    self.others.names.join(", ")
                ));
            }
            Err(error) => return failed(format!("the task cannot be read: {error}")),
        };
        let id = match child_id(self.others.session.id(), &self.call.id) {
            Ok(id) => id,
            Err(error) => return failed(error.to_string()),
        };
        let recorded = self.recorded(&id);
        let delegates = &self.others.delegation.delegates;
        let delegate = match delegates.ready(&task.agent, recorded).await {
            Ok(delegate) => delegate,
            Err(reason) => return failed(format!("`{}` cannot be asked: {reason}", task.agent)),
        };
        let Delegate {
            agent,
            tools,
            runtime,
            previews,
            delegates,
            release,
        } = delegate;
        let asked = match self.open(&id, &agent) {
            Ok(ChildSession::Answered(answer)) => Delegated::Over(Ok(output(&id, answer))),
            Ok(opened) => {
                let turn = Turn {
                    previews,
                    ..self.turn(agent, tools, delegates)
                };
                self.take(opened, runtime.as_ref(), turn, &task).await
            }
            Err(error) => failed(format!("`{}` cannot be asked: {error}", task.agent)),
        };
        release.await;
        asked
    }

    fn recorded(&self, id: &SessionId) -> Option<Agent> {
        let report = self.others.delegation.sessions.read(id).ok()?;
        let agent = report.history.agent();
        (agent.parent.as_ref() == Some(&self.parent()))
            .then(|| Agent::from_snapshot(&agent.snapshot).ok())?
    }

    fn parent(&self) -> Parent {
        Parent::Call {
            session: self.others.session.id().clone(),
            call: self.call.id.clone(),
        }
    }

    fn open(&self, id: &SessionId, agent: &Agent) -> Result<ChildSession, SessionError> {
        let sessions = &self.others.delegation.sessions;
        let exists = match sessions.create_for(id, agent, self.parent()) {
            Ok(session) => return Ok(ChildSession::New(session)),
            Err(error) => error,
        };
        if !matches!(exists, SessionError::Log(LogError::Exists { .. })) {
            return Err(exists);
        }
        let report = sessions.read(id)?;
        if report.history.agent().parent != Some(self.parent()) {
            return Err(exists);
        }
        let is_new = report.history.turn() == 0;
        if !is_new && !report.history.is_unfinished() {
            return Ok(ChildSession::Answered(report.history.last_answer()));
        }
        let session = sessions.resume(id.clone(), Strategy::Crash)?;
        Ok(if is_new {
            ChildSession::New(session)
        } else {
            ChildSession::Continued(session)
        })
    }

    fn turn(&self, agent: Agent, tools: ToolSet, delegates: Option<Arc<dyn Delegates>>) -> Turn {
        let others = &self.others;
        Turn {
            agent,
            tools,
            on_ask: others.on_ask.clone(),
            deltas: Deltas::ByTurn,
            stage: others.stage.clone(),
            run_id: others.run_id.clone(),
            cancel: others.stop.child_token(),
            delegation: Some(Delegation {
                sessions: others.delegation.sessions.clone(),
                delegates: delegates.unwrap_or_else(|| Arc::clone(&others.delegation.delegates)),
                level: others.delegation.level + 1,
            }),
            previews: None,
            room: None,
        }
    }

    async fn take(
        &self,
        opened: ChildSession,
        runtime: &dyn LlmRuntime,
        turn: Turn,
        task: &Assignment,
    ) -> Delegated {
        let (session, is_new) = match opened {
            ChildSession::New(session) => (Arc::new(session), true),
            ChildSession::Continued(session) => (Arc::new(session), false),
            ChildSession::Answered(answer) => return Delegated::Over(Ok(ToolOutput::text(answer))),
        };
        self.tell(&session, task, SubagentState::Working);
        let heard = session.subscribe(Channels::new([Channel::Control]), session.last());
        let work = async {
            if is_new {
                ask(&session, runtime, turn, &task.message).await
            } else {
                go_on(&session, runtime, turn).await
            }
        };
        let result = match heard {
            Ok(mut heard) => {
                tokio::pin!(work);
                let result = loop {
                    tokio::select! {
                        result = &mut work => break result,
                        Ok(Some(record)) = heard.next_record() => self.pass_on(session.id(), &record),
                    }
                };
                while let Ok(Some(record)) = heard.next_written() {
                    self.pass_on(session.id(), &record);
                }
                result
            }
            Err(error) => Err(AskError::Session(error)),
        };
        self.over(&session, task, result)
    }

    /// Copies decisions on the sub-agent's calls to this session.
    fn pass_on(&self, of: &SessionId, record: &Record) {
        let event = serde_json::from_value(Value::Object(record.event.clone()));
        let event = match event {
            Ok(Event::PermissionRequired {
                call,
                expires,
                session,
            }) => Event::PermissionRequired {
                call,
                expires,
                session: session.or_else(|| Some(of.clone())),
            },
            Ok(Event::PermissionDecided(mut decided)) => {
                decided.session.get_or_insert_with(|| of.clone());
                Event::PermissionDecided(decided)
            }
            _ => return,
        };
        self.record(&event);
    }

    fn tell(&self, session: &Session, task: &Assignment, state: SubagentState) {
        self.record(&Event::Subagent {
            session: session.id().clone(),
            agent: task.agent.clone(),
            call: self.call.id.clone(),
            state,
        });
    }

    fn record(&self, event: &Event) {
        if let Err(error) = self.others.session.record(event) {
            tracing::warn!(%error, "an event of another agent is not kept");
        }
    }

    fn over(
        &self,
        session: &Session,
        task: &Assignment,
        result: Result<ExecutionResult, AskError>,
    ) -> Delegated {
        let id = session.id();
        let (state, asked) = match result {
            Ok(result) if result.is_error => {
                let reason = result.error_reason.unwrap_or_default();
                let text = format!(
                    "`{}` has no whole answer: {reason}. So far: {}",
                    task.agent, result.response
                );
                (
                    SubagentState::Failed,
                    Delegated::Over(Err(ToolError::new(text))),
                )
            }
            Ok(result) => (
                SubagentState::Answered,
                Delegated::Over(Ok(output(id, result.response))),
            ),
            Err(AskError::Waiting { calls }) => {
                let of_child = calls.into_iter().map(|waiting| WaitingCall {
                    session: waiting.session.or_else(|| Some(id.clone())),
                    ..waiting
                });
                self.others.wait_for(of_child);
                (SubagentState::Parked, Delegated::Waits)
            }
            Err(AskError::Model(error)) if self.others.stop.is_cancelled() => (
                SubagentState::Interrupted,
                Delegated::Over(Err(ToolError::new(error.message))),
            ),
            Err(error) => {
                let text = match error {
                    AskError::Model(error) => error.message,
                    other => other.to_string(),
                };
                let text = format!("`{}` has no answer: {text} (session `{id}`)", task.agent);
                (
                    SubagentState::Failed,
                    Delegated::Over(Err(ToolError::new(text))),
                )
            }
        };
        self.tell(session, task, state);
        asked
    }
}

fn output(session: &SessionId, answer: String) -> ToolOutput {
    ToolOutput {
        structured: Some(json!({ "session": session })),
        ..ToolOutput::text(answer)
    }
}

/// Returns the child's session id, the same each time the call begins.
fn child_id(parent: &SessionId, call: &str) -> Result<SessionId, LogError> {
    let parent = parent.as_str();
    let id = if parent.len() > LONGEST_BEGINNING {
        let beginning = parent.get(..LONGEST_BEGINNING).unwrap_or(parent);
        let [a, b, c, ..]: [u8; 32] = Sha256::digest(parent.as_bytes()).into();
        let mark = format!("{a:02x}{b:02x}{c:02x}");
        format!("{beginning}{mark}-{call}")
    } else {
        format!("{parent}-{call}")
    };
    Ok(SessionId::parse(&id)?)
}
