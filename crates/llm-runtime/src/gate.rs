//! Who may hold a turn back before it is paid for.

use async_trait::async_trait;
use ktx_vocabulary::ModelRole;

use crate::{LlmError, TokenUsage};

/// A turn that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedTurn {
    /// Who asks.
    pub role: ModelRole,
    /// The size of what is sent, in bytes.
    pub bytes: usize,
    /// The longest answer that is asked for, in tokens; `None` when only the model limits it.
    pub max_output: Option<u64>,
}

/// Held until the usage of a turn was told. Dropping it says that nothing was used, or nothing is known.
pub trait TurnPermit: Send {
    /// The turn is over and used this much.
    fn settle(self: Box<Self>, usage: TokenUsage);
}

/// Asked before every turn.
#[async_trait]
pub trait TurnGate: Send + Sync + std::fmt::Debug {
    /// Lets the turn be made, at once or when others have ended, or refuses it.
    async fn admit(&self, turn: PlannedTurn) -> Result<Box<dyn TurnPermit>, LlmError>;

    /// Asked just before an admitted operation begins, behind whatever it had to wait for: a limit of the
    /// account, a place. Refuses when, by what has been learned since, a turn that sends so many bytes
    /// would be too much.
    fn begin(&self, bytes: usize) -> Result<(), LlmError> {
        let _ = bytes;
        Ok(())
    }

    /// Asked before a further turn of an operation that was admitted as a whole, by backends that do
    /// not make its turns themselves: what it has used so far is told. Refuses when another turn like
    /// the admitted one would be too much.
    fn look(&self) -> Result<(), LlmError> {
        Ok(())
    }
}

/// Lets every turn be made.
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
