//! What a caller may see and change between the steps of a run (KODE-61).

use crate::{LlmError, Message};

/// What a run does before a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepPlan {
    /// Sends the conversation as it is.
    Continue,
    /// Adds these messages first.
    Append(Vec<Message>),
    /// Sends these messages instead of the conversation so far.
    Replace(Vec<Message>),
}

/// Follows the steps of a run. Called in the order of the conversation, never concurrently.
pub trait TurnHook: Send + Sync {
    /// Called before each step after the first with the conversation so far. Only backends whose
    /// [`crate::BackendInfo::between_steps`] is set call it.
    fn before_step(&self, messages: &[Message]) -> StepPlan;

    /// Called with each message of the model before its tools begin, and with the message that
    /// holds their results. The closing answer is such a message, too.
    ///
    /// # Errors
    /// Ends the run with the error.
    fn after_message(&self, message: &Message) -> Result<(), LlmError>;
}
