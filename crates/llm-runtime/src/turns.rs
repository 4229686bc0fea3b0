//! Follows a run and may change its conversation between steps.

use async_trait::async_trait;

use crate::{LlmError, Message};

/// What changes in the conversation before a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepPlan {
    Continue,
    Append(Vec<Message>),
    Replace(Vec<Message>),
}

/// Called in the order of the conversation, never concurrently.
#[async_trait]
pub trait TurnHook: Send + Sync {
    /// Called before each step, by backends with [`Ability::BetweenSteps`](crate::Ability).
    ///
    /// # Errors
    /// Ends the run with the error.
    async fn before_step(&self) -> Result<StepPlan, LlmError> {
        Ok(StepPlan::Continue)
    }

    /// Called with each message of the model before its tools begin, and with the message of their
    /// results. The closing answer is such a message, too.
    ///
    /// # Errors
    /// Ends the run with the error.
    fn after_message(&self, message: &Message) -> Result<(), LlmError>;
}
