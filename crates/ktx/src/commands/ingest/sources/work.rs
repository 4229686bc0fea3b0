//! One source: its facts, its units, its reconciliation. Each result is committed before the next
//! step begins.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_context_sources::Unit;
use ktx_ingest::{
    RECONCILE_STEPS, ReconcileRequest, Run, UnitRequest, Worked, fingerprint, marks, reconcile,
    work_unit,
};
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{Quota, TranscriptStore as _};
use ktx_project_store::{Base, ProjectPath};
use ktx_vocabulary::{ConnectionId, ModelRole};
use tokio_util::sync::CancellationToken;

use super::documents::Judgements;
use super::journal::{Journal, Open, UNIT};
use super::progress::Progress;
use super::trouble::{Doubts, failure, stops};
use super::{Ingested, Loop, Source, UnitDone};
use crate::commands::ingest::Around;
use crate::commands::ingest::kept::{Cut, Keeper, Kept, Landing, Piece, Worker};
use crate::commands::ingest::transcripts::TranscriptFile;
use crate::report::Outcome;
use crate::scanning::usable;

pub(super) struct Work<'a> {
    pub(super) keeper: &'a Keeper<'a>,
    runtime: &'a Arc<dyn LlmRuntime>,
    pub(super) around: Around<'a>,
    cancel: CancellationToken,
    is_usable: bool,
}

/// One source with its state.
pub(super) struct Job<'a> {
    pub(super) source: &'a Source,
    pub(super) run: Run,
    pub(super) progress: Progress,
    /// The remaining page quota for documents.
    pub(super) quota: Option<Quota>,
}

impl Job<'_> {
    pub(super) fn wrote(&mut self, used: Quota) {
        if let Some(quota) = &mut self.quota {
            quota.creates = quota.creates.saturating_sub(used.creates);
            quota.updates = quota.updates.saturating_sub(used.updates);
        }
    }

    /// Returns whether pages may still be written. Documents rarely lead to changes alone, so work
    /// continues without new pages only if none were ever allowed.
    pub(super) fn has_room(&self) -> bool {
        let creates_none = self.source.documents.is_some_and(|most| most.creates == 0);
        self.quota
            .is_none_or(|left| left.creates > 0 || (creates_none && left.updates > 0))
    }
}

