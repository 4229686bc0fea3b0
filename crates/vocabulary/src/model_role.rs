//! Model roles.

use serde::{Deserialize, Serialize};

/// Call sites name a role, never a model (KTX-04).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum ModelRole {
    #[default]
    Default,
    /// Cheap decisions.
    Triage,
    /// Descriptions and facts from documents.
    CandidateExtraction,
    /// Decides which candidates to keep.
    Curator,
    Reconcile,
    Repair,
}

impl ModelRole {
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
