//! Proposals that wait for the user, as text and as JSON.

use ktx_ingest::WaitingProposal;
use serde::Serialize;

/// A proposal in the JSON form of commands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProposalReport {
    pub connection_id: String,
    pub unit_key: String,
    /// The file of the proposal, relative to the project.
    pub file: String,
    /// The files that it changes.
    pub paths: Vec<String>,
}

impl From<&WaitingProposal> for ProposalReport {
    fn from(proposal: &WaitingProposal) -> Self {
        Self {
            connection_id: proposal.source.to_string(),
            unit_key: proposal.work.clone(),
            file: proposal.file.clone(),
            paths: proposal.paths.clone(),
        }
    }
}

/// Lists the files that a proposal changes.
pub(crate) fn changed_files(proposal: &WaitingProposal) -> String {
    let paths = proposal.paths.iter();
    let paths: Vec<String> = paths.map(|path| format!("`{path}`")).collect();
    paths.join(", ")
}
