//! Evaluators that ask a model.
//!
//! A judge sees the case and the answer, never the arm. Their text is fenced as data. A failing
//! judge is an error.

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
pub use prompt::JudgedMaterial;
pub use refusal::{Expectation, judge_refusal};

#[async_trait]
pub trait Judge: Send + Sync {
    /// Returns an object that is valid against the question's schema.
    async fn object(&self, question: &JudgeQuestion) -> Result<JudgedObject, JudgeError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct JudgedObject {
    pub value: Value,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JudgeQuestion {
    pub name: &'static str,
    pub instructions: String,
    /// The task, then the fenced data.
    pub prompt: String,
    pub schema: Value,
    /// By default the judge's own.
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct JudgeError {
    pub message: String,
    /// Cost of the failed call.
    pub usage: Usage,
}

/// Adds up the cost of a judge.
pub(crate) struct MeteredJudge<'a> {
    judge: &'a dyn Judge,
    spent: Mutex<Option<Usage>>,
}

impl<'a> MeteredJudge<'a> {
    pub(crate) fn new(judge: &'a dyn Judge) -> Self {
        Self {
            judge,
            spent: Mutex::default(),
        }
    }

    /// Returns `None` if the judge was not asked.
    pub(crate) fn spent(&self) -> Option<Usage> {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Judge for MeteredJudge<'_> {
    async fn object(&self, question: &JudgeQuestion) -> Result<JudgedObject, JudgeError> {
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

pub(crate) struct AssignedJudge<'a> {
    pub(crate) judge: &'a dyn Judge,
    pub(crate) model: Option<&'a str>,
}

#[async_trait]
impl Judge for AssignedJudge<'_> {
    async fn object(&self, question: &JudgeQuestion) -> Result<JudgedObject, JudgeError> {
        let Some(model) = self.model else {
            return self.judge.object(question).await;
        };
        let question = JudgeQuestion {
            model: Some(model.to_owned()),
            ..question.clone()
        };
        self.judge.object(&question).await
    }
}

async fn ask<T: DeserializeOwned>(
    judge: &dyn Judge,
    question: &JudgeQuestion,
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
