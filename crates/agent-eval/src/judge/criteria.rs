//! Judges an answer by criteria in words.

use serde::Deserialize;
use serde_json::json;

use super::prompt::{JudgedMaterial, Prompt};
use super::{Judge, JudgeQuestion, ask};
use crate::{EvaluationError, Grade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgedPart {
    Input,
    ActualOutput,
    ExpectedOutput,
    Context,
    RetrievalContext,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Criteria {
    pub criteria: String,
    /// If empty, the judge chooses its own.
    pub steps: Vec<String>,
    pub parts: Vec<JudgedPart>,
    /// Only the highest score counts.
    pub is_strict: bool,
    /// An odd number.
    pub votes: u32,
}

#[derive(Deserialize)]
struct CriteriaReply {
    score: f64,
    reason: String,
}

/// Returns the median score, from 0 to 1. If strict, only 10 of 10 is 1 and everything else is 0.
///
/// # Errors
/// [`EvaluationError::Judge`] if a vote fails or is not from 0 to 10; [`EvaluationError::Missing`]
/// if the case lacks a part, or the number of votes is even.
pub async fn judge_criteria(
    judge: &dyn Judge,
    material: &JudgedMaterial,
    criteria: &Criteria,
) -> Result<Grade, EvaluationError> {
    if criteria.votes.is_multiple_of(2) {
        let message = format!("`votes` is {}; it has to be odd", criteria.votes);
        return Err(EvaluationError::Missing(message));
    }
    let question = question(material, criteria)?;
    let mut votes: Vec<CriteriaReply> = Vec::new();
    for _ in 0..criteria.votes {
        let vote: CriteriaReply = ask(judge, &question).await?;
        if !(0.0..=10.0).contains(&vote.score) {
            let message = format!("the score {} is not between 0 and 10", vote.score);
            return Err(EvaluationError::Judge(message));
        }
        votes.push(vote);
    }
    votes.sort_by(|one, two| one.score.total_cmp(&two.score));
    let scores: Vec<f64> = votes.iter().map(|vote| vote.score).collect();
    let middle = votes.swap_remove(votes.len() / 2);
    let score = match (criteria.is_strict, middle.score) {
        (false, score) => score / 10.0,
        (true, score) if score >= 10.0 => 1.0,
        (true, _) => 0.0,
    };
    Ok(Grade {
        reason: Some(middle.reason),
        ..Grade::similarity(score)
    }
    .with("votes", scores))
}

fn question(
    material: &JudgedMaterial,
    criteria: &Criteria,
) -> Result<JudgeQuestion, EvaluationError> {
    let mut task = format!(
        "Score how well the answer meets the criteria, from 0 (not at all) to 10 (in full).\n\nCriteria: {}",
        criteria.criteria
    );
    for (index, step) in criteria.steps.iter().enumerate() {
        task = format!("{task}\nStep {}: {step}", index + 1);
    }
    let mut prompt = Prompt::task(&task);
    for part in &criteria.parts {
        let missing = |what: &str| EvaluationError::Missing(format!("the case has no {what}"));
        prompt = match part {
            JudgedPart::Input => prompt.show("Question", &material.input),
            JudgedPart::ActualOutput => prompt.show("Answer", &material.answer),
            JudgedPart::ExpectedOutput => match &material.truth {
                Some(truth) => prompt.show("Reference", truth),
                None => return Err(missing("ground truth in words")),
            },
            JudgedPart::Context if material.context.is_empty() => return Err(missing("context")),
            JudgedPart::Context => prompt.show_all("Context", &material.context),
            JudgedPart::RetrievalContext if material.retrieved.is_empty() => {
                return Err(missing("retrieval context"));
            }
            JudgedPart::RetrievalContext => prompt.show_all("Found text", &material.retrieved),
        };
    }
    Ok(prompt.question(
        "score",
        json!({
            "type": "object",
            "properties": {
                "score": { "type": "number", "minimum": 0, "maximum": 10 },
                "reason": { "type": "string" },
            },
            "required": ["score", "reason"],
            "additionalProperties": false,
        }),
    ))
}
