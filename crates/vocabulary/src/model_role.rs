//! The roles by which workflows ask for a model.

use serde::{Deserialize, Serialize};

/// What a model is asked to do. Call sites name a role, never a model (KTX-04).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum ModelRole {
    /// The fallback for every role that has no model of its own.
    #[default]
    Default,
    /// Cheap yes/no and sorting decisions over many items.
    Triage,
    /// Descriptions and facts drawn from tables, documents and notes.
    CandidateExtraction,
    /// Deciding which candidate knowledge is worth keeping.
    Curator,
    /// Merging new evidence with what is already written.
    Reconcile,
    /// Fixing an answer or an edit that did not validate.
    Repair,
}

impl ModelRole {
    /// All roles, in display order.
    pub const ALL: [Self; 6] = [
        Self::Default,
        Self::Triage,
        Self::CandidateExtraction,
        Self::Curator,
        Self::Reconcile,
        Self::Repair,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Triage => "triage",
            Self::CandidateExtraction => "candidateExtraction",
            Self::Curator => "curator",
            Self::Reconcile => "reconcile",
            Self::Repair => "repair",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl std::fmt::Display for ModelRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
