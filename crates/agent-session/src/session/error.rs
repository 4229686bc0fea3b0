//! Errors of a session.

use ktx_diagnostics::{Hint, Hints};
use ktx_session_log::{LogError, SessionId};

use crate::event::{Decision, DecisionRecord};

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("record {seq} of the session `{session}` cannot be understood")]
    Event {
        session: SessionId,
        seq: u64,
        #[source]
        source: serde_json::Error,
    },
    #[error("a copy cannot begin after record {at}{}", nearest(.before.as_ref(), .after.as_ref()))]
    NoForkPoint {
        at: u64,
        before: Option<u64>,
        after: Option<u64>,
    },
    #[error("the session `{session}` has no point `{label}`")]
    NoLabel { session: SessionId, label: String },
    #[error("the session `{session}` has {turns} turns, not {turn}")]
    NoTurn {
        session: SessionId,
        turn: u32,
        turns: u32,
    },
    #[error("the session ends with record {last}; there is nothing after record {since}")]
    Bookmark { since: u64, last: u64 },
    #[error("{most} messages wait in the session `{session}` already")]
    Queue { session: SessionId, most: usize },
    #[error("no call `{call}` of the session `{session}` waits for a decision{}", others(.waiting))]
    NoWaitingCall {
        session: SessionId,
        call: String,
        waiting: Vec<String>,
    },
    #[error("`{}` was {} before, by {}", .0.call_id, past(.0.decision), .0.decided_by)]
    AlreadyDecided(DecisionRecord),
}

fn nearest(before: Option<&u64>, after: Option<&u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!("; it can after {before} and {after}"),
        (Some(one), None) | (None, Some(one)) => format!("; it can after {one}"),
        (None, None) => "; the conversation is empty".to_owned(),
    }
}

fn others(waiting: &[String]) -> String {
    if waiting.is_empty() {
        return String::new();
    }
    format!("; these do: {}", waiting.join(", "))
}

const fn past(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Deny => "denied",
    }
}

impl Hints for SessionError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Log(error) => error.hints(),
            Self::NoWaitingCall { .. } => {
                vec![Hint::new("run `ktx agent approvals` to see what waits")]
            }
            Self::NoLabel { session, .. } | Self::NoTurn { session, .. } => vec![Hint::new(
                format!("run `ktx agent sessions show {session}` to see its points"),
            )],
            Self::Event { .. }
            | Self::NoForkPoint { .. }
            | Self::Bookmark { .. }
            | Self::Queue { .. }
            | Self::AlreadyDecided(_) => Vec::new(),
        }
    }
}
