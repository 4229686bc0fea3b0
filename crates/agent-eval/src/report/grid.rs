//! The tables of Markdown and HTML reports.

use super::wire::{ArmReport, CaseReport, MetricResult, Report, Verdict};
use crate::Interval;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    fn of(head: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            head: head.iter().map(|name| (*name).to_owned()).collect(),
            rows,
        }
    }
}

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

pub fn arms(report: &Report) -> Grid {
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
    Grid::of(
        &[
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
        report.arms.iter().map(row).collect(),
    )
}

pub fn verdicts(report: &Report) -> Vec<(String, String)> {
    let Some(ablation) = &report.ablation else {
        return Vec::new();
    };
    let others = report.arms.iter().filter(|arm| arm.name != ablation.base);
    others
        .map(|other| {
            let found = ablation.arms.iter().find(|arm| arm.name == other.name);
            let verdict = found.map_or_else(
                || "cannot be told: no case was judged in both arms".to_owned(),
                |arm| format!("{} (p = {:.4})", arm.line, arm.p_value),
            );
            (format!("{} against {}", ablation.base, other.name), verdict)
        })
        .collect()
}

pub fn side_by_side(report: &Report) -> Grid {
    let names = report.arms.iter().map(|arm| arm.name.clone());
    let first = report.arms.first().map(|arm| arm.name.as_str());
    let in_arm = |name: &str, arm: &str| {
        let found = report.cases.iter();
        let mut found = found.filter(|case| case.name == name && case.arm == arm);
        found.next().map(at_a_glance).unwrap_or_default()
    };
    let cases = report.cases.iter();
    let rows = cases
        .filter(|case| Some(case.arm.as_str()) == first)
        .map(|case| {
            let arms = report.arms.iter();
            let cells = arms.map(|arm| in_arm(&case.name, &arm.name));
            [case.name.clone()].into_iter().chain(cells).collect()
        });
    Grid {
        head: ["case".to_owned()].into_iter().chain(names).collect(),
        rows: rows.collect(),
    }
}

/// Shows the number of passes of several repeats.
fn at_a_glance(case: &CaseReport) -> String {
    let verdict = match case.class {
        Some(class) => format!("{}: {}", case.verdict.as_str(), class.as_str()),
        None => case.verdict.as_str().to_owned(),
    };
    match case.repeats {
        0 | 1 => verdict,
        repeats => format!("{verdict} {}/{repeats}", case.passes),
    }
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
    Grid::of(
        &[
            "case", "arm", "verdict", "passes", "reason", "cost", "seconds",
        ],
        report.cases.iter().map(row).collect(),
    )
}

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
    Grid::of(
        &["metric", "score", "threshold", "verdict", "reason"],
        case.metrics.iter().map(row).collect(),
    )
}

pub(super) fn failed_cases(report: &Report) -> impl Iterator<Item = &CaseReport> {
    let is_troubled = |case: &&CaseReport| matches!(case.verdict, Verdict::Failed | Verdict::Error);
    report.cases.iter().filter(is_troubled)
}

pub(super) fn verdict(case: &CaseReport) -> String {
    let flaky = if case.flaky { ", flaky" } else { "" };
    match case.class {
        Some(class) => format!("{}: {}{flaky}", case.verdict.as_str(), class.as_str()),
        None => format!("{}{flaky}", case.verdict.as_str()),
    }
}

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
