//! Plan records in run journals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Selection {
    /// A case or agent file, relative to the project.
    pub(super) file: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) case: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) limit: Option<u32>,
    pub(super) repeats: Option<u32>,
    /// Empty means `full`.
    pub(super) arms: Vec<String>,
    pub(super) runner: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlanRecord {
    pub(super) selection: Selection,
    /// Digests; a run with different ones cannot continue.
    pub(super) agent: String,
    pub(super) cases: String,
    pub(super) layer: String,
    /// RFC 3339.
    pub(super) started: String,
    /// Conditions for reusing a verdict.
    #[serde(default)]
    pub(super) inputs: Inputs,
}

/// Inputs of a verdict besides agent and context layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inputs {
    pub(super) model: String,
    pub(super) cases: BTreeMap<String, String>,
    pub(super) arms: BTreeMap<String, String>,
}

impl PlanRecord {
    /// True if both plans ask the same of an attempt.
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
