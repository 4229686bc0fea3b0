//! Evaluators that ask a model.
//!
//! A judge sees the case and the answer, never the arm of a comparison. What comes from the case or the agent is fenced
//! as data. A judge that fails, or whose object is not the one that was asked for, is an error.

mod context;
mod criteria;
mod prompt;
mod refusal;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{EvaluationError, Usage};

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
    async fn object(&self, question: &Question) -> Result<JudgedObject, JudgeError>;
}

/// The answer of a judge.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedObject {
    /// The object.
    pub value: Value,
    /// What it cost.
    pub usage: Usage,
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
    /// The model that the evaluator names; the judge's own when absent.
    pub model: Option<String>,
}

/// Why a judge did not answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct JudgeError {
    /// What failed.
    pub message: String,
    /// What it cost all the same.
    pub usage: Usage,
}

/// A judge that adds up what it costs.
pub(crate) struct MeteredJudge<'a> {
    judge: &'a dyn Judge,
    /// Absent until it is asked.
    spent: Mutex<Option<Usage>>,
}

impl<'a> MeteredJudge<'a> {
    pub(crate) fn new(judge: &'a dyn Judge) -> Self {
        Self {
            judge,
            spent: Mutex::default(),
        }
    }

    /// What it was paid; absent when it was not asked.
    pub(crate) fn spent(&self) -> Option<Usage> {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Judge for MeteredJudge<'_> {
    async fn object(&self, question: &Question) -> Result<JudgedObject, JudgeError> {
        let judged = self.judge.object(question).await;
        let usage = match &judged {
            Ok(judged) => judged.usage,
            Err(error) => error.usage,
        };
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent = Some(spent.unwrap_or(Usage::NOTHING).plus(usage));
        drop(spent);
        judged
    }
}

/// A judge that asks the model of one evaluator.
pub(crate) struct AssignedJudge<'a> {
    pub(crate) judge: &'a dyn Judge,
    pub(crate) model: Option<&'a str>,
}

#[async_trait]
impl Judge for AssignedJudge<'_> {
    async fn object(&self, question: &Question) -> Result<JudgedObject, JudgeError> {
        let Some(model) = self.model else {
            return self.judge.object(question).await;
        };
        let question = Question {
            model: Some(model.to_owned()),
            ..question.clone()
        };
        self.judge.object(&question).await
    }
}

/// Asks `judge` and reads its object.
async fn ask<T: DeserializeOwned>(
    judge: &dyn Judge,
    question: &Question,
) -> Result<T, EvaluationError> {
    let object = judge
        .object(question)
        .await
        .map_err(|error| EvaluationError::Judge(error.to_string()))?;
    serde_json::from_value(object.value).map_err(|error| {
        EvaluationError::Judge(format!(
            "the object `{}` does not fit: {error}",
            question.name
        ))
    })
}
