//! 95 % confidence intervals.

use serde::{Deserialize, Serialize};

use super::PassTally;
use super::random::Random;
use crate::count::float;

/// A 95 % confidence interval; a list in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl From<[f64; 2]> for Interval {
    fn from([low, high]: [f64; 2]) -> Self {
        Self { low, high }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> Self {
        [interval.low, interval.high]
    }
}

/// The normal quantile at 97.5 %.
const Z: f64 = 1.959_963_984_540_054;

const DRAWS: usize = 10_000;

/// 2.5 % of the draws.
const OUTSIDE: usize = DRAWS / 40;

/// Returns Wilson's interval of a share.
pub fn wilson(passes: usize, trials: usize) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let n = float(trials);
    let share = float(passes) / n;
    let square = Z * Z;
    let spread = 1.0 + square / n;
    let center = (share + square / (2.0 * n)) / spread;
    let variance = share * (1.0 - share) / n + square / (4.0 * n * n);
    let half = Z * variance.sqrt() / spread;
    Some(Interval {
        low: (center - half).max(0.0),
        high: (center + half).min(1.0),
    })
}

/// Returns the interval of a mean from 10,000 bootstrap draws with a fixed seed.
pub fn bootstrap(values: &[f64]) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let mut random = Random::seeded();
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = (0..values.len()).map(|_| values[random.place(values.len())]);
            drawn.sum::<f64>() / float(values.len())
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        low: means[OUTSIDE],
        high: means[DRAWS - 1 - OUTSIDE],
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    pub mean: f64,
    /// Wilson's if each case was judged once, else the bootstrap's.
    pub interval: Interval,
}

/// Returns `None` if no case was judged.
pub fn accuracy(cases: &[PassTally]) -> Option<Accuracy> {
    let judged: Vec<&PassTally> = cases.iter().filter(|case| case.judged > 0).collect();
    let rates: Vec<f64> = judged.iter().filter_map(|case| case.rate()).collect();
    let interval = if judged.iter().all(|case| case.judged == 1) {
        let passes = judged.iter().map(|case| case.passes).sum();
        wilson(passes, judged.len())?
    } else {
        bootstrap(&rates)?
    };
    Some(Accuracy {
        mean: rates.iter().sum::<f64>() / float(rates.len()),
        interval,
    })
}