impl<'a> Work<'a> {
    pub(super) const fn new(
        keeper: &'a Keeper<'a>,
        runtime: &'a Arc<dyn LlmRuntime>,
        around: Around<'a>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            keeper,
            runtime,
            around,
            cancel,
            is_usable: false,
        }
    }

    /// Lets the model read the units of a source.
    pub(super) async fn source(&mut self, source: &Source, done: &mut Ingested) -> Outcome<()> {
        let (session, opened, printer) = self.around;
        let mut job = Job {
            source,
            quota: source.documents,
            run: Run {
                source: source.id.clone(),
                warehouse: source.warehouse.clone(),
                context: crate::context::open(session, opened)?,
                runtime: Arc::clone(self.runtime),
                run_id: session.run_id.clone(),
                cancel: self.cancel.clone(),
            },
            progress: Progress::new(printer.clone()),
        };
        let result = self.read(&mut job, done).await;
        done.events = job.progress.events();
        result
    }

    async fn read(&mut self, job: &mut Job<'_>, done: &mut Ingested) -> Outcome<()> {
        self.prove(job).await?;
        self.journal(&job.source.id)
            .look_for_gone(&job.source.snapshot)?;
        let judged = self.judge(job).await?;
        self.units(job, judged, done).await;
        if done.stop().is_none() {
            done.curated = self.curation(job).await?;
        }
        if done.stop().is_none() {
            done.reconciled = self.reconciliation(job, done).await?;
        }
        Ok(())
    }

    /// Reads one unit after another, so that each sees what earlier ones wrote.
    async fn units(&mut self, job: &mut Job<'_>, mut judged: Judgements, done: &mut Ingested) {
        let units = &job.source.units;
        let mut results = judged.values();
        let mut is_stopped = results.any(|result| result.as_ref().is_err_and(stops));
        let mut doubts = Doubts::default();
        for (index, unit) in units.iter().enumerate() {
            let judgement = judged.remove(&unit.key);
            let mut verdict = None;
            let result = match judgement {
                Some(Ok(found)) if !found.is_full() => {
                    verdict = Some(found.clone());
                    Some(self.read_lightly(job, unit, &found))
                }
                Some(Err(failure)) => Some(Err(failure)),
                // It was not judged, or its pages would exceed the quota.
                None if job.source.documents.is_some() => None,
                _ if is_stopped => None,
                found => {
                    verdict = found.and_then(Result::ok);
                    let place = format!(
                        "[{}/{}] {} · {}",
                        index + 1,
                        units.len(),
                        job.source.id,
                        unit.label.as_deref().unwrap_or(&unit.key)
                    );
                    let result = self.unit(job, unit, place).await.transpose();
                    result.map(|result| doubts.weigh(result))
                }
            };
            is_stopped |= matches!(&result, Some(Err(failure)) if stops(failure));
            done.units.push(UnitDone {
                key: unit.key.clone(),
                label: unit.label.clone(),
                verdict,
                result: result.map(|kept| Loop {
                    steps: turns(job.progress.taken()),
                    kept,
                }),
            });
        }
    }

    /// Reads one unit; returns `None` if the quota is used up.
    async fn unit(
        &mut self,
        job: &mut Job<'_>,
        unit: &Unit,
        place: String,
    ) -> Outcome<Option<Kept>> {
        let (_, opened, printer) = self.around;
        let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
        let piece = piece(job, unit);
        if let Some(known) = self.keeper.known(&piece)? {
            return Ok(Some(known));
        }
        if !job.has_room() {
            return Ok(None);
        }
        self.require_usable().await?;
        job.progress.line(&place);
        let transcript = TranscriptFile::of(&job.source.id, &unit.key, &place, opened, printer)?;
        let base = self.keeper.begin()?;
        let files = self.keeper.files(&base, warehouse)?;
        let steps =
            turns(usize::try_from(opened.config.ingest.step_budget).unwrap_or(usize::MAX)).max(1);
        let worked = work_unit(
            &job.run,
            UnitRequest {
                unit,
                snapshot: &job.source.snapshot,
                files: files.clone(),
                step_budget: steps,
                quota: job.quota,
                on_step: Some(job.progress.unit(place, &unit.key)),
                kept: Some(transcript.kept_loop(
                    ModelRole::CandidateExtraction,
                    self.runtime,
                    opened,
                )),
            },
        );
        let worked = worked.await.map_err(failure)?;
        let landing = self.landing(job, (&unit.key, &files), &base, &worked)?;
        let journal = self.journal(&job.source.id);
        journal.written(&unit.key, &landing.made)?;
        job.wrote(worked.used);
        let cut = cut(&worked, steps);
        let kept = self.keeper.keep_landing(&piece, &base, landing, cut)?;
        transcript.clear();
        Ok(Some(kept))
    }

    pub(super) fn landing(
        &self,
        job: &Job<'_>,
        (work, files): (&str, &BTreeMap<ProjectPath, Vec<u8>>),
        base: &Base,
        worked: &Worked,
    ) -> Outcome<Landing> {
        let worker = Worker {
            source: &job.source.id,
            warehouse: job.run.warehouse.as_ref(),
            work,
            files,
        };
        self.keeper.landing(&worker, base, &worked.made)
    }

    /// Probes the model, if it is needed at all: without a usable one nothing changes.
    async fn prove(&mut self, job: &Job<'_>) -> Outcome<()> {
        // The model triages documents first.
        let is_read_at_once = job.source.documents.is_none();
        for unit in job.source.units.iter().filter(|_| is_read_at_once) {
            if self.keeper.known(&piece(job, unit))?.is_none() {
                return self.require_usable().await;
            }
        }
        Ok(())
    }

    pub(super) async fn require_usable(&mut self) -> Outcome<()> {
        if !self.is_usable {
            usable(self.runtime, self.around.0, &self.cancel).await?;
            self.is_usable = true;
        }
        Ok(())
    }

    pub(super) fn journal<'j>(&'j self, source: &'j ConnectionId) -> Journal<'j> {
        Journal {
            state: self.keeper.state(),
            source,
            now: self.around.0.now,
        }
    }

    /// Reconciles what units wrote, if several did or files of some have disappeared.
    async fn reconciliation(&mut self, job: &Job<'_>, done: &Ingested) -> Outcome<Option<Loop>> {
        let mut open = self.journal(&job.source.id).open()?;
        if let Some(scope) = &job.source.scope {
            open.written
                .retain(|written| written.unit.starts_with(scope));
            open.gone.retain(|gone| gone.unit.starts_with(scope));
        }
        let mut result = None;
        if open.written.len() > 1 || !open.gone.is_empty() {
            let kept = self.reconciled(job, &open).await;
            let is_done = kept.as_ref().is_ok_and(|kept| !kept.is_partial);
            result = Some(Loop {
                steps: turns(job.progress.taken()),
                kept,
            });
            if !is_done {
                return Ok(result);
            }
        } else if done.failures_of_reading().next().is_some() {
            // What the failed units write later must be reconciled with this.
            return Ok(None);
        }
        self.journal(&job.source.id).close(&open)?;
        Ok(result)
    }

    async fn reconciled(&mut self, job: &Job<'_>, open: &Open) -> Outcome<Kept> {
        self.require_usable().await?;
        let (_, opened, printer) = self.around;
        let place = format!("{} · reconciliation", job.source.id);
        job.progress.line(&place);
        let transcript =
            TranscriptFile::of(&job.source.id, "reconciliation", &place, opened, printer)?;
        let base = self.keeper.begin()?;
        let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
        let files = self.keeper.files(&base, warehouse)?;
        let worked = reconcile(
            &job.run,
            ReconcileRequest {
                written: &open.written,
                gone: &open.gone,
                files: files.clone(),
                on_step: Some(job.progress.reconciliation(place)),
                kept: Some(transcript.kept_loop(ModelRole::Reconcile, self.runtime, opened)),
            },
        );
        let worked = worked.await.map_err(failure)?;
        let landing = self.landing(job, ("reconciliation", &files), &base, &worked)?;
        let title = format!("ktx ingest: {} reconciled", job.source.id);
        let marks = marks(&job.source.id, &landing.made.changes);
        let cut = cut(&worked, RECONCILE_STEPS);
        let kept = self
            .keeper
            .keep_once(&base, &landing.made, cut, &title, &marks)?;
        transcript.clear();
        Ok(Kept {
            proposed: landing.kept_back,
            ..kept
        })
    }
}

/// Returns why the result after this many turns may be incomplete.
pub(super) fn cut(worked: &Worked, steps: u32) -> Option<Cut> {
    if worked.is_cut {
        return Some(Cut::Turns(steps));
    }
    worked.is_short.then_some(Cut::Pages)
}

pub(super) fn piece(job: &Job<'_>, unit: &Unit) -> Piece {
    let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
    Piece {
        owner: job.source.id.clone(),
        key: unit.key.clone(),
        stage: UNIT,
        input: fingerprint(unit, &job.source.snapshot, warehouse),
        title: format!("ktx ingest: {} {}", job.source.id, unit.key),
        closing: Vec::new(),
        files: unit.files.clone(),
    }
}

pub(super) fn turns(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
