//! Judges whether the agent refused.

use serde::Deserialize;
use serde_json::json;

use super::prompt::{JudgedMaterial, Prompt};
use super::{Judge, ask};
use crate::{EvaluationError, FailureClass, Grade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// The data lack the answer.
    Refusal,
    Answer,
}

const TASK: &str = "Decide whether the agent refused. It refused when it gave no value as the answer and said what is \
missing. An answer that names a value and adds a doubt is not a refusal.";

#[derive(Deserialize)]
struct RefusalReply {
    refused: bool,
    reason: String,
}

/// Returns 1 for the expected behavior.
pub async fn judge_refusal(
    judge: &dyn Judge,
    material: &JudgedMaterial,
    expectation: Expectation,
) -> Result<Grade, EvaluationError> {
    let question = Prompt::task(TASK)
        .show("Question", &material.input)
        .show("Answer", &material.answer)
        .question(
            "refusal",
            json!({
                "type": "object",
                "properties": { "refused": { "type": "boolean" }, "reason": { "type": "string" } },
                "required": ["refused", "reason"],
                "additionalProperties": false,
            }),
        );
    let RefusalReply { refused, reason } = ask(judge, &question).await?;
    Ok(match (expectation, refused) {
        (Expectation::Refusal, true) | (Expectation::Answer, false) => Grade {
            reason: Some(reason),
            ..Grade::full()
        },
        (Expectation::Refusal, false) => {
            Grade::failed(FailureClass::AnsweredInsteadOfRefusing, reason)
        }
        (Expectation::Answer, true) => Grade::failed(FailureClass::Refused, reason),
    })
}
