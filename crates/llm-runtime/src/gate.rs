//! The gate that may refuse a turn before it costs anything.

use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

use crate::{LlmError, TokenUsage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTurn {
    pub role: ModelRole,
    pub bytes: usize,
    /// The caller's output limit in tokens; `None` if only the model limits it.
    pub max_output: Option<u64>,
    /// The largest output that the backend permits, in tokens, if known.
    pub output_bound: Option<u64>,
}

/// Held until the usage of a turn is reported. Dropping it means that no usage is known.
pub trait TurnPermit: Send {
    fn settle(self: Box<Self>, usage: TokenUsage);
}

/// Called before every turn.
#[async_trait]
pub trait TurnGate: Send + Sync + std::fmt::Debug {
    /// Admits the turn, at once or after others have ended, or refuses it.
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError>;

    /// Called just before an admitted operation begins, after any wait for an account limit or for
    /// its place. Refuses if, by the current usage, a turn that sends this many bytes would exceed
    /// the limit.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let _ = bytes;
        Ok(())
    }

    /// Called before each further turn of an operation admitted as a whole, by backends that do not
    /// run its turns themselves, once its usage so far is reported. Refuses if another turn like
    /// the admitted one would exceed the limit.
    fn look(&self) -> Result<(), LlmError> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct OpenGate;

#[async_trait]
impl TurnGate for OpenGate {
    async fn admit(&self, _turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError> {
        Ok(Box::new(Self))
    }
}

impl TurnPermit for OpenGate {
    fn settle(self: Box<Self>, _usage: TokenUsage) {}
}
