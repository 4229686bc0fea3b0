//! Session usage and session failures.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use ktx_agent_session::{Event, Parent, SessionError, SessionReport, Sessions};
use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{Holder, Layout};
use ktx_session_log::{LogError, SessionId, SessionStore};
use serde_json::Value;

use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use crate::totals::MessagesOf;

pub(crate) fn session_failure(error: impl Into<SessionError>) -> Failure {
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
        SessionError::Queue { .. } => Code::SessionFull,
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

/// Includes sessions of asked agents, recursively.
pub(crate) fn messages_of(
    text: &str,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Vec<MessagesOf>> {
    let store = SessionStore::new(Layout::new(&project.dir).sessions());
    let id = store.find(text).map_err(session_failure)?;
    let holder = Holder::this_process(&format!("ktx {}", invocation.command), Some(invocation.now));
    let sessions = Sessions::new(store, holder, Arc::new(Timestamp::now));
    let mut found = vec![sessions.read(&id).map_err(session_failure)?];
    let mut next = 0;
    while let Some(asking) = found.get(next).map(|report| report.id.clone()) {
        next += 1;
        // Ids of asked sessions begin with the asking id, which can be cut.
        let all = sessions.store().list().map_err(session_failure)?;
        for other in all.into_iter().filter(|other| can_be_child(other, &asking)) {
            let report = sessions.read(&other).map_err(session_failure)?;
            if is_asked_by(&report, &asking) {
                found.push(report);
            }
        }
    }
    Ok(found.iter().map(row_of).collect())
}

fn can_be_child(other: &SessionId, asking: &SessionId) -> bool {
    let beginning = asking.as_str().get(..20).unwrap_or(asking.as_str());
    other != asking && other.as_str().starts_with(beginning)
}

fn is_asked_by(report: &SessionReport, asking: &SessionId) -> bool {
    let parent = report.history.agent().parent.as_ref();
    matches!(parent, Some(Parent::Call { session, .. }) if session == asking)
}

fn row_of(report: &SessionReport) -> MessagesOf {
    let mut messages = BTreeSet::new();
    let facts = report.records.iter();
    for record in facts.filter(|record| record.kind() == "token_usage") {
        let event = serde_json::from_value(Value::Object(record.event.clone()));
        if let Ok(Event::TokenUsage(tokens)) = event {
            messages.insert((tokens.run_id.to_string(), tokens.message_id));
        }
    }
    MessagesOf {
        key: format!("{} ({})", report.id, report.history.agent().name),
        messages,
    }
}
