//! Proposals that wait for the user, as text and as JSON.

use ktx_ingest::WaitingProposal;
use serde::Serialize;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProposalReport {
    /// The id by which `ktx review` names it.
    pub id: String,
    pub connection_id: String,
    pub unit_key: String,
    pub state: &'static str,
    /// The files that it changes.
    pub paths: Vec<String>,
}

impl From<&WaitingProposal> for ProposalReport {
    fn from(proposal: &WaitingProposal) -> Self {
        Self {
            id: proposal.id.clone(),
            connection_id: proposal.source.to_string(),
            unit_key: proposal.work.clone(),
            state: proposal.state.name(),
            paths: proposal.paths.clone(),
        }
    }
}

/// Lists the files that a proposal changes, each with why it waits.
pub(crate) fn changed_files(proposal: &WaitingProposal) -> String {
    let files = proposal.held.iter();
    let files: Vec<String> = files
        .map(|(path, reason)| format!("`{path}` ({reason})"))
        .collect();
    files.join(", ")
}
