//! Why a pool refuses something.

use ktx_diagnostics::Failure;
use ktx_session_log::{LogError, SessionId};

use crate::session::SessionError;
use crate::turn::AskError;

/// Why a pool refuses something.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("the server has its {most} sessions")]
    Full {
        /// The most that it takes.
        most: usize,
    },
    #[error("the server is ending")]
    Closing,
    /// A turn of the session runs.
    #[error("the session `{session}` is working")]
    Working { session: SessionId },
    /// The session exists with another agent.
    #[error("the session `{session}` is of the agent `{agent}`")]
    OtherAgent { session: SessionId, agent: String },
    #[error("another message was sent with this key")]
    KeyUsed,
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The turn ended without a whole answer.
    #[error("the answer is incomplete: {0}")]
    Incomplete(String),
    /// What the host says.
    #[error("{}", .0.message)]
    Host(Box<Failure>),
}

impl From<LogError> for PoolError {
    fn from(error: LogError) -> Self {
        Self::Session(error.into())
    }
}

impl From<Failure> for PoolError {
    fn from(failure: Failure) -> Self {
        Self::Host(Box::new(failure))
    }
}
