//! Proposals: changes that were kept back, as files for the user to review.

use std::path::PathBuf;

use ktx_diagnostics::Code;
use ktx_ingest::{Proposal, proposal_file, proposal_name, render_proposal};
use ktx_project_store::{Change, FileError, ProjectPath, Store, read_optional};
use ktx_vocabulary::ConnectionId;
use serde_json::{Value, json};

use super::kept::Worker;
use crate::report::{Failure, Outcome};
use crate::session::Opened;

/// The kinds of work that are repeated about other subjects; their earlier proposals stay.
const REPEATED: [&str; 2] = ["curation", "reconciliation"];

#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) source: ConnectionId,
    /// The unit, or another piece of work.
    pub(crate) work: String,
    pub(crate) file: String,
    /// The files that it changes.
    pub(crate) paths: Vec<String>,
}

impl Waiting {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "connectionId": self.source.as_str(),
            "unitKey": self.work,
            "file": self.file,
            "paths": self.paths,
        })
    }

    pub(crate) fn listed(&self) -> String {
        let paths: Vec<String> = self.paths.iter().map(|path| format!("`{path}`")).collect();
        paths.join(", ")
    }
}

/// Writes the proposal of a piece of work, replacing its earlier one.
pub(super) fn replace(
    worker: &Worker<'_>,
    kept_back: &[Change],
    prefix: &str,
    opened: &Opened,
) -> Outcome<()> {
    let failed =
        |error: FileError| Failure::from_error(Code::ProposalFailed, &error).seen_from(&opened.dir);
    let mut new = None;
    if !kept_back.is_empty() {
        let text = render_proposal(worker.source, worker.work, kept_back, worker.files, prefix);
        let name = proposal_file(worker.work, &text);
        let name = ProjectPath::parse(&name)
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        let written = opened.store.write_proposal(worker.source, &name, &text);
        new = Some(written.map_err(failed)?);
    }
    if REPEATED.contains(&worker.work) {
        return Ok(());
    }
    let begin = format!("{}.", proposal_name(worker.work));
    for (file, proposal) in all(&opened.store).map_err(failed)? {
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| name.starts_with(&begin));
        let is_same = proposal.source == *worker.source && proposal.work == worker.work;
        if let Some(name) = name.filter(|_| is_same && new.as_ref() != Some(&file))
            && let Ok(name) = ProjectPath::parse(name)
        {
            let removed = opened.store.remove_proposal(worker.source, &name);
            removed.map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the undecided proposals, by source and path.
pub(crate) fn waiting(store: &Store) -> Result<Vec<Waiting>, FileError> {
    let mut waiting = Vec::new();
    for (file, proposal) in all(store)? {
        let mut is_open = false;
        for path in proposal.files.keys() {
            let bytes = read_optional(&path.under(store.layout().root()))?;
            is_open |= !proposal.is_taken(path, bytes.as_deref());
        }
        if is_open {
            waiting.push(Waiting {
                source: proposal.source,
                work: proposal.work,
                file: file.display().to_string(),
                paths: proposal.files.keys().map(ToString::to_string).collect(),
            });
        }
    }
    Ok(waiting)
}

fn all(store: &Store) -> Result<Vec<(PathBuf, Proposal)>, FileError> {
    let files = store.proposals()?.into_iter();
    Ok(files
        .filter_map(|(file, text)| Some((file, Proposal::parse(&text)?)))
        .collect())
}
