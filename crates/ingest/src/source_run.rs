//! The run of one source: its state, and the shared parts of its loops.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_llm_runtime::{LlmRuntime, ProbeRequest};
use ktx_memory::{Changeset, KeptLoop, Quota};
use ktx_project_store::{ProjectPath, PublishBase};
use ktx_vocabulary::ModelRole;

use crate::error::IngestError;
use crate::events::{Progress, Task};
use crate::journal::Journal;
use crate::proposals::{Author, EVICTION, files_of};
use crate::run_store::{ReviewedChanges, RunStore};
use crate::transcripts::{LoopBegin, TranscriptFile};
use crate::unit::{LoopContext, LoopResult};
use crate::work_item::{Truncation, WorkItem};
use ktx_context_sources::Source;

#[derive(Clone)]
pub struct UsableModel {
    pub runtime: Arc<dyn LlmRuntime>,
    /// The backend and model. An interrupted loop continues only with the same text.
    pub name: Arc<dyn Fn(ModelRole) -> String + Send + Sync>,
    pub step_budget: u32,
    pub concurrency: u32,
}

impl std::fmt::Debug for UsableModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsableModel")
            .field("step_budget", &self.step_budget)
            .finish_non_exhaustive()
    }
}

pub(crate) struct SourceRun<'a> {
    pub(crate) source: &'a Source,
    pub(crate) model: &'a UsableModel,
    pub(crate) run_store: &'a RunStore,
    pub(crate) context: LoopContext,
    pub(crate) progress: Progress,
    pub(crate) quota: Option<Quota>,
    pub(crate) is_usable: &'a Cell<bool>,
    pub(crate) items: OnceCell<BTreeMap<String, WorkItem>>,
}

impl<'a> SourceRun<'a> {
    pub(crate) fn journal(&self) -> Journal<'a> {
        self.run_store.journal(&self.source.id)
    }

    pub(crate) fn spend(&mut self, used: Quota) {
        if let Some(quota) = &mut self.quota {
            quota.creates = quota.creates.saturating_sub(used.creates);
            quota.updates = quota.updates.saturating_sub(used.updates);
        }
    }

    /// Documents rarely lead only to updates, so work without new pages continues only if the quota
    /// never allowed any.
    pub(crate) fn has_room(&self) -> bool {
        let creates_none = self.source.documents.is_some_and(|most| most.creates == 0);
        self.quota
            .is_none_or(|left| left.creates > 0 || (creates_none && left.updates > 0))
    }

    /// Probes the model before the first change, unless a call has succeeded.
    pub(crate) async fn require_usable(&self) -> Result<(), IngestError> {
        if !self.is_usable.get() {
            let request = ProbeRequest::of(&self.context.run_id).patient();
            let request = request.cancelled_by(self.context.cancel.clone());
            let probed = self.model.runtime.probe(request).await;
            probed.map_err(IngestError::Probe)?;
            self.is_usable.set(true);
        }
        Ok(())
    }

    pub(crate) fn transcript(
        &self,
        work: &str,
        task: &Task,
        role: ModelRole,
    ) -> Result<(Arc<TranscriptFile>, KeptLoop), IngestError> {
        self.transcript_from(work, task, role, None)
    }

    pub(crate) fn transcript_from(
        &self,
        work: &str,
        task: &Task,
        role: ModelRole,
        begin: Option<LoopBegin>,
    ) -> Result<(Arc<TranscriptFile>, KeptLoop), IngestError> {
        let store = self.run_store.store();
        let on_continue = self.progress.on_continue(task);
        let file = TranscriptFile::open(store, &self.source.id, work, begin, on_continue)?;
        let backend = self.model.runtime.describe();
        let kept = file.kept_loop((self.model.name)(role), backend);
        Ok((file, kept))
    }

    pub(crate) fn review(
        &self,
        work: &str,
        workspace: &Workspace,
        worked: &LoopResult,
    ) -> Result<ReviewedChanges, IngestError> {
        self.review_changes(work, workspace, &worked.made, &BTreeSet::new())
    }

    /// `cleared` are the files that lose only what came from files that are gone.
    pub(crate) fn review_eviction(
        &self,
        workspace: &Workspace,
        made: &Changeset,
        cleared: &BTreeSet<ProjectPath>,
    ) -> Result<ReviewedChanges, IngestError> {
        self.review_changes(EVICTION, workspace, made, cleared)
    }

    fn review_changes(
        &self,
        work: &str,
        workspace: &Workspace,
        made: &Changeset,
        cleared: &BTreeSet<ProjectPath>,
    ) -> Result<ReviewedChanges, IngestError> {
        let read = files_of(&self.source.units, work, &self.source.snapshot);
        let author = Author {
            source: &self.source.id,
            warehouse: self.source.warehouse.as_ref(),
            work,
            files: &workspace.files,
            read: &read,
            cleared,
        };
        self.run_store.review(&author, &workspace.base, made)
    }

    pub(crate) fn workspace(&self) -> Result<Workspace, IngestError> {
        self.workspace_at(self.run_store.begin()?)
    }

    /// Reads the files that an interrupted loop began with, if its input is unchanged.
    pub(crate) fn earlier_workspace(
        &self,
        work: &str,
        input: &str,
    ) -> Result<Option<Workspace>, IngestError> {
        let begin = TranscriptFile::begin(self.run_store.store(), &self.source.id, work)?;
        let Some(begin) = begin.filter(|begin| begin.input == input) else {
            return Ok(None);
        };
        let base = self.run_store.base_at(&begin.branch, &begin.commit)?;
        base.map(|base| self.workspace_at(base)).transpose()
    }

    fn workspace_at(&self, base: PublishBase) -> Result<Workspace, IngestError> {
        let warehouse = self.source.warehouse.as_ref().map(|(id, _)| id);
        let files = self.run_store.files(&base, warehouse)?;
        Ok(Workspace { base, files })
    }
}

pub(crate) struct Workspace {
    pub(crate) base: PublishBase,
    pub(crate) files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
}

pub(crate) fn truncation(worked: &LoopResult, steps: u32) -> Option<Truncation> {
    if worked.truncated {
        return Some(Truncation::Turns(steps));
    }
    worked.quota_reached.then_some(Truncation::PageQuota)
}

pub(crate) fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
