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
use work::Work;

/// The longest message of an agent that says nothing else, in characters (HOLO-45).
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
    /// How the agent reaches others; it asks none if absent.
    pub delegation: Option<Delegation>,
    /// Knows what calls would change.
    pub previews: Option<Arc<dyn Previews>>,
    /// The room that the question was said in.
    pub room: Option<RoomOrigin>,
}

/// What a turn begins with.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub text: &'a str,
    /// Images and documents that come with it.
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

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The message has no text.
    #[error("the message is empty")]
    Empty,
    /// Too much was asked at once.
    #[error("the message has {length} characters, at most {most} are taken")]
    TooLong {
        /// Its characters.
        length: usize,
        /// The most that the agent takes.
        most: usize,
    },
    /// The session is full.
    #[error("this session has its {messages} messages")]
    Full {
        /// The most that it takes.
        messages: u32,
    },
    /// Calls wait for a decision; the turn continues when they have one.
    #[error("{} for a decision", waiting(.calls))]
    Waiting { calls: Vec<WaitingCall> },
    /// A call needs a decision, and the turn was asked to end then.
    #[error("a call needs a decision, and nobody is asked")]
    Unasked,
    /// No one has decided about a call in time, and the agent's rules end the turn then.
    #[error("the approval of a call expired")]
    Expired,
    /// There is no turn to continue.
    #[error("the last turn has its answer")]
    NothingToContinue,
    /// The model failed.
    #[error("the model failed")]
    Model(#[source] LlmError),
    /// The tools of the agent cannot be offered together.
    #[error(transparent)]
    Tools(#[from] ToolSetError),
    /// The session cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A call that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingCall {
    /// The session of the sub-agent that makes it; the session of the turn if absent.
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
    let history = session.history();
    if !history.is_unfinished() {
        // A message that came when the last turn had ended begins the next one.
        let Some(waiting) = history.queued().first() else {
            return Err(AskError::NothingToContinue);
        };
        return ask(session, runtime, turn, waiting.as_str()).await;
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
    let _listening = monitored(session, runtime);
    let work = Work::new(session, runtime, turn, stop.clone())?;
    tokio::select! {
        result = work.take_steps() => result,
        never = take_letters(session, session.inbox(), &stop) => match never {},
    }
}

/// Refuses messages that cannot be asked.
///
/// # Errors
/// [`AskError::Empty`], [`AskError::TooLong`].
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
