//! Compares two arms over the same cases.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Interval, PassTally, bootstrap};
use crate::count::float;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArmResult {
    pub tally: PassTally,
    pub errors: usize,
    /// Per repeat.
    pub cost_usd: Option<f64>,
    /// Per repeat.
    pub tokens: f64,
    /// Per repeat.
    pub seconds: f64,
}

impl ArmResult {
    fn is_asked(&self) -> bool {
        self.errors > 0 || self.tally.judged > 0
    }

    fn is_whole(&self) -> bool {
        self.errors == 0 && self.tally.judged > 0
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArmPair {
    pub base: ArmResult,
    /// Without the layer, or a part of it.
    pub arm: ArmResult,
}

impl ArmPair {
    /// Returns 1 if only the base passes most repeats, -1 if only the arm does, else 0.
    fn majority_gain(&self) -> f64 {
        let passes = |side: &ArmResult| f64::from(u8::from(side.tally.is_mostly_passed()));
        passes(&self.base) - passes(&self.arm)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AblationVerdict {
    /// The gain's interval is above 0, and p < 0.05 for more wins than losses.
    Helps,
    /// The interval is below 0, and p < 0.05 for more losses than wins.
    Hurts,
    CannotBeTold,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AblationResult {
    pub cases: usize,
    /// Pairs with an error or without a judged repeat in either arm. Excludes cases that neither
    /// arm asked.
    pub left_out: usize,
    /// Mean difference of pass rates, from -1 to 1.
    pub gain: f64,
    pub interval: Interval,
    /// Exact `McNemar` test of majorities.
    pub p_value: f64,
    /// Cases with a larger pass rate in the base.
    pub better: usize,
    /// Cases with a smaller one.
    pub worse: usize,
    pub verdict: AblationVerdict,
    /// An estimate; absent if the verdict is clear, or the majorities show no difference.
    pub cases_needed: Option<usize>,
    /// Additional dollars of the base per case.
    pub cost_difference_usd: Option<f64>,
    /// Additional tokens per case.
    pub token_difference: f64,
    /// Additional seconds per case.
    pub second_difference: f64,
}

impl AblationResult {
    /// Returns dollars per additional right answer.
    pub fn cost_per_gain(&self) -> Option<f64> {
        let cost = self.cost_difference_usd?;
        (self.gain > 0.0).then(|| cost / self.gain)
    }
}

/// Returns `None` if no pair can be compared.
pub fn compare_arms(pairs: &[ArmPair]) -> Option<AblationResult> {
    let is_whole = |pair: &&ArmPair| pair.base.is_whole() && pair.arm.is_whole();
    let is_asked = |pair: &&ArmPair| pair.base.is_asked() || pair.arm.is_asked();
    let whole: Vec<&ArmPair> = pairs.iter().filter(is_whole).collect();
    let gains: Vec<f64> = whole
        .iter()
        .filter_map(|pair| Some(pair.base.tally.rate()? - pair.arm.tally.rate()?))
        .collect();
    let interval = bootstrap(&gains)?;
    let gain = mean(&gains);
    let better = gains.iter().filter(|gain| **gain > 0.0).count();
    let worse = gains.iter().filter(|gain| **gain < 0.0).count();
    let majorities: Vec<f64> = whole.iter().map(|pair| pair.majority_gain()).collect();
    let base_only = majorities.iter().filter(|gain| **gain > 0.0).count();
    let arm_only = majorities.iter().filter(|gain| **gain < 0.0).count();
    let p_value = mcnemar(base_only, arm_only);
    // The bootstrap draws only observed values: if a few cases all agree, its interval has no
    // width.
    let verdict = if p_value >= SIGNIFICANCE {
        AblationVerdict::CannotBeTold
    } else if interval.low > 0.0 && base_only > arm_only {
        AblationVerdict::Helps
    } else if interval.high < 0.0 && base_only < arm_only {
        AblationVerdict::Hurts
    } else {
        AblationVerdict::CannotBeTold
    };
    let costs: Option<Vec<f64>> = whole
        .iter()
        .map(|pair| Some(pair.base.cost_usd? - pair.arm.cost_usd?))
        .collect();
    let difference = |of: fn(&ArmResult) -> f64| {
        let differences = whole.iter().map(|pair| of(&pair.base) - of(&pair.arm));
        mean(&differences.collect::<Vec<f64>>())
    };
    Some(AblationResult {
        cases: whole.len(),
        left_out: pairs.iter().filter(is_asked).count() - whole.len(),
        gain,
        interval,
        p_value,
        better,
        worse,
        verdict,
        cases_needed: (verdict == AblationVerdict::CannotBeTold)
            .then(|| cases_needed_of(&gains, &majorities))
            .flatten(),
        cost_difference_usd: costs.map(|costs| mean(&costs)),
        token_difference: difference(|side| side.tokens),
        second_difference: difference(|side| side.seconds),
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len())
}

/// Exact `McNemar` test: p = min(1, 2·Σ C(b+c,i)/2^(b+c)) for i up to the smaller of both counts.
/// `one` and `other` count the cases that only one arm passes.
pub fn mcnemar(one: usize, other: usize) -> f64 {
    let all = one + other;
    // In logarithms, because 2^-n is 0 from 1,075 on.
    let mut term = -float(all) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    for i in 0..=one.min(other) {
        sum += term.exp();
        term += (float(all - i) / float(i + 1)).ln();
    }
    (2.0 * sum).min(1.0)
}

const SIGNIFICANCE: f64 = 0.05;

/// More cases do not help if the mean and the majorities contradict each other.
fn cases_needed_of(gains: &[f64], majorities: &[f64]) -> Option<usize> {
    if mean(gains) * mean(majorities) <= 0.0 {
        return None;
    }
    Some(cases_needed(gains)?.max(cases_needed(majorities)?))
}

/// ((1.96+0.84)·s/d)² with deviation s and mean d: 80 % power at 5 %. At least six cases must
/// differ: 2/2⁵ proves nothing yet.
fn cases_needed(gains: &[f64]) -> Option<usize> {
    const MOST: f64 = 1e9;
    const LEAST: f64 = 6.0;
    let gain = mean(gains);
    if gain.abs() < f64::EPSILON {
        return None;
    }
    let squares: f64 = gains.iter().map(|it| (it - gain).powi(2)).sum();
    let deviation = (squares / float((gains.len() - 1).max(1))).sqrt();
    let needed = ((1.96 + 0.84) * deviation / gain).powi(2).ceil();
    let differing = gains.iter().filter(|gain| **gain != 0.0).count();
    let least = (LEAST * float(gains.len()) / float(differing)).ceil();
    let needed = needed.max(least).min(MOST);
    let needed: usize = needed.to_string().parse().ok()?;
    Some(needed.max(gains.len() + 1))
}

impl fmt::Display for AblationResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = |share: f64| format!("{:+.0}", share * 100.0 + 0.0);
        match self.verdict {
            AblationVerdict::CannotBeTold => {
                write!(out, "cannot be told with {}", counted(self.cases, "case"))?;
                match self.cases_needed {
                    Some(needed) => write!(out, ": about {needed} are needed")?,
                    None if self.better + self.worse == 0 || self.gain.abs() < f64::EPSILON => {
                        out.write_str(": no difference was seen")?;
                    }
                    None => out.write_str(": the majorities of the repeats do not show it")?,
                }
            }
            AblationVerdict::Helps | AblationVerdict::Hurts => {
                let verb = if self.verdict == AblationVerdict::Helps {
                    "helps"
                } else {
                    "hurts"
                };
                write!(
                    out,
                    "the layer {verb}: {} points (95 %: {}…{}), {} better, {} worse",
                    points(self.gain),
                    points(self.interval.low),
                    points(self.interval.high),
                    counted(self.better, "case"),
                    self.worse,
                )?;
                if let Some(cost) = self.cost_difference_usd {
                    let side = if cost < 0.0 { "less" } else { "more" };
                    write!(out, ", ${:.3} {side} a question", cost.abs())?;
                }
            }
        }
        if self.left_out > 0 {
            let left_out = counted(self.left_out, "case");
            write!(out, "; {left_out} with errors left out")?;
        }
        Ok(())
    }
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
