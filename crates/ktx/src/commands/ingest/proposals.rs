//! Proposals that wait for the user, as text and as JSON.

use ktx_ingest::WaitingProposal;
use serde_json::{Value, json};

pub(crate) fn proposal_json(proposal: &WaitingProposal) -> Value {
    json!({
        "connectionId": proposal.source.as_str(),
        "unitKey": proposal.work,
        "file": proposal.file,
        "paths": proposal.paths,
    })
}

/// Lists the files that a proposal changes.
pub(super) fn changed_files(proposal: &WaitingProposal) -> String {
    let paths = proposal.paths.iter();
    let paths: Vec<String> = paths.map(|path| format!("`{path}`")).collect();
    paths.join(", ")
}
