//! Why a session cannot be used.

use ktx_diagnostics::{Hint, Hints};
use ktx_session_log::{LogError, SessionId};

use crate::event::{Decision, DecisionRecord};

/// Why a session cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Its log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record has the type of an event and not its fields.
    #[error("record {seq} of the session `{session}` cannot be understood")]
    Event {
        session: SessionId,
        /// The record.
        seq: u64,
        #[source]
        source: serde_json::Error,
    },
    /// The conversation is not complete at the record.
    #[error("a copy cannot begin after record {at}{}", nearest(.before.as_ref(), .after.as_ref()))]
    NoForkPoint {
        at: u64,
        /// The last fork point before it.
        before: Option<u64>,
        /// The first fork point after it.
        after: Option<u64>,
    },
    /// No point of the session has this name.
    #[error("the session `{session}` has no point `{label}`")]
    NoLabel { session: SessionId, label: String },
    /// The session has fewer turns.
    #[error("the session `{session}` has {turns} turns, not {turn}")]
    NoTurn {
        session: SessionId,
        turn: u32,
        turns: u32,
    },
    /// The bookmark is after the last record.
    #[error("the session ends with record {last}; there is nothing after record {since}")]
    Bookmark { since: u64, last: u64 },
    /// Too many messages wait.
    #[error("{most} messages wait in the session `{session}` already")]
    Queue { session: SessionId, most: usize },
    /// The call does not wait for a decision.
    #[error("no call `{call}` of the session `{session}` waits for a decision{}", others(.waiting))]
    NoWaitingCall {
        session: SessionId,
        call: String,
        /// The calls that do.
        waiting: Vec<String>,
    },
    /// Somebody has decided before.
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
