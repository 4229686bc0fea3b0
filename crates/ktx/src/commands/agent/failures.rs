//! Failures of sessions, with their codes and next steps.

use ktx_agent_session::{AskError, SessionError};
use ktx_diagnostics::{Code, Failure};
use ktx_session_log::{LogError, SessionId};

use crate::report::Report as _;

/// Why a session cannot be used.
pub(super) fn session_failure(error: impl Into<SessionError>) -> Failure {
    let error = error.into();
    let code = match &error {
        SessionError::Log(error) => match error {
            LogError::Id(_) => Code::InvalidSession,
            LogError::NotFound { .. } => Code::SessionNotFound,
            LogError::Ambiguous { .. } => Code::AmbiguousSession,
            LogError::Exists { .. } => Code::SessionExists,
            LogError::Busy { .. } => Code::SessionBusy,
            LogError::Damaged { .. } | LogError::Format { .. } => Code::CorruptedData,
            LogError::Read { .. }
            | LogError::Write { .. }
            | LogError::Full { .. }
            | LogError::File(_) => Code::File,
        },
        SessionError::Event { .. } => Code::CorruptedData,
        SessionError::NoForkPoint { .. }
        | SessionError::NoLabel { .. }
        | SessionError::NoTurn { .. } => Code::NoForkPoint,
        SessionError::Bookmark { .. } => Code::InvalidCursor,
        SessionError::NoWaitingCall { .. } => Code::NoWaitingCall,
        SessionError::AlreadyDecided(_) => Code::AlreadyDecided,
    };
    let failure = Failure::from_error(code, &error).with_hints(&error);
    match &error {
        SessionError::Log(LogError::NotFound { .. }) => {
            failure.hint("run `ktx agent sessions list` to see all")
        }
        SessionError::Log(LogError::Damaged { path, .. }) => {
            let id = path.parent().and_then(|folder| folder.file_name());
            let id = id.map_or_else(String::new, |id| id.to_string_lossy().into_owned());
            failure.hint(format!(
                "run `ktx agent sessions repair {id}` to make a new session of the part before it"
            ))
        }
        _ => failure,
    }
}

/// Why a question has no answer, and the command that continues its session.
pub(super) fn ask_failure(error: AskError, session: &SessionId) -> Failure {
    match error {
        AskError::Model(error) => continued(Failure::from(error), session),
        AskError::Empty | AskError::TooLong { .. } => Failure::from_error(Code::Message, &error),
        AskError::Session(error) => session_failure(error),
        AskError::Full { .. } => Failure::from_error(Code::SessionFull, &error).hint(format!(
            "go on in a copy: `ktx agent chat --fork {session}`, or ask in a new session"
        )),
        AskError::Waiting { ref calls } => {
            let failure = Failure::from_error(Code::ApprovalPending, &error);
            match calls.first() {
                Some(call) => failure
                    .hint(format!(
                        "run `ktx agent decide {session} {} allow`",
                        call.id
                    ))
                    .hint(format!("then run `ktx agent sessions resume {session}`")),
                None => failure,
            }
        }
        AskError::Unasked => continued(Failure::from_error(Code::ApprovalNeeded, &error), session),
        AskError::NothingToContinue => {
            let failure = Failure::from_error(Code::NothingToContinue, &error);
            failure.hint("ask the next question with `-m`")
        }
    }
}

/// Adds the command that continues where the run ended.
fn continued(failure: Failure, session: &SessionId) -> Failure {
    failure.hint(format!(
        "run `ktx agent sessions resume {session}` to continue where it ended"
    ))
}
