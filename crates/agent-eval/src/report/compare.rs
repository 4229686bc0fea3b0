//! Two reports compared.

use std::collections::BTreeMap;

use serde::Serialize;

use super::wire::{CaseReport, Report, Verdict};
use crate::Tally;

/// A case in an arm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CaseKey {
    /// The case.
    pub name: String,
    /// The arm.
    pub arm: String,
}

/// What changed between two runs, each list in the order of the later report (of the earlier one for `gone`). A case
/// that was not judged in one of the runs is in none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// A larger share of repeats passes.
    pub better: Vec<CaseKey>,
    /// A smaller share of repeats passes.
    pub worse: Vec<CaseKey>,
    /// Cases that passed and now fail: those of `worse` that a run must not have.
    pub regressions: Vec<CaseKey>,
    /// Cases that only the later run has.
    pub new: Vec<CaseKey>,
    /// Cases that only the earlier run has.
    pub gone: Vec<CaseKey>,
}

/// Compares a report with an earlier one.
pub fn changes(before: &Report, now: &Report) -> Changes {
    let earlier = by_key(before);
    let later = by_key(now);
    let mut changes = Changes::default();
    for case in &now.cases {
        let key = key(case);
        let Some(old) = earlier.get(&key) else {
            changes.new.push(key);
            continue;
        };
        let (Some(was), Some(is)) = (rate(old), rate(case)) else {
            continue;
        };
        if is > was {
            changes.better.push(key);
        } else if is < was {
            changes.worse.push(key.clone());
            if old.verdict == Verdict::Passed && case.verdict == Verdict::Failed {
                changes.regressions.push(key);
            }
        }
    }
    let gone = before.cases.iter().map(key);
    changes.gone = gone.filter(|key| !later.contains_key(key)).collect();
    changes
}

fn key(case: &CaseReport) -> CaseKey {
    CaseKey {
        name: case.name.clone(),
        arm: case.arm.clone(),
    }
}

fn by_key(report: &Report) -> BTreeMap<CaseKey, &CaseReport> {
    report.cases.iter().map(|case| (key(case), case)).collect()
}

fn rate(case: &CaseReport) -> Option<f64> {
    let tally = Tally {
        judged: case.repeats,
        passes: case.passes,
    };
    tally.rate()
}
