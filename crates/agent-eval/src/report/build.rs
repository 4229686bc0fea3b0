//! Builds a report from attempts.

use std::collections::BTreeMap;

use super::wire::{
    AblationArm, AblationReport, AgentInfo, ArmReport, Attempt, CaseReport, LayerInfo, Report,
    Totals, Usage, Verdict,
};
use crate::count::{float, share};
use crate::{ArmPair, ArmResult, Expectation, PassTally, accuracy, compare_arms};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportHeader {
    pub run: String,
    pub ktx: String,
    pub agent: AgentInfo,
    pub layer: LayerInfo,
    pub model: String,
    /// RFC 3339.
    pub started: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCase {
    /// Unique.
    pub name: String,
    pub expectation: Expectation,
}

const MOST_K: usize = 10;

/// `attempts` can be in any order. The first arm is the base of the ablation.
pub fn report(
    header: ReportHeader,
    cases: &[PlannedCase],
    arms: &[String],
    attempts: &[Attempt],
) -> Report {
    let mut by_key: BTreeMap<(&str, &str), Vec<&Attempt>> = BTreeMap::new();
    for attempt in attempts {
        let key = (attempt.arm.as_str(), attempt.case.as_str());
        by_key.entry(key).or_default().push(attempt);
    }
    let mut arm_reports = Vec::with_capacity(arms.len());
    let mut case_reports = Vec::with_capacity(arms.len() * cases.len());
    let mut sides: Vec<Vec<ArmResult>> = Vec::with_capacity(arms.len());
    for arm in arms {
        let runs: Vec<CaseRun<'_>> = cases
            .iter()
            .map(|case| {
                let found = by_key.get(&(arm.as_str(), case.name.as_str()));
                CaseRun::of(case, found.cloned().unwrap_or_default())
            })
            .collect();
        sides.push(runs.iter().map(CaseRun::side).collect());
        let reports: Vec<CaseReport> = runs.iter().map(|run| run.report(arm)).collect();
        arm_reports.push(arm_report(arm, &runs, &reports));
        case_reports.extend(reports);
    }
    Report {
        run: header.run,
        ktx: header.ktx,
        agent: header.agent,
        layer: header.layer,
        model: header.model,
        started: header.started,
        totals: totals(&arm_reports, attempts),
        ablation: ablation(arms, &sides),
        arms: arm_reports,
        cases: case_reports,
    }
}

struct CaseRun<'a> {
    case: &'a PlannedCase,
    attempts: Vec<&'a Attempt>,
    tally: PassTally,
}

impl<'a> CaseRun<'a> {
    fn of(case: &'a PlannedCase, mut attempts: Vec<&'a Attempt>) -> Self {
        attempts.sort_by_key(|attempt| attempt.repeat);
        let with = |verdict| attempts.iter().filter(move |it| it.verdict == verdict);
        let passes = with(Verdict::Passed).count();
        let tally = PassTally {
            judged: passes + with(Verdict::Failed).count(),
            passes,
        };
        Self {
            case,
            attempts,
            tally,
        }
    }

    fn judged(&self) -> impl Iterator<Item = &&'a Attempt> {
        self.attempts.iter().filter(|it| it.verdict.is_judged())
    }

    fn usage(&self) -> Usage {
        let costs: Option<Vec<f64>> = self.attempts.iter().map(|it| it.usage.cost_usd).collect();
        Usage {
            tokens: self.attempts.iter().map(|it| it.usage.tokens).sum(),
            cost_usd: costs.map(|costs| costs.iter().sum::<f64>() + 0.0),
            steps: self.attempts.iter().map(|it| it.usage.steps).sum(),
        }
    }

    fn seconds(&self) -> f64 {
        self.attempts.iter().map(|it| it.seconds).sum::<f64>() + 0.0
    }

    fn side(&self) -> ArmResult {
        let usage = self.usage();
        let repeats = float(self.attempts.len().max(1));
        let errors = self
            .attempts
            .iter()
            .filter(|it| it.verdict == Verdict::Error);
        ArmResult {
            tally: self.tally,
            errors: errors.count(),
            cost_usd: usage.cost_usd.map(|cost| cost / repeats),
            tokens: whole(usage.tokens) / repeats,
            seconds: self.seconds() / repeats,
        }
    }

    fn report(&self, arm: &str) -> CaseReport {
        // Failures first, then errors.
        let deciding = [Verdict::Failed, Verdict::Error, Verdict::Passed]
            .into_iter()
            .find_map(|verdict| self.attempts.iter().find(|it| it.verdict == verdict))
            .or_else(|| self.attempts.first());
        CaseReport {
            name: self.case.name.clone(),
            arm: arm.to_owned(),
            repeats: self.tally.judged,
            passes: self.tally.passes,
            flaky: self.tally.is_flaky(),
            pass_at: chances(1, &[self.tally], PassTally::pass_at),
            pass_all: chances(2, &[self.tally], PassTally::pass_all),
            verdict: deciding.map_or(Verdict::Skipped, |it| it.verdict),
            class: deciding.and_then(|it| it.class),
            reason: deciding.and_then(|it| it.reason.clone()),
            metrics: deciding.map(|it| it.metrics.clone()).unwrap_or_default(),
            sessions: self
                .attempts
                .iter()
                .filter_map(|it| it.session.clone())
                .collect(),
            usage: self.usage(),
            seconds: self.seconds(),
        }
    }
}

