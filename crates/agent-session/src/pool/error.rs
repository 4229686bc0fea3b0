//! Errors of a pool.

use ktx_diagnostics::Failure;
use ktx_session_log::{LogError, SessionId};

use crate::session::SessionError;
use crate::turn::AskError;

#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("the server has its {most} sessions")]
    Full { most: usize },
    #[error("the server is ending")]
    Closing,
    #[error("the session `{session}` is working")]
    Working { session: SessionId },
    #[error("the session `{session}` is of the agent `{agent}`")]
    OtherAgent { session: SessionId, agent: String },
    #[error("another message was sent with this key")]
    KeyUsed,
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("the answer is incomplete: {0}")]
    Incomplete(String),
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
