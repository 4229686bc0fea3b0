//! The stored form of attempts and reports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AblationVerdict, FailureClass, Interval};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All thresholds, expected tools and limits are met.
    Passed,
    Failed,
    /// The model, the reference, a judge or the budget failed.
    Error,
    Skipped,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }

    pub const fn is_judged(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Input and output.
    pub tokens: u64,
    /// At list prices; absent if one is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Messages of the model.
    pub steps: u64,
}

impl Usage {
    pub const NOTHING: Self = Self {
        tokens: 0,
        cost_usd: Some(0.0),
        steps: 0,
    };

    /// The cost is known if both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let costs = self.cost_usd.zip(other.cost_usd);
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_usd: costs.map(|(one, other)| one + other),
            steps: self.steps.saturating_add(other.steps),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    /// From 0 to 1; absent with `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Absent if the metric has its own rule or only informs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Absent if the metric only informs, and with `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// One repeat of a case: a line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub case: String,
    pub arm: String,
    pub repeat: u32,
    pub verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub metrics: Vec<MetricResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub usage: Usage,
    /// Cost of the judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Usage>,
    pub seconds: f64,
}

impl Attempt {
    pub(crate) fn has_same_position(&self, other: &Self) -> bool {
        self.case == other.case && self.arm == other.arm && self.repeat == other.repeat
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    pub name: String,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    pub commit: Option<String>,
    pub dirty: bool,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    pub name: String,
    pub cases: usize,
    /// Every repeat passed.
    pub passed: usize,
    /// At least one repeat failed.
    pub failed: usize,
    /// An error and no failure.
    pub errors: usize,
    /// Never asked.
    pub skipped: usize,
    /// Cases with passing and failing repeats.
    pub flaky: usize,
    /// Mean pass rate.
    pub accuracy: Option<f64>,
    pub ci: Option<Interval>,
    /// Share of questions with an answer, right or wrong.
    pub coverage: Option<f64>,
    /// Share of wrong answers.
    pub wrong_and_confident: Option<f64>,
    /// Share of refusals where expected.
    pub refusal_quality: Option<f64>,
    /// By k, mean chance that one of k repeats passes.
    pub pass_at: BTreeMap<usize, f64>,
    /// By k, mean chance that all of k repeats pass.
    pub pass_all: BTreeMap<usize, f64>,
    pub steps: u64,
    pub tokens: u64,
    /// Absent if a cost is unknown.
    pub cost_usd: Option<f64>,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    pub name: String,
    pub arm: String,
    pub repeats: usize,
    pub passes: usize,
    pub flaky: bool,
    /// By k, chance that one of k repeats passes.
    pub pass_at: BTreeMap<usize, f64>,
    /// By k, chance that all of k repeats pass.
    pub pass_all: BTreeMap<usize, f64>,
    /// Failed before error before passed.
    pub verdict: Verdict,
    /// Taken from the first repeat with this verdict, as are `reason` and `metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub metrics: Vec<MetricResult>,
    pub sessions: Vec<String>,
    pub usage: Usage,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationArm {
    pub name: String,
    /// Mean difference of pass rates, from -1 to 1.
    pub gain: f64,
    pub ci: Interval,
    /// Exact `McNemar` test.
    pub p_value: f64,
    pub better: usize,
    pub worse: usize,
    pub cases: usize,
    /// Cases with an error in either arm.
    pub left_out: usize,
    pub verdict: AblationVerdict,
    /// Estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_needed: Option<usize>,
    /// Additional dollars per question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_difference_usd: Option<f64>,
    /// Dollars per additional right answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_gain_usd: Option<f64>,
    /// Additional tokens per question.
    pub token_difference: f64,
    /// Additional seconds per question.
    pub second_difference: f64,
    pub line: String,
}

/// Compares the whole layer with other arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationReport {
    pub base: String,
    pub arms: Vec<AblationArm>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub cases: usize,
    pub passed: usize,
    pub failed: usize,
    pub errors: usize,
    pub skipped: usize,
    /// Input and output tokens of agents and judges.
    pub tokens: u64,
    /// Agents and judges together; absent if a cost is unknown.
    pub cost_usd: Option<f64>,
    /// The judges' part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Usage>,
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub run: String,
    pub ktx: String,
    pub agent: AgentInfo,
    pub layer: LayerInfo,
    pub model: String,
    /// RFC 3339.
    pub started: String,
    /// The first is the base of the ablation.
    pub arms: Vec<ArmReport>,
    /// Absent with one arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ablation: Option<AblationReport>,
    /// By arm, then as in the case file.
    pub cases: Vec<CaseReport>,
    pub totals: Totals,
}
