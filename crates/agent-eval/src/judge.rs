//! Evaluators that ask a model.
//!
//! A judge sees the case and the answer, never the arm of a comparison. What comes from the case or the agent is fenced
//! as data. A judge that fails, or whose object is not the one that was asked for, is an error.

mod context;
mod criteria;
mod prompt;
mod refusal;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::EvaluationError;

pub use context::{RagMeasure, judge_context};
pub use criteria::{Criteria, JudgedPart, judge_criteria};
pub use prompt::Material;
pub use refusal::{Expectation, judge_refusal};

/// A model that answers with an object.
#[async_trait]
pub trait Judge: Send + Sync {
    /// The object that answers `question`, valid against its schema.
    ///
    /// # Errors
    /// Anything that kept the model from answering.
    async fn object(&self, question: &Question) -> Result<Value, JudgeError>;
}

/// What a judge is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What the object is called.
    pub name: &'static str,
    /// The system prompt.
    pub instructions: String,
    /// The user's message: the task, then the fenced data.
    pub prompt: String,
    /// The JSON Schema of the object.
    pub schema: Value,
}

/// Why a judge did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JudgeError(pub String);

/// Asks `judge` and reads its object.
async fn ask<T: DeserializeOwned>(
    judge: &dyn Judge,
    question: &Question,
) -> Result<T, EvaluationError> {
    let object = judge
        .object(question)
        .await
        .map_err(|error| EvaluationError::Judge(error.to_string()))?;
    serde_json::from_value(object).map_err(|error| {
        EvaluationError::Judge(format!(
            "the object `{}` does not fit: {error}",
            question.name
        ))
    })
}
