//! Compares two reports.

use std::collections::BTreeMap;

use serde::Serialize;

use super::wire::{CaseReport, Report, Verdict};
use crate::PassTally;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CaseKey {
    pub name: String,
    pub arm: String,
}

/// Changes between two runs, in the order of the later report (the earlier one for `gone`). Only
/// cases that were judged in both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunChanges {
    pub better: Vec<CaseKey>,
    pub worse: Vec<CaseKey>,
    /// Cases that passed and now fail.
    pub regressions: Vec<CaseKey>,
    pub new: Vec<CaseKey>,
    pub gone: Vec<CaseKey>,
}

pub fn changes(before: &Report, now: &Report) -> RunChanges {
    let earlier = by_key(before);
    let later = by_key(now);
    let mut changes = RunChanges::default();
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
    let tally = PassTally {
        judged: case.repeats,
        passes: case.passes,
    };
    tally.rate()
}
