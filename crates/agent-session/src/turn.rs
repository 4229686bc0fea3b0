//! One turn of a session: from a question to its answer (HOLO-33, KODE-40…57).

mod chunks;
mod follower;

use std::sync::Arc;

use ktx_llm_runtime::{
    CallLabel, Deltas, LlmError, LlmErrorKind, LlmRuntime, RunFinal, RunHandle, RunRequest,
};
use ktx_tool_descriptors::ToolSet;
use ktx_vocabulary::{ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::asking::{Desk, Halt, OnAsk};
use crate::calls::Calls;
use crate::event::{AgentState, Breakpoint, Call, CallState, Cause, Phase, Severity, TurnEnd};
use crate::execution::{ExecutionResult, Seen};
use crate::inbox::take_letters;
use crate::session::{Session, SessionError};
use follower::Follower;

/// The longest message, in characters (HOLO-45).
pub const LONGEST_MESSAGE: usize = 10_000;

/// One turn of a session.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The agent that answers.
    pub agent: Agent,
    /// The agent's tools.
    pub tools: ToolSet,
    /// What happens to calls that need a decision.
    pub on_ask: OnAsk,
    /// Whether the answer is wanted while it is written.
    pub deltas: Deltas,
    /// The stage that the calls are accounted to, such as `research`.
    pub stage: String,
    /// The run that the calls belong to.
    pub run_id: RunId,
    /// Stops the turn.
    pub cancel: CancellationToken,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The message has no text.
    #[error("the message is empty")]
    Empty,
    /// Too much was asked at once.
    #[error("the message has {length} characters, at most {LONGEST_MESSAGE} are taken")]
    TooLong {
        /// Its characters.
        length: usize,
    },
    /// The session is full.
    #[error("this session has its {messages} messages")]
    Full {
        /// The most that it takes.
        messages: u32,
    },
    /// Calls wait for a decision; the turn continues when they have one.
    #[error("{} for a decision", waiting(.calls))]
    Waiting { calls: Vec<Call> },
    /// A call needs a decision, and the turn was asked to end then.
    #[error("a call needs a decision, and nobody is asked")]
    Unasked,
    /// There is no turn to continue.
    #[error("the last turn has its answer")]
    NothingToContinue,
    /// The model failed.
    #[error("the model failed")]
    Model(#[source] LlmError),
    /// The session cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
}

fn waiting(calls: &[Call]) -> String {
    let named: Vec<String> = calls
        .iter()
        .map(|call| format!("`{}` ({})", call.id, call.name))
        .collect();
    let waits = if named.len() == 1 { "waits" } else { "wait" };
    format!("{} {waits}", named.join(", "))
}

/// Asks the next question of a session. The question is on the disk before the model is asked, each call before it
/// begins, and what came of the turn before this returns.
///
/// A tool that fails ends nothing, and turns that are used up are a result that says so.
///
/// # Errors
/// Messages that cannot be asked, calls that wait for a decision, and failures of the model and the log.
pub async fn ask(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
    message: &str,
) -> Result<ExecutionResult, AskError> {
    check_message(message)?;
    let history = session.history();
    let calls = history.waiting_calls();
    if !calls.is_empty() {
        return Err(AskError::Waiting { calls });
    }
    if history.turn() >= turn.agent.max_messages {
        let messages = turn.agent.max_messages;
        return Err(AskError::Full { messages });
    }
    session.begin_turn(message)?;
    take(session, runtime, turn).await
}

/// Continues the last turn of a session, which has no answer: asks about calls that wait, begins those that were
/// allowed since, and asks the model to go on.
///
/// # Errors
/// As [`ask`], and [`AskError::NothingToContinue`].
pub async fn go_on(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
) -> Result<ExecutionResult, AskError> {
    if !session.history().is_unfinished() {
        return Err(AskError::NothingToContinue);
    }
    session.enter(AgentState::Working)?;
    take(session, runtime, turn).await
}

/// Runs the turn and records its end, whatever it is. Meanwhile other processes may decide about its calls.
async fn take(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
) -> Result<ExecutionResult, AskError> {
    let stop = turn.cancel.child_token();
    tokio::select! {
        result = take_steps(session, runtime, turn, stop.clone()) => result,
        never = take_letters(session, session.inbox(), &stop) => match never {},
    }
}

async fn take_steps(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
    stop: CancellationToken,
) -> Result<ExecutionResult, AskError> {
    let permissions = turn.agent.permissions.clone();
    let desk = Arc::new(Desk::new(permissions, turn.on_ask.clone(), stop.clone()));
    let calls = Calls::new(session, Arc::clone(&desk));
    let open = session.history();
    let left: Vec<Call> = open.open_calls().cloned().collect();
    for call in left {
        if call.state == CallState::ApprovalRequired {
            calls.ask_again(call.clone(), &stop).await;
        }
        let now = session.history();
        if let Some(call) = now.call(&call.id)
            && call.state == CallState::Approved
        {
            calls.go_on(call.clone(), &turn.tools, &stop).await;
        }
    }
    if desk.halted().is_some() {
        return ended(session, &desk, Err(LlmError::cancelled()));
    }
    session.close_step()?;
    session.reach(Breakpoint::PreModel)?;
    let follower = Arc::new(Follower::new(session, stop.clone()));
    let run = runtime.start_run(RunRequest {
        role: ModelRole::Default,
        system: turn.agent.instructions,
        messages: session.messages(),
        tools: calls.wrap(&turn.tools),
        step_budget: turn.agent.max_turns,
        deltas: turn.deltas,
        settings: ktx_llm_runtime::CallSettings::default(),
        hook: Some(Arc::clone(&follower) as _),
        cancel: stop,
        label: CallLabel {
            run_id: turn.run_id.clone(),
            stage: turn.stage,
            unit: None,
            connection: None,
        },
        trace_id: turn.run_id.trace_id(),
        // Nobody stands between who asks and the run.
        ingress_request_id: Some(turn.run_id.to_string()),
    });
    session.reach(Breakpoint::StreamingModel)?;
    let mut seen = Seen::default();
    let last = follow(run, &follower, &mut seen).await;
    if let Some(error) = follower.close(last.result.as_deref().ok(), &seen) {
        // The answer was paid for; the log that should hold it cannot take it.
        drop(session.end_turn(TurnEnd::Interrupted, Some(Cause::Failed)));
        return Err(error.into());
    }
    ended(session, &desk, seen.closed_by(last))
}

/// Hands the events of a run on until its end.
async fn follow(mut run: RunHandle, follower: &Follower, seen: &mut Seen) -> RunFinal {
    loop {
        let next = match follower.due() {
            Some(due) => tokio::time::timeout_at(due, run.next_event()).await,
            None => Ok(run.next_event().await),
        };
        match next {
            Ok(Some(event)) => {
                seen.take(&event);
                follower.hear(event);
            }
            Ok(None) => return run.finish().await,
            Err(_) => follower.flush(),
        }
    }
}

fn ended(
    session: &Session,
    desk: &Desk,
    result: Result<ExecutionResult, LlmError>,
) -> Result<ExecutionResult, AskError> {
    if let Some(halt) = desk.halted() {
        session.tell_waiting_ends()?;
        let cause = match halt {
            Halt::Parked => Cause::Parked,
            Halt::Unasked => Cause::Failed,
        };
        if halt == Halt::Unasked {
            session.cancel_waiting()?;
        }
        session.end_turn(TurnEnd::Interrupted, Some(cause))?;
        return Err(match halt {
            Halt::Parked => AskError::Waiting {
                calls: session.history().waiting_calls(),
            },
            Halt::Unasked => AskError::Unasked,
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

const fn cause_of(kind: LlmErrorKind) -> Cause {
    match kind {
        LlmErrorKind::Cancelled => Cause::User,
        LlmErrorKind::Budget | LlmErrorKind::MaxTurns => Cause::Budget,
        _ => Cause::Failed,
    }
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
