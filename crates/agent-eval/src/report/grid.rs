//! What Markdown and HTML show, as tables of text.

use super::wire::{ArmReport, CaseReport, MetricResult, Report, Verdict};
use crate::Interval;

/// A table of texts.
pub(super) struct Grid {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

/// The lines above the tables: a name and a value each.
pub(super) fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let layer = &report.layer;
    let commit = layer.commit.as_deref().unwrap_or("no commit");
    let changed = if layer.dirty { ", with changes" } else { "" };
    vec![
        ("Run", report.run.clone()),
        ("Started", report.started.clone()),
        ("Model", report.model.clone()),
        ("Layer", format!("{commit}{changed}")),
        ("ktx", report.ktx.clone()),
    ]
}

pub(super) fn arms(report: &Report) -> Grid {
    let row = |arm: &ArmReport| {
        vec![
            arm.name.clone(),
            arm.cases.to_string(),
            arm.passed.to_string(),
            arm.failed.to_string(),
            arm.errors.to_string(),
            arm.skipped.to_string(),
            accuracy(arm.accuracy, arm.ci),
            percent(arm.coverage),
            percent(arm.wrong_and_confident),
            dollars(arm.cost_usd),
            arm.tokens.to_string(),
            format!("{:.1}", arm.seconds),
        ]
    };
    Grid {
        head: vec![
            "arm",
            "cases",
            "passed",
            "failed",
            "errors",
            "skipped",
            "accuracy (95 %)",
            "coverage",
            "wrong and confident",
            "cost",
            "tokens",
            "seconds",
        ],
        rows: report.arms.iter().map(row).collect(),
    }
}

/// For each other arm the verdict of the ablation.
pub(super) fn verdicts(report: &Report) -> Vec<(String, String)> {
    let Some(ablation) = &report.ablation else {
        return Vec::new();
    };
    let arms = ablation.arms.iter();
    arms.map(|arm| {
        let names = format!("{} against {}", ablation.base, arm.name);
        (names, format!("{} (p = {:.4})", arm.line, arm.p_value))
    })
    .collect()
}

pub(super) fn cases(report: &Report) -> Grid {
    let row = |case: &CaseReport| {
        vec![
            case.name.clone(),
            case.arm.clone(),
            verdict(case),
            format!("{}/{}", case.passes, case.repeats),
            explanation(case),
            dollars(case.usage.cost_usd),
            format!("{:.1}", case.seconds),
        ]
    };
    Grid {
        head: vec![
            "case", "arm", "verdict", "passes", "reason", "cost", "seconds",
        ],
        rows: report.cases.iter().map(row).collect(),
    }
}

/// The evaluators of one case.
pub(super) fn metrics(case: &CaseReport) -> Grid {
    let row = |metric: &MetricResult| {
        vec![
            metric.name.clone(),
            metric
                .score
                .map_or_else(|| "–".to_owned(), |score| format!("{score:.3}")),
            metric
                .threshold
                .map_or_else(|| "–".to_owned(), |it| it.to_string()),
            match metric.passed {
                _ if metric.error.is_some() => "error",
                Some(true) => "passed",
                Some(false) => "failed",
                None => "informs",
            }
            .to_owned(),
            metric
                .error
                .clone()
                .or_else(|| metric.reason.clone())
                .unwrap_or_default(),
        ]
    };
    Grid {
        head: vec!["metric", "score", "threshold", "verdict", "reason"],
        rows: case.metrics.iter().map(row).collect(),
    }
}

/// Cases with something to look at.
pub(super) fn troubled(report: &Report) -> impl Iterator<Item = &CaseReport> {
    let is_troubled = |case: &&CaseReport| matches!(case.verdict, Verdict::Failed | Verdict::Error);
    report.cases.iter().filter(is_troubled)
}

/// The verdict with the kind of the failure.
pub(super) fn verdict(case: &CaseReport) -> String {
    let flaky = if case.flaky { ", flaky" } else { "" };
    match case.class {
        Some(class) => format!("{}: {}{flaky}", case.verdict.as_str(), class.as_str()),
        None => format!("{}{flaky}", case.verdict.as_str()),
    }
}

/// Why a case did not pass.
pub(super) fn explanation(case: &CaseReport) -> String {
    case.reason.clone().unwrap_or_default()
}

fn accuracy(accuracy: Option<f64>, interval: Option<Interval>) -> String {
    match (accuracy, interval) {
        (Some(mean), Some(Interval { low, high })) => {
            let [mean, low, high] = [mean, low, high].map(|it| it * 100.0);
            format!("{mean:.0} % ({low:.0}…{high:.0})")
        }
        _ => "–".to_owned(),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(|| "–".to_owned(), |cost| format!("${cost:.4}"))
}
