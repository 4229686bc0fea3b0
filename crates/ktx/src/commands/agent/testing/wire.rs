//! What the journal of a run says about the run itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a run was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Selection {
    /// The file of cases, or of an agent with cases, relative to the project.
    pub(super) file: Option<String>,
    /// The agent: a name or a file.
    pub(super) agent: Option<String>,
    /// Only cases with such a name.
    pub(super) case: Option<String>,
    /// Only cases with one of these tags.
    pub(super) tags: Vec<String>,
    /// Only the first ones.
    pub(super) limit: Option<u32>,
    /// How often each case is asked.
    pub(super) repeats: Option<u32>,
    /// The arms; `full` when empty.
    pub(super) arms: Vec<String>,
    /// Who answers.
    pub(super) runner: String,
}

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlanRecord {
    pub(super) selection: Selection,
    /// Digests of what must not change before the run is continued.
    pub(super) agent: String,
    pub(super) cases: String,
    pub(super) layer: String,
    /// When the run began: RFC 3339.
    pub(super) started: String,
    /// What a later run needs to know before it takes a verdict of this one.
    #[serde(default)]
    pub(super) inputs: Inputs,
}

/// What the verdict of an attempt follows from, besides the agent and the context layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inputs {
    pub(super) model: String,
    /// Digests of the cases and their metrics, by name.
    pub(super) cases: BTreeMap<String, String>,
    /// Digests of the arms, by name.
    pub(super) arms: BTreeMap<String, String>,
}

impl PlanRecord {
    /// Whether an attempt of a run with this plan is what a run with the plan `now` would ask.
    pub(super) fn asks_as(&self, now: &Self, case: &str, arm: &str) -> bool {
        let is_same =
            |before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, name| {
                let digest = before.get(name);
                digest.is_some() && digest == after.get(name)
            };
        let (before, after) = (&self.inputs, &now.inputs);
        self.selection.runner == now.selection.runner
            && self.agent == now.agent
            && self.layer == now.layer
            && before.model == after.model
            && is_same(&before.cases, &after.cases, case)
            && is_same(&before.arms, &after.arms, arm)
    }

    /// Names what differs.
    pub(super) fn differences(&self, now: &Self) -> Vec<&'static str> {
        let parts = [
            ("the agent", self.agent != now.agent),
            ("the cases", self.cases != now.cases),
            ("the context layer", self.layer != now.layer),
        ];
        let changed = parts.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(part, _)| part).collect()
    }
}
