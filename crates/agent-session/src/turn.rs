//! One turn of a session: from a question to its answer (HOLO-33, KODE-40…57).

mod chunks;
mod follower;
mod structured;
mod work;

use std::sync::Arc;

use ktx_llm_runtime::{ContentBlock, Deltas, LlmError, LlmRuntime};
use ktx_session_log::SessionId;
use ktx_tool_descriptors::{ToolSet, ToolSetError};
use ktx_vocabulary::RunId;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::approvals::OnAsk;
use crate::delegation::Delegation;
use crate::event::{AgentState, Call};
use crate::execution::ExecutionResult;
use crate::inbox::take_letters;
use crate::monitor::monitored;
use crate::previews::Previews;
use crate::room::RoomOrigin;
use crate::session::{Session, SessionError};
use work::TurnRun;

/// Default limit of a message, in characters (HOLO-45).
pub const LONGEST_MESSAGE: usize = 10_000;

#[derive(Debug, Clone)]
pub struct Turn {
    pub agent: Agent,
    pub tools: ToolSet,
    pub on_ask: OnAsk,
    pub deltas: Deltas,
    /// The stage that model calls are accounted to, such as `research`.
    pub stage: String,
    pub run_id: RunId,
    pub cancel: CancellationToken,
    pub delegation: Option<Delegation>,
    pub previews: Option<Arc<dyn Previews>>,
    pub room: Option<RoomOrigin>,
}

#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub text: &'a str,
    pub attachments: &'a [ContentBlock],
}

impl<'a> From<&'a str> for Question<'a> {
    fn from(text: &'a str) -> Self {
        Self {
            text,
            attachments: &[],
        }
    }
}

impl<'a> From<&'a String> for Question<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the message is empty")]
    Empty,
    #[error("the message has {length} characters, at most {most} are taken")]
    TooLong { length: usize, most: usize },
    #[error("this session has its {messages} messages")]
    Full { messages: u32 },
    #[error("{} for a decision", waiting(.calls))]
    Waiting { calls: Vec<WaitingCall> },
    /// A call needs a decision, and [`OnAsk::Fail`] is set.
    #[error("a call needs a decision, and nobody is asked")]
    Unasked,
    /// A decision came too late, and the agent's rules end the turn then.
    #[error("the approval of a call expired")]
    Expired,
    #[error("the last turn has its answer")]
    NothingToContinue,
    #[error("the model failed")]
    Model(#[source] LlmError),
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

#[derive(Debug, Clone, PartialEq)]
pub struct WaitingCall {
    /// The sub-agent's session; the turn's own if absent.
    pub session: Option<SessionId>,
    pub call: Call,
}

impl WaitingCall {
    pub(crate) const fn own(call: Call) -> Self {
        Self {
            session: None,
            call,
        }
    }
}

fn waiting(calls: &[WaitingCall]) -> String {
    let named: Vec<String> = calls
        .iter()
        .map(|waiting| {
            let WaitingCall { session, call } = waiting;
            let named = format!("`{}` ({})", call.id, call.name);
            match session {
                Some(session) => format!("{named} of the session `{session}`"),
                None => named,
            }
        })
        .collect();
    let waits = if named.len() == 1 { "waits" } else { "wait" };
    format!("{} {waits}", named.join(", "))
}

/// Asks the next question. The question is on disk before the model is asked, each call before it
/// begins, and the result before this returns. Failing tools and used-up turns are not errors.
///
/// # Errors
/// Invalid messages, calls that wait for a decision, and failures of the model and the log.
pub async fn ask(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
    question: impl Into<Question<'_>>,
) -> Result<ExecutionResult, AskError> {
    let question = question.into();
    check_message(question.text, &turn.agent)?;
    session.expire()?;
    let history = session.history();
    let calls = history.waiting_calls();
    if !calls.is_empty() {
        let calls = calls.into_iter().map(WaitingCall::own).collect();
        return Err(AskError::Waiting { calls });
    }
    if history.questions() >= turn.agent.max_messages {
        let messages = turn.agent.max_messages;
        return Err(AskError::Full { messages });
    }
    // An allowed call that has not begun belongs to an abandoned turn.
    session.cancel_waiting()?;
    session.begin_turn_in(question, turn.room.clone())?;
    if turn.agent.todo.is_some() {
        session.remind_of_tasks()?;
    }
    take(session, runtime, turn).await
}

/// Continues a turn without an answer: asks about waiting calls, begins allowed ones, and asks the
/// model.
pub async fn go_on(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
) -> Result<ExecutionResult, AskError> {
    let history = session.history();
    if !history.is_unfinished() {
        // A message after the end of the last turn begins the next one.
        let Some(waiting) = history.queued().first() else {
            return Err(AskError::NothingToContinue);
        };
        return ask(session, runtime, turn, waiting.as_str()).await;
    }
    session.enter(AgentState::Working)?;
    take(session, runtime, turn).await
}

/// Runs the turn and records its end. Other processes can decide its calls.
async fn take(
    session: &Arc<Session>,
    runtime: &dyn LlmRuntime,
    turn: Turn,
) -> Result<ExecutionResult, AskError> {
    let stop = turn.cancel.child_token();
    let _listening = monitored(session, runtime);
    let work = TurnRun::new(session, runtime, turn, stop.clone())?;
    tokio::select! {
        result = work.take_steps() => result,
        never = take_letters(session, session.inbox(), &stop) => match never {},
    }
}

pub fn check_message(message: &str, agent: &Agent) -> Result<(), AskError> {
    let length = message.chars().count();
    if message.trim().is_empty() {
        return Err(AskError::Empty);
    }
    let most = agent.max_message_chars;
    if length > most {
        return Err(AskError::TooLong { length, most });
    }
    Ok(())
}
