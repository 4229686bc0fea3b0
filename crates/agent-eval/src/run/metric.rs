//! Evaluates one turn with one metric.

use serde_json::Value;

use super::case::{CaseTurn, Evaluation, Metric, Truth, TurnRecord};
use crate::judge::AssignedJudge;
use crate::{
    EqualityOptions, EvaluationError, Expectation, ExtraColumns, GoldRows, Grade, Judge,
    JudgedMaterial, LimitMeasure, NumericOptions, SqlResultOptions, Tolerance, ToolsMode, Usage,
    bleu, contains_any, contains_none, equals, f1_score, grade_measure, grade_sources, grade_tools,
    judge_context, judge_criteria, judge_refusal, matches, meteor, numeric, rouge, sql_result,
};

/// A truth with its rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KnownTruth {
    Text(String),
    Value(f64),
    Rows(GoldRows),
    Refusal,
}

pub(super) struct GradedTurn<'a> {
    pub asked: &'a CaseTurn,
    pub record: &'a TurnRecord,
    pub truths: &'a [KnownTruth],
    pub tools_mode: ToolsMode,
    pub forbidden: &'a [String],
    pub usage: Usage,
    pub seconds: f64,
    pub judge: Option<&'a dyn Judge>,
}

/// Returns a truth's default evaluation.
pub(super) fn inferred(truth: &Truth) -> Evaluation {
    let metric = match truth {
        Truth::Text(_) => Metric::Equality(EqualityOptions::INFERRED),
        Truth::Value(_) => Metric::Numeric(NumericOptions::INFERRED),
        Truth::Rows(_) | Truth::Gold(_) => Metric::SqlResult {
            tolerance: Tolerance::DEFAULT,
            extra_columns: ExtraColumns::Allow,
            allow_empty: false,
            order: None,
        },
        Truth::Refusal => Metric::Refusal,
    };
    Evaluation {
        metric,
        name: None,
        threshold: None,
        response_path: None,
        judge: None,
    }
}

impl Metric {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Equality(_) => "equality",
            Self::Contains(..) => "contains",
            Self::NotContains(..) => "not_contains",
            Self::Pattern(_) => "regex",
            Self::Numeric(_) => "numeric",
            Self::SqlResult { .. } => "sql_result",
            Self::Tools(_) => "tools",
            Self::Sources(_) => "sources",
            Self::Refusal => "refusal",
            Self::Cost(_) => "cost",
            Self::Tokens(_) => "tokens",
            Self::Seconds(_) => "seconds",
            Self::Steps(_) => "steps",
            Self::F1Score => "f1_score",
            Self::Bleu => "bleu",
            Self::Rouge(_) => "rouge",
            Self::Meteor => "meteor",
            Self::Geval(_) => "geval",
            Self::Rag(_) => "rag",
        }
    }

    /// True if the metric needs a threshold to pass.
    pub(super) const fn needs_threshold(&self) -> bool {
        matches!(
            self,
            Self::F1Score
                | Self::Bleu
                | Self::Rouge(_)
                | Self::Meteor
                | Self::Geval(_)
                | Self::Rag(_)
        )
    }
}

