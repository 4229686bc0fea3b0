//! Decides which changes land and which wait for a person.

use std::collections::{BTreeMap, BTreeSet};

use ktx_memory::Changeset;
use ktx_project_store::{ProjectPath, ProposedCommit, PublishBase};
use ktx_vocabulary::ConnectionId;

use super::{ReviewedChanges, RunStore};
use crate::error::IngestError;
use crate::ownership::{ReviewSplit, divide, is_own};
use crate::policy::{WhyHeld, why_held};
use crate::proposals::{self, Author, IsRejected, ProposalGit, WaitingProposal};

impl RunStore {
    /// Returns the changes that need no review. Writes the others as a proposal first, so that an
    /// interrupted command repeats it.
    pub(crate) fn review(
        &self,
        author: &Author<'_>,
        base: &PublishBase,
        changes: &Changeset,
    ) -> Result<ReviewedChanges, IngestError> {
        let paths: Vec<&ProjectPath> = changes.changes.iter().map(|change| &change.path).collect();
        let mut foreign: BTreeSet<ProjectPath> = BTreeSet::new();
        foreign.extend(self.publisher.uncommitted_paths(&paths)?);
        for path in paths {
            let Some(bytes) = author.files.get(path) else {
                continue;
            };
            let messages = self.publisher.commit_messages_of(base, path)?;
            if !is_own(author.source, path, bytes, &messages) {
                foreign.insert(path.clone());
            }
        }
        let mut held: BTreeMap<ProjectPath, WhyHeld> = BTreeMap::new();
        for change in &changes.changes {
            let before = author.files.get(&change.path).map(Vec::as_slice);
            let why = if foreign.contains(&change.path) {
                Some(WhyHeld::Foreign)
            } else if author.may_remove(change) {
                None
            } else {
                why_held(change, before)
            };
            held.extend(why.map(|why| (change.path.clone(), why)));
        }
        let waiting: BTreeSet<ProjectPath> = held.keys().cloned().collect();
        let ReviewSplit { landing, kept_back } =
            divide(changes, &waiting, author.files, author.warehouse);
        let git = ProposalGit {
            publisher: &self.publisher,
            history: self.history()?,
            earlier: self.earlier_proposals()?,
            at: self.now,
        };
        let kept_back = match proposals::replace(author, &kept_back, &held, base, &git)? {
            IsRejected::No => kept_back,
            IsRejected::Yes => Vec::new(),
        };
        Ok(ReviewedChanges {
            changes: landing,
            withheld: kept_back
                .iter()
                .map(|change| change.path.to_string())
                .collect(),
        })
    }

    pub(crate) fn expired(
        &self,
        source: &ConnectionId,
    ) -> Result<Vec<WaitingProposal>, IngestError> {
        proposals::expired(source, &self.store)
    }

    pub(crate) fn drop_expired(&self, proposal: &WaitingProposal) -> Result<String, IngestError> {
        proposals::drop_expired(proposal, &self.publisher)
    }

    fn earlier_proposals(&self) -> Result<&[ProposedCommit], IngestError> {
        if let Some(earlier) = self.earlier.get() {
            return Ok(earlier);
        }
        let earlier = self.history()?.proposals()?;
        Ok(self.earlier.get_or_init(|| earlier))
    }
}
