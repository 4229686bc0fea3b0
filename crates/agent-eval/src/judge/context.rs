//! Judges an answer against retrieved texts.

use serde::Deserialize;
use serde_json::json;

use super::prompt::{JudgedMaterial, Prompt};
use super::{Judge, JudgeQuestion, ask};
use crate::count::{float, share};
use crate::{EvaluationError, Grade};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RagMeasure {
    /// Claims of the answer that the texts support.
    Faithfulness,
    /// Statements of the answer about the question.
    AnswerRelevancy,
    /// Retrieved texts about the question.
    ContextualRelevancy,
    /// Whether the useful texts come first.
    ContextualPrecision,
    /// Statements of the reference that the texts contain.
    ContextualRecall,
}

#[derive(Deserialize)]
struct ContextReply {
    items: Vec<ContextItem>,
}

#[derive(Deserialize)]
struct ContextItem {
    text: String,
    holds: bool,
}

const EACH_TEXT: &str =
    "Reply with one item for each found text, in their order: `text` is its number.";

impl RagMeasure {
    fn judges_texts(self) -> bool {
        matches!(self, Self::ContextualRelevancy | Self::ContextualPrecision)
    }

    fn task(self) -> String {
        match self {
            Self::Faithfulness => "Split the answer into its claims of fact. For each claim, `holds` says whether the \
                 found texts support it. A claim that they do not mention does not hold."
                .to_owned(),
            Self::AnswerRelevancy => "Split the answer into its statements. For each statement, `holds` says whether \
                 it helps to answer the question."
                .to_owned(),
            Self::ContextualRelevancy => {
                format!("`holds` says whether a found text is about the question. {EACH_TEXT}")
            }
            Self::ContextualPrecision => {
                format!("`holds` says whether a found text helps to arrive at the reference. {EACH_TEXT}")
            }
            Self::ContextualRecall => "Split the reference into its statements. For each statement, `holds` says \
                 whether the found texts contain it."
                .to_owned(),
        }
    }

    fn question(self, material: &JudgedMaterial) -> Result<JudgeQuestion, EvaluationError> {
        let missing = |what: &str| Err(EvaluationError::Missing(format!("the case has no {what}")));
        let mut prompt = Prompt::task(&self.task()).show("Question", &material.input);
        if matches!(self, Self::Faithfulness | Self::AnswerRelevancy) {
            prompt = prompt.show("Answer", &material.answer);
        }
        if matches!(self, Self::ContextualPrecision | Self::ContextualRecall) {
            let Some(truth) = &material.truth else {
                return missing("ground truth in words");
            };
            prompt = prompt.show("Reference", truth);
        }
        if self != Self::AnswerRelevancy {
            if material.retrieved.is_empty() {
                return missing("retrieval context");
            }
            prompt = prompt.show_all("Found text", &material.retrieved);
        }
        Ok(prompt.question(
            "items",
            json!({
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": { "text": { "type": "string" }, "holds": { "type": "boolean" } },
                            "required": ["text", "holds"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["items"],
                "additionalProperties": false,
            }),
        ))
    }
}

/// Returns the share of positive verdicts; for precision, the mean of precision@k over the useful
/// texts.
///
/// # Errors
/// [`EvaluationError::Judge`] also if there is nothing to judge or a text is skipped;
/// [`EvaluationError::Missing`] without texts or reference.
pub async fn judge_context(
    judge: &dyn Judge,
    material: &JudgedMaterial,
    measure: RagMeasure,
) -> Result<Grade, EvaluationError> {
    let question = measure.question(material)?;
    let ContextReply { items } = ask(judge, &question).await?;
    if items.is_empty() {
        let message = "it found nothing to judge".to_owned();
        return Err(EvaluationError::Judge(message));
    }
    let texts = material.retrieved.len();
    if measure.judges_texts() && items.len() != texts {
        let message = format!("it judged {} of {texts} texts", items.len());
        return Err(EvaluationError::Judge(message));
    }
    let holding = items.iter().filter(|item| item.holds).count();
    let score = if measure == RagMeasure::ContextualPrecision {
        precision(&items, holding)
    } else {
        share(holding, items.len())
    };
    let failing: Vec<&str> = items
        .iter()
        .filter(|item| !item.holds)
        .map(|item| item.text.as_str())
        .collect();
    Ok(Grade::similarity(score)
        .with("holding", holding)
        .with("all", items.len())
        .with("failing", failing))
}

fn precision(items: &[ContextItem], holding: usize) -> f64 {
    let mut seen = 0;
    let mut sum = 0.0;
    for (index, item) in items.iter().enumerate() {
        if item.holds {
            seen += 1;
            sum += share(seen, index + 1);
        }
    }
    if holding == 0 {
        0.0
    } else {
        sum / float(holding)
    }
}