impl GradedTurn<'_> {
    pub(super) async fn grade(&self, evaluation: &Evaluation) -> Result<Grade, EvaluationError> {
        let answer = self.answer(evaluation)?;
        match &evaluation.metric {
            Metric::Contains(values, case) => {
                Ok(contains_any(&answer, &self.values(values)?, *case))
            }
            Metric::NotContains(values, case) => {
                Ok(contains_none(&answer, &self.values(values)?, *case))
            }
            Metric::Pattern(pattern) => Ok(matches(&answer, pattern)),
            Metric::Tools(mode) => Ok(grade_tools(
                &self.record.calls,
                &self.asked.expected_tools,
                mode.unwrap_or(self.tools_mode),
                self.forbidden,
            )),
            Metric::Sources(wanted) => Ok(grade_sources(&self.record.found, wanted)),
            Metric::Cost(max) => grade_measure(LimitMeasure::Cost, self.usage.cost_usd, *max),
            Metric::Tokens(max) => {
                grade_measure(LimitMeasure::Tokens, Some(whole(self.usage.tokens)), *max)
            }
            Metric::Steps(max) => {
                grade_measure(LimitMeasure::Steps, Some(whole(self.usage.steps)), *max)
            }
            Metric::Seconds(max) => grade_measure(LimitMeasure::Seconds, Some(self.seconds), *max),
            Metric::Refusal => {
                let refusal = self.truths.contains(&KnownTruth::Refusal);
                let expectation = if refusal {
                    Expectation::Refusal
                } else {
                    Expectation::Answer
                };
                judge_refusal(
                    &self.judge(evaluation)?,
                    &self.material(answer),
                    expectation,
                )
                .await
            }
            Metric::Geval(criteria) => {
                judge_criteria(&self.judge(evaluation)?, &self.material(answer), criteria).await
            }
            Metric::Rag(measure) => {
                judge_context(&self.judge(evaluation)?, &self.material(answer), *measure).await
            }
            _ => self.best(&answer, &evaluation.metric),
        }
    }

    /// Returns the best grade of all truths. A passing one wins; then an error goes before a score.
    fn best(&self, answer: &str, metric: &Metric) -> Result<Grade, EvaluationError> {
        let mut best: Option<Grade> = None;
        let mut error = None;
        for truth in self.truths {
            match self.against(answer, metric, truth) {
                None => {}
                Some(Err(failed)) => error = error.or(Some(failed)),
                Some(Ok(grade)) => {
                    let is_best = best.as_ref().is_none_or(|best| grade.score > best.score);
                    best = if is_best { Some(grade) } else { best };
                }
            }
        }
        match (best, error) {
            (Some(grade), _) if grade.score >= 1.0 => Ok(grade),
            (_, Some(error)) => Err(error),
            (Some(grade), None) => Ok(grade),
            (None, None) => {
                let message = format!("the case has no ground truth for `{}`", metric.name());
                Err(EvaluationError::Missing(message))
            }
        }
    }

    /// `None` for a truth of another kind.
    fn against(
        &self,
        answer: &str,
        metric: &Metric,
        truth: &KnownTruth,
    ) -> Option<Result<Grade, EvaluationError>> {
        let similar = |score: fn(&str, &str) -> f64| {
            let truth = truth_text(truth)?;
            Some(Ok(Grade::similarity(score(answer, &truth))))
        };
        match (metric, truth) {
            (Metric::Equality(options), truth) => {
                Some(Ok(equals(answer, &truth_text(truth)?, *options)))
            }
            (Metric::Numeric(options), KnownTruth::Value(value)) => {
                Some(numeric(answer, *value, options))
            }
            (
                Metric::SqlResult {
                    tolerance,
                    extra_columns,
                    allow_empty,
                    order,
                },
                KnownTruth::Rows(gold),
            ) => {
                let options = SqlResultOptions {
                    tolerance: *tolerance,
                    extra_columns: *extra_columns,
                    allow_empty: *allow_empty,
                    order: order.clone().unwrap_or_else(|| gold.order.clone()),
                };
                Some(sql_result(self.record.rows.as_ref(), &gold.table, &options))
            }
            (Metric::F1Score, _) => similar(f1_score),
            (Metric::Bleu, _) => similar(bleu),
            (Metric::Meteor, _) => similar(meteor),
            (Metric::Rouge(variant), truth) => {
                let score = rouge(answer, &truth_text(truth)?, *variant);
                Some(Ok(Grade::similarity(score)))
            }
            _ => None,
        }
    }

    fn answer(&self, evaluation: &Evaluation) -> Result<String, EvaluationError> {
        let Some(path) = &evaluation.response_path else {
            return Ok(self.record.answer.clone());
        };
        let whole = self.record.structured.as_ref();
        let found = whole.and_then(|value| {
            path.split('.').try_fold(value, |value, key| match value {
                Value::Array(items) => items.get(key.parse::<usize>().ok()?),
                other => other.get(key),
            })
        });
        match found {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Ok(other.to_string()),
            None => {
                let message = format!("the structured answer has no `{path}`");
                Err(EvaluationError::Missing(message))
            }
        }
    }

    fn values(&self, values: &[String]) -> Result<Vec<String>, EvaluationError> {
        if !values.is_empty() {
            return Ok(values.to_vec());
        }
        let truths: Vec<String> = self.truths.iter().filter_map(truth_text).collect();
        if truths.is_empty() {
            let message = "the case has no ground truth in words".to_owned();
            return Err(EvaluationError::Missing(message));
        }
        Ok(truths)
    }

    fn judge<'e>(
        &'e self,
        evaluation: &'e Evaluation,
    ) -> Result<AssignedJudge<'e>, EvaluationError> {
        let judge = self.judge.ok_or_else(|| {
            let message = "the run has no model that judges".to_owned();
            EvaluationError::Missing(message)
        })?;
        Ok(AssignedJudge {
            judge,
            model: evaluation.judge.as_deref(),
        })
    }

    fn material(&self, answer: String) -> JudgedMaterial {
        JudgedMaterial {
            input: self.asked.input.clone(),
            answer,
            truth: self.truths.iter().find_map(truth_text),
            context: self.asked.context.clone(),
            retrieved: match &self.asked.retrieved {
                Some(given) => given.clone(),
                None => self.record.found.clone(),
            },
        }
    }
}

fn truth_text(truth: &KnownTruth) -> Option<String> {
    match truth {
        KnownTruth::Text(text) => Some(text.clone()),
        KnownTruth::Value(value) => Some(value.to_string()),
        KnownTruth::Rows(_) | KnownTruth::Refusal => None,
    }
}

pub(super) fn whole(number: u64) -> f64 {
    crate::count::float(usize::try_from(number).unwrap_or(usize::MAX))
}
