//! The gate that can refuse a turn before it costs anything.

use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

use crate::{LlmError, TokenUsage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTurn {
    pub role: ModelRole,
    pub bytes: usize,
    /// The caller's output limit in tokens.
    pub max_output: Option<u64>,
    /// The backend's output limit in tokens, if known.
    pub output_bound: Option<u64>,
}

/// Held until a turn's usage is reported. Dropping it means that the usage is unknown.
pub trait TurnPermit: Send {
    fn settle(self: Box<Self>, usage: TokenUsage);
}

#[async_trait]
pub trait TurnGate: Send + Sync + std::fmt::Debug {
    /// Admits or refuses the turn, perhaps after other turns have ended.
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError>;

    /// Called just before an admitted operation begins, after any wait. Refuses if a turn of this
    /// many bytes would now exceed the limit.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let _ = bytes;
        Ok(())
    }

    /// Called before further turns of an operation admitted as a whole, by backends that do not run
    /// its turns themselves. Refuses if another turn like the admitted one would exceed the limit.
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
