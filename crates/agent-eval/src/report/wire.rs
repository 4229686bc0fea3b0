//! The shapes of attempts and reports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AblationVerdict, FailureClass, Interval};

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All thresholds, expected tools and limits are met.
    Passed,
    /// One of them is not.
    Failed,
    /// It could not be judged: the model, the reference, a judge or the budget failed.
    Error,
    /// It was not asked.
    Skipped,
}

impl Verdict {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }

    /// Whether there is a score.
    pub const fn is_judged(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Input and output.
    pub tokens: u64,
    /// US dollars at list prices; absent when a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Messages of the model.
    pub steps: u64,
}

impl Usage {
    /// A usage that is known and nothing.
    pub const NOTHING: Self = Self {
        tokens: 0,
        cost_usd: Some(0.0),
        steps: 0,
    };

    /// Both together; the cost is known when both are.
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

/// One evaluator's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// The metric.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name in the case.
    pub name: String,
    /// From 0 to 1; absent with `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The lowest score that passes; absent when the metric has a rule of its own or only informs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Absent when the metric only informs, and with `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What else is known.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// One case, once, in one arm: a line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// From 1.
    pub repeat: u32,
    /// How it ended.
    pub verdict: Verdict,
    /// The kind of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One result for each evaluator.
    #[serde(default)]
    pub metrics: Vec<MetricResult>,
    /// The session that was judged; absent when none was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// What its judges cost; absent when none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Usage>,
    /// Wall clock.
    pub seconds: f64,
}

impl Attempt {
    /// Whether both are of one case, arm and repeat.
    pub(crate) fn has_place_of(&self, other: &Self) -> bool {
        self.case == other.case && self.arm == other.arm && self.repeat == other.repeat
    }
}

/// The agent of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// The digest of its file.
    pub digest: String,
}

/// The context layer of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    /// The commit; absent before the first one.
    pub commit: Option<String>,
    /// Whether files differ from the commit.
    pub dirty: bool,
    /// The digest of the files.
    pub digest: String,
}

/// All cases of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    /// The arm.
    pub name: String,
    /// Cases with each verdict, and all of them.
    pub cases: usize,
    /// Every repeat passed.
    pub passed: usize,
    /// A repeat failed.
    pub failed: usize,
    /// A repeat ended in an error and none failed.
    pub errors: usize,
    /// No repeat was asked.
    pub skipped: usize,
    /// Cases of which some repeats passed and some failed.
    pub flaky: usize,
    /// The mean share of passes over judged cases; absent when none was judged.
    pub accuracy: Option<f64>,
    /// Its interval of 95 %.
    pub ci: Option<Interval>,
    /// The share of questions that got an answer, right or wrong.
    pub coverage: Option<f64>,
    /// The share of all judged answers that are wrong.
    pub wrong_and_confident: Option<f64>,
    /// The share of questions without an answer in the data that the agent refused; absent without such cases.
    pub refusal_quality: Option<f64>,
    /// By k, the mean chance that one of k repeats passes.
    pub pass_at: BTreeMap<usize, f64>,
    /// By k, the mean chance that all of k repeats pass.
    pub pass_all: BTreeMap<usize, f64>,
    /// Sums over all repeats.
    pub steps: u64,
    /// Input and output.
    pub tokens: u64,
    /// US dollars; absent when one of the costs is not known.
    pub cost_usd: Option<f64>,
    /// Seconds of all answers, one after the other.
    pub seconds: f64,
}

/// One case in one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// The case.
    pub name: String,
    /// The arm.
    pub arm: String,
    /// Repeats that were judged.
    pub repeats: usize,
    /// Repeats that passed.
    pub passes: usize,
    /// Whether some passed and some failed.
    pub flaky: bool,
    /// By k, the chance that one of k repeats passes.
    pub pass_at: BTreeMap<usize, f64>,
    /// By k, the chance that all of k repeats pass.
    pub pass_all: BTreeMap<usize, f64>,
    /// Of all repeats: failed before error before passed.
    pub verdict: Verdict,
    /// Of the first repeat with this verdict, as the three fields below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<FailureClass>,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// One result for each evaluator.
    pub metrics: Vec<MetricResult>,
    /// The sessions of all repeats.
    pub sessions: Vec<String>,
    /// Sums over the repeats.
    pub usage: Usage,
    /// Seconds of all repeats.
    pub seconds: f64,
}

/// The base against one other arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationArm {
    /// The other arm.
    pub name: String,
    /// The mean difference of the shares of passes, from -1 to 1.
    pub gain: f64,
    /// Its interval of 95 %.
    pub ci: Interval,
    /// The p-value of the exact test of `McNemar`.
    pub p_value: f64,
    /// Cases that the base does better.
    pub better: usize,
    /// Cases that it does worse.
    pub worse: usize,
    /// Cases that were compared.
    pub cases: usize,
    /// Cases with an error in either arm.
    pub left_out: usize,
    /// What that says.
    pub verdict: AblationVerdict,
    /// About how many cases are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases_needed: Option<usize>,
    /// Dollars a question more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_difference_usd: Option<f64>,
    /// Dollars for each additional right answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_gain_usd: Option<f64>,
    /// Tokens a question more.
    pub token_difference: f64,
    /// Seconds a question more.
    pub second_difference: f64,
    /// The verdict in one line.
    pub line: String,
}

/// Whether the layer helps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AblationReport {
    /// The arm with the whole layer.
    pub base: String,
    /// Each other one.
    pub arms: Vec<AblationArm>,
}

/// Sums over all arms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Cases, once for each arm.
    pub cases: usize,
    /// Every repeat passed.
    pub passed: usize,
    /// A repeat failed.
    pub failed: usize,
    /// A repeat ended in an error and none failed.
    pub errors: usize,
    /// No repeat was asked.
    pub skipped: usize,
    /// Input and output, of agents and judges.
    pub tokens: u64,
    /// US dollars for agents and judges; absent when one of the costs is not known.
    pub cost_usd: Option<f64>,
    /// The part that judges have used; absent when none was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Usage>,
    /// Seconds of all answers.
    pub seconds: f64,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The id of the run.
    pub run: String,
    /// The version of ktx.
    pub ktx: String,
    /// The agent.
    pub agent: AgentInfo,
    /// The context layer.
    pub layer: LayerInfo,
    /// The model.
    pub model: String,
    /// When it began: RFC 3339.
    pub started: String,
    /// In the order of the run; the first one is the base of the ablation.
    pub arms: Vec<ArmReport>,
    /// Absent with one arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ablation: Option<AblationReport>,
    /// By arm, then in the order of the case file.
    pub cases: Vec<CaseReport>,
    /// Sums over all arms.
    pub totals: Totals,
}
