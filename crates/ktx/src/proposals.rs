//! Waiting proposals and checks before decisions.

use ktx_diagnostics::{Code, Failure, counted};
use ktx_ingest::{ProposalState, WaitingProposal};
use ktx_project_store::read_optional;
use serde::Serialize;

use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProposalReport {
    pub id: String,
    pub connection_id: String,
    pub unit_key: String,
    pub state: &'static str,
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

pub(crate) fn changed_files(proposal: &WaitingProposal) -> String {
    let files = proposal.held.iter();
    let files: Vec<String> = files
        .map(|(path, reason)| format!("`{path}` ({reason})"))
        .collect();
    files.join(", ")
}

/// Finds the only proposal by the start of its id.
pub(crate) fn find<'a>(waiting: &'a [WaitingProposal], id: &str) -> Outcome<&'a WaitingProposal> {
    let found = waiting.iter().filter(|one| one.id.starts_with(id));
    match found.collect::<Vec<_>>().as_slice() {
        [only] => Ok(only),
        [] => Err(Failure::new(
            Code::ProposalNotFound,
            format!("no proposal has the id `{id}`"),
        )
        .hint("`ktx review list` lists what waits")),
        several => Err(Failure::new(
            Code::ProposalNotFound,
            format!(
                "{} have an id that begins with `{id}`",
                counted(several.len(), "proposal")
            ),
        )
        .hint("give more of the id")),
    }
}

pub(crate) fn require_open(proposal: &WaitingProposal) -> Outcome<&WaitingProposal> {
    if proposal.state == ProposalState::Open {
        return Ok(proposal);
    }
    Err(Failure::new(
        Code::ProposalExpired,
        format!(
            "the files of the proposal {} have changed since",
            proposal.id
        ),
    )
    .hint(format!("`ktx review reject {}` drops it", proposal.id)))
}

/// Refuses to overwrite uncommitted changes of the user.
pub(crate) fn require_untouched(proposal: &WaitingProposal, project: &OpenProject) -> Outcome<()> {
    let root = project.store.layout().root();
    for (path, file) in &proposal.files {
        let bytes = read_optional(&path.under(root)).map_err(|error| {
            Failure::from_error(Code::ProposalFailed, &error).seen_from(&project.dir)
        })?;
        if bytes != file.now && bytes != file.after {
            return Err(Failure::new(
                Code::ProposalFailed,
                format!("you have changed `{path}` and not committed it"),
            )
            .hint("commit the file or take it back, then decide"));
        }
    }
    Ok(())
}
