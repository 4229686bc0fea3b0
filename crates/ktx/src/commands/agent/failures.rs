//! Converts session errors to failures with next steps.

use ktx_agent_session::{AgentSessionError, AskError, WaitingCall};
use ktx_diagnostics::{Code, Failure};
use ktx_session_log::SessionId;

use crate::report::Report as _;

pub(super) use crate::session_usage::session_failure;

pub(super) fn backend_failure(error: AgentSessionError) -> Failure {
    match error {
        AgentSessionError::Equipment(failure) => *failure,
        AgentSessionError::Ask(AskError::Session(error)) => session_failure(error),
        other => Failure::from_error(Code::Internal, &other),
    }
}

pub(super) fn answer_failure(error: AgentSessionError, session: &SessionId) -> Failure {
    match error {
        AgentSessionError::Ask(error) => ask_failure(error, session),
        AgentSessionError::Crashed => {
            continued(Failure::from_error(Code::LlmCrashed, &error), session)
        }
        AgentSessionError::Move(_) => Failure::from_error(Code::SessionBusy, &error),
        AgentSessionError::Equipment(_) | AgentSessionError::Backend(_) => backend_failure(error),
    }
}

pub(super) fn ask_failure(error: AskError, session: &SessionId) -> Failure {
    match error {
        AskError::Model(error) => continued(Failure::from(error), session),
        AskError::Empty | AskError::TooLong { .. } => Failure::from_error(Code::Message, &error),
        AskError::Session(error) => session_failure(error),
        AskError::Tools(error) => Failure::from_error(Code::AgentSettings, &error),
        AskError::Full { .. } => Failure::from_error(Code::SessionFull, &error).hint(format!(
            "go on in a copy: `ktx agent chat --fork {session}`, or ask in a new session"
        )),
        AskError::Waiting { ref calls } => {
            let failure = Failure::from_error(Code::ApprovalPending, &error);
            match calls.first() {
                Some(WaitingCall {
                    session: asked,
                    call,
                }) => failure
                    .hint(format!(
                        "run `ktx agent decide {} {} allow`",
                        asked.as_ref().unwrap_or(session),
                        call.id
                    ))
                    .hint(format!("then run `ktx agent sessions resume {session}`")),
                None => failure,
            }
        }
        AskError::Unasked => continued(Failure::from_error(Code::ApprovalNeeded, &error), session),
        AskError::Expired => continued(Failure::from_error(Code::ApprovalExpired, &error), session),
        AskError::NothingToContinue => {
            let failure = Failure::from_error(Code::NothingToContinue, &error);
            failure.hint("ask the next question with `-m`")
        }
    }
}

fn continued(failure: Failure, session: &SessionId) -> Failure {
    failure.hint(format!(
        "run `ktx agent sessions resume {session}` to continue where it ended"
    ))
}
