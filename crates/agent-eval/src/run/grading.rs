//! The verdict on one conversation.

use super::case::{Case, Conversation, Evaluation, Metric, TurnEnd};
use super::metric::{GradedTurn, KnownTruth, inferred};
use crate::judge::MeteredJudge;
use crate::{EvaluationError, FailureClass, Grade, Judge, MetricResult, Usage, Verdict};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GradedAttempt {
    pub verdict: Verdict,
    pub class: Option<FailureClass>,
    pub reason: Option<String>,
    pub metrics: Vec<MetricResult>,
    pub judging: Option<Usage>,
}

impl GradedAttempt {
    pub(super) fn error(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Error,
            class: None,
            reason: Some(reason.into()),
            metrics: Vec::new(),
            judging: None,
        }
    }
}

struct JudgedMetric {
    result: MetricResult,
    class: Option<FailureClass>,
}

/// `truths` are per turn.
pub(super) async fn grade(
    case: &Case,
    conversation: &Conversation,
    truths: &[Vec<KnownTruth>],
    judge: Option<&dyn Judge>,
) -> GradedAttempt {
    let metered = judge.map(MeteredJudge::new);
    let judge = metered.as_ref().map(|judge| judge as &dyn Judge);
    let mut graded = grade_with(case, conversation, truths, judge).await;
    graded.judging = metered.and_then(|judge| judge.spent());
    graded
}

async fn grade_with(
    case: &Case,
    conversation: &Conversation,
    truths: &[Vec<KnownTruth>],
    judge: Option<&dyn Judge>,
) -> GradedAttempt {
    if conversation.end == TurnEnd::OutOfSteps {
        return GradedAttempt {
            verdict: Verdict::Failed,
            class: Some(FailureClass::MaxTurns),
            reason: Some("max_turns limit reached".to_owned()),
            metrics: Vec::new(),
            judging: None,
        };
    }
    let (wanted, given) = (case.turns.len(), conversation.turns.len());
    if given != wanted {
        return GradedAttempt::error(format!("{given} of {wanted} turns were answered"));
    }
    let mut judged = Vec::new();
    let turns = case.turns.iter().zip(&conversation.turns).zip(truths);
    for (index, ((turn, record), truths)) in turns.enumerate() {
        let prefix = if wanted == 1 {
            String::new()
        } else {
            format!("turn {}: ", index + 1)
        };
        let turn = GradedTurn {
            asked: turn,
            record,
            truths,
            tools_mode: case.tools_mode,
            forbidden: &case.forbidden_tools,
            usage: conversation.usage,
            seconds: conversation.seconds,
            judge,
        };
        judged.extend(
            judge_turn(&turn, case, index)
                .await
                .into_iter()
                .map(|mut it| {
                    it.result.name = format!("{prefix}{}", it.result.name);
                    it
                }),
        );
        if index + 1 == wanted {
            judged.extend(judge_limits(&turn, case).await);
        }
    }
    verdict(judged)
}

/// Returns an error if a turn's only truth has no rows and no evaluator allows that.
pub(super) fn unusable(case: &Case, truths: &[Vec<KnownTruth>]) -> Option<GradedAttempt> {
    for (turn, truths) in case.turns.iter().zip(truths) {
        let [KnownTruth::Rows(gold)] = truths.as_slice() else {
            continue;
        };
        let allows = |it: &Evaluation| match it.metric {
            Metric::SqlResult { allow_empty, .. } => allow_empty,
            _ => false,
        };
        let compares = |it: &Evaluation| matches!(it.metric, Metric::SqlResult { .. });
        let is_compared = turn.evaluations.is_empty() || turn.evaluations.iter().any(compares);
        if gold.table.rows.is_empty() && is_compared && !turn.evaluations.iter().any(allows) {
            let error = EvaluationError::EmptyReference;
            return Some(GradedAttempt::error(format!(
                "oracle: {}: {error}",
                error.code()
            )));
        }
    }
    None
}

async fn judge_turn(turn: &GradedTurn<'_>, case: &Case, index: usize) -> Vec<JudgedMetric> {
    let written = case
        .turns
        .get(index)
        .map(|turn| turn.evaluations.as_slice());
    let written = written.unwrap_or_default();
    let mut judged = Vec::new();
    for evaluation in written {
        judged.push(judge_one(turn, evaluation).await);
    }
    if written.is_empty() {
        judged.extend(judge_inferred(turn).await);
    }
    let has_tools = |it: &Evaluation| matches!(it.metric, Metric::Tools(_));
    let needs_tools = !turn.asked.expected_tools.is_empty() || !turn.forbidden.is_empty();
    if needs_tools && !written.iter().any(has_tools) {
        judged.push(judge_one(turn, &of_case("expected_tools", Metric::Tools(None))).await);
    }
    judged
}