fn chances(
    first: usize,
    tallies: &[PassTally],
    chance: fn(PassTally, usize) -> Option<f64>,
) -> BTreeMap<usize, f64> {
    let mut chances = BTreeMap::new();
    for k in first..=MOST_K {
        let known: Vec<f64> = tallies.iter().filter_map(|it| chance(*it, k)).collect();
        if !known.is_empty() {
            chances.insert(k, known.iter().sum::<f64>() / float(known.len()));
        }
    }
    chances
}

fn arm_report(arm: &str, runs: &[CaseRun<'_>], reports: &[CaseReport]) -> ArmReport {
    let with = |verdict| reports.iter().filter(|it| it.verdict == verdict).count();
    let tallies: Vec<PassTally> = runs.iter().map(|run| run.tally).collect();
    let accuracy = accuracy(&tallies);
    let of = |expectation| {
        runs.iter()
            .filter(move |it| it.case.expectation == expectation)
    };
    let is_answered = |it: &&&Attempt| it.class.is_none_or(crate::FailureClass::is_answered);
    let questions = || of(Expectation::Answer).flat_map(CaseRun::judged);
    let wrong = runs
        .iter()
        .flat_map(CaseRun::judged)
        .filter(|it| it.verdict == Verdict::Failed && is_answered(it));
    let refusals: Vec<PassTally> = of(Expectation::Refusal).map(|run| run.tally).collect();
    let costs: Option<Vec<f64>> = reports.iter().map(|it| it.usage.cost_usd).collect();
    ArmReport {
        name: arm.to_owned(),
        cases: reports.len(),
        passed: with(Verdict::Passed),
        failed: with(Verdict::Failed),
        errors: with(Verdict::Error),
        skipped: with(Verdict::Skipped),
        flaky: reports.iter().filter(|it| it.flaky).count(),
        accuracy: accuracy.map(|it| it.mean),
        ci: accuracy.map(|it| it.interval),
        coverage: part(questions().filter(is_answered).count(), questions().count()),
        wrong_and_confident: part(wrong.count(), tallies.iter().map(|it| it.judged).sum()),
        refusal_quality: part(
            refusals.iter().map(|it| it.passes).sum(),
            refusals.iter().map(|it| it.judged).sum(),
        ),
        pass_at: chances(1, &tallies, PassTally::pass_at),
        pass_all: chances(2, &tallies, PassTally::pass_all),
        steps: reports.iter().map(|it| it.usage.steps).sum(),
        tokens: reports.iter().map(|it| it.usage.tokens).sum(),
        cost_usd: costs.map(|costs| costs.iter().sum::<f64>() + 0.0),
        seconds: reports.iter().map(|it| it.seconds).sum::<f64>() + 0.0,
    }
}

fn part(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| share(part, whole))
}

fn whole(number: u64) -> f64 {
    float(usize::try_from(number).unwrap_or(usize::MAX))
}

fn ablation(arms: &[String], sides: &[Vec<ArmResult>]) -> Option<AblationReport> {
    let (base, others) = arms.split_first()?;
    let (base_sides, other_sides) = sides.split_first()?;
    if others.is_empty() {
        return None;
    }
    let compared = others.iter().zip(other_sides).filter_map(|(name, sides)| {
        let pairs: Vec<ArmPair> = base_sides
            .iter()
            .zip(sides)
            .map(|(base, arm)| ArmPair {
                base: *base,
                arm: *arm,
            })
            .collect();
        let result = compare_arms(&pairs)?;
        Some(AblationArm {
            name: name.clone(),
            gain: result.gain,
            ci: result.interval,
            p_value: result.p_value,
            better: result.better,
            worse: result.worse,
            cases: result.cases,
            left_out: result.left_out,
            verdict: result.verdict,
            cases_needed: result.cases_needed,
            cost_difference_usd: result.cost_difference_usd,
            cost_per_gain_usd: result.cost_per_gain(),
            token_difference: result.token_difference,
            second_difference: result.second_difference,
            line: result.to_string(),
        })
    });
    Some(AblationReport {
        base: base.clone(),
        arms: compared.collect(),
    })
}

fn totals(arms: &[ArmReport], attempts: &[Attempt]) -> Totals {
    let judging = attempts.iter().filter_map(|it| it.judging);
    let judging = judging.reduce(Usage::plus);
    let agents = arms.iter().map(|arm| Usage {
        tokens: arm.tokens,
        cost_usd: arm.cost_usd,
        steps: arm.steps,
    });
    let all = agents.chain(judging).fold(Usage::NOTHING, Usage::plus);
    Totals {
        cases: arms.iter().map(|arm| arm.cases).sum(),
        passed: arms.iter().map(|arm| arm.passed).sum(),
        failed: arms.iter().map(|arm| arm.failed).sum(),
        errors: arms.iter().map(|arm| arm.errors).sum(),
        skipped: arms.iter().map(|arm| arm.skipped).sum(),
        tokens: all.tokens,
        cost_usd: all.cost_usd,
        judging,
        seconds: arms.iter().map(|arm| arm.seconds).sum::<f64>() + 0.0,
    }
}
