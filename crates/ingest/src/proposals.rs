//! The withheld changes of a project, as files for the user to review.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_project_store::{Change, FileError, ProjectPath, Store, read_optional};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use crate::error::IngestError;
use crate::proposal::{Proposal, proposal_file, proposal_name, render_proposal};

/// The kinds of work that are repeated about other subjects; their earlier proposals stay.
const REPEATED: [&str; 2] = ["curation", "reconciliation"];

/// Work of a context source, and the files that it saw.
pub(crate) struct Author<'a> {
    pub(crate) source: &'a ConnectionId,
    pub(crate) warehouse: Option<&'a (ConnectionId, Dialect)>,
    /// The unit, or another piece of work.
    pub(crate) work: &'a str,
    pub(crate) files: &'a BTreeMap<ProjectPath, Vec<u8>>,
}

/// A proposal that the user has neither applied nor removed.
#[derive(Debug, Clone)]
pub struct WaitingProposal {
    /// The context source.
    pub source: ConnectionId,
    /// The unit, or another piece of work.
    pub work: String,
    /// The file, relative to the project.
    pub file: String,
    /// The files that it changes.
    pub paths: Vec<String>,
}

/// Writes the proposal of a piece of work, replacing its earlier one.
pub(crate) fn replace(
    author: &Author<'_>,
    withheld: &[Change],
    prefix: &str,
    store: &Store,
) -> Result<(), IngestError> {
    let mut new = None;
    if !withheld.is_empty() {
        let text = render_proposal(author.source, author.work, withheld, author.files, prefix);
        let name = ProjectPath::parse(&proposal_file(author.work, &text))?;
        let written = store.write_proposal(author.source, &name, &text);
        new = Some(written.map_err(IngestError::Proposal)?);
    }
    if REPEATED.contains(&author.work) {
        return Ok(());
    }
    let begin = format!("{}.", proposal_name(author.work));
    for (file, proposal) in all(store).map_err(IngestError::Proposal)? {
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| name.starts_with(&begin));
        let is_same = proposal.source == *author.source && proposal.work == author.work;
        if let Some(name) = name.filter(|_| is_same && new.as_ref() != Some(&file))
            && let Ok(name) = ProjectPath::parse(name)
        {
            let removed = store.remove_proposal(author.source, &name);
            removed.map_err(IngestError::Proposal)?;
        }
    }
    Ok(())
}

/// Returns the undecided proposals, by source and path.
///
/// # Errors
///
/// If a file cannot be read.
pub fn waiting_proposals(store: &Store) -> Result<Vec<WaitingProposal>, FileError> {
    let mut waiting = Vec::new();
    for (file, proposal) in all(store)? {
        let mut is_open = false;
        for path in proposal.files.keys() {
            let bytes = read_optional(&path.under(store.layout().root()))?;
            is_open |= !proposal.is_taken(path, bytes.as_deref());
        }
        if is_open {
            waiting.push(WaitingProposal {
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