/// One evaluation per kind of truth; any can pass.
async fn judge_inferred(turn: &GradedTurn<'_>) -> Vec<JudgedMetric> {
    let mut evaluations: Vec<Evaluation> = Vec::new();
    for truth in &turn.asked.truths {
        let evaluation = inferred(truth);
        let name = evaluation.metric.name();
        if evaluations.iter().all(|it| it.metric.name() != name) {
            evaluations.push(evaluation);
        }
    }
    let mut judged = Vec::new();
    for evaluation in &evaluations {
        let one = judge_one(turn, evaluation).await;
        if one.result.passed == Some(true) {
            return vec![one];
        }
        judged.push(one);
    }
    judged
}

async fn judge_limits(turn: &GradedTurn<'_>, case: &Case) -> Vec<JudgedMetric> {
    let limits = &case.limits;
    let all = [
        ("max_turns", limits.max_steps.map(Metric::Steps)),
        ("max_usd", limits.max_usd.map(Metric::Cost)),
        ("max_tokens", limits.max_tokens.map(Metric::Tokens)),
        ("max_seconds", limits.max_seconds.map(Metric::Seconds)),
    ];
    let mut judged = Vec::new();
    for (name, metric) in all {
        if let Some(metric) = metric {
            judged.push(judge_one(turn, &of_case(name, metric)).await);
        }
    }
    judged
}

fn of_case(name: &str, metric: Metric) -> Evaluation {
    Evaluation {
        metric,
        name: Some(name.to_owned()),
        threshold: None,
        response_path: None,
        judge: None,
    }
}

async fn judge_one(turn: &GradedTurn<'_>, evaluation: &Evaluation) -> JudgedMetric {
    let kind = evaluation.metric.name();
    let name = evaluation.name.clone().unwrap_or_else(|| kind.to_owned());
    let grade = turn.grade(evaluation).await;
    let class = grade.as_ref().ok().and_then(|grade| grade.failure);
    JudgedMetric {
        result: result(kind, name, grade, evaluation),
        class,
    }
}

fn result(
    kind: &str,
    name: String,
    grade: Result<Grade, EvaluationError>,
    evaluation: &Evaluation,
) -> MetricResult {
    let mut result = MetricResult {
        kind: kind.to_owned(),
        name,
        score: None,
        threshold: evaluation.threshold,
        passed: None,
        error: None,
        reason: None,
        details: serde_json::Map::new(),
    };
    match grade {
        Err(error) => result.error = Some(format!("{}: {error}", error.code())),
        Ok(grade) => {
            result.score = Some(grade.score);
            result.passed = match evaluation.threshold {
                // Tolerates binary rounding.
                Some(threshold) => Some(grade.score >= threshold - 1e-12),
                None if evaluation.metric.needs_threshold() => None,
                None => Some(grade.failure.is_none()),
            };
            result.reason = grade.reason;
            result.details = grade.details;
        }
    }
    result
}

/// A failure decides, then an error.
fn verdict(judged: Vec<JudgedMetric>) -> GradedAttempt {
    let failed = judged.iter().find(|it| it.result.passed == Some(false));
    let error = judged.iter().find(|it| it.result.error.is_some());
    let (verdict, class, reason) = match (failed, error) {
        (Some(failed), _) => (
            Verdict::Failed,
            failed.class,
            Some(failure_reason(&failed.result)),
        ),
        (None, Some(error)) => {
            let MetricResult { name, error, .. } = &error.result;
            let error = error.as_deref().unwrap_or_default();
            (Verdict::Error, None, Some(format!("{name}: {error}")))
        }
        (None, None) => (Verdict::Passed, None, None),
    };
    GradedAttempt {
        verdict,
        class,
        reason,
        metrics: judged.into_iter().map(|it| it.result).collect(),
        judging: None,
    }
}

fn failure_reason(result: &MetricResult) -> String {
    let name = &result.name;
    match (&result.reason, result.score, result.threshold) {
        (Some(reason), ..) => format!("{name}: {reason}"),
        (None, Some(score), Some(threshold)) => {
            format!("{name}: the score {score:.3} is below {threshold}")
        }
        _ => format!("{name} failed"),
    }
}
