//! Hooks between the steps of a run.

use async_trait::async_trait;

use crate::{LlmError, Message};

#[derive(Debug, Clone, PartialEq)]
pub enum StepPlan {
    Continue,
    Append(Vec<Message>),
    Replace(Vec<Message>),
}

/// Called in conversation order, never concurrently.
#[async_trait]
pub trait TurnHook: Send + Sync {
    /// Called before each step, by backends with [`Ability::BetweenSteps`](crate::Ability). An
    /// error ends the run.
    async fn before_step(&self) -> Result<StepPlan, LlmError> {
        Ok(StepPlan::Continue)
    }

    /// Called with each message of the model, including the closing answer, before its tools begin,
    /// and with the message of their results. An error ends the run.
    fn after_message(&self, message: &Message) -> Result<(), LlmError>;
}
