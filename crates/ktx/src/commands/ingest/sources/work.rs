//! One source: its facts, its units, its reconciliation. What is made is committed before the next begins.

use std::sync::Arc;

use ktx_context_sources::{Pruning, Unit, apply};
use ktx_ingest::{
    IngestError, RECONCILE_STEPS, ReconcileRequest, Run, UnitRequest, Worked, fingerprint,
    reconcile, work_unit,
};
use ktx_llm_runtime::LlmRuntime;
use ktx_project_store::Base;
use ktx_vocabulary::ConnectionId;
use tokio_util::sync::CancellationToken;

use super::journal::{Journal, Open, UNIT};
use super::progress::Progress;
use super::{Facts, Ingested, Loop, Source, UnitDone, stops};
use crate::commands::ingest::Around;
use crate::commands::ingest::kept::{Keeper, Kept, Piece};
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::scanning::usable;

/// The work of a command on its context sources.
pub(super) struct Work<'a> {
    keeper: &'a Keeper<'a>,
    runtime: &'a Arc<dyn LlmRuntime>,
    around: Around<'a>,
    cancel: CancellationToken,
    is_usable: bool,
}

/// What one source needs.
struct Job<'a> {
    source: &'a Source,
    run: Run,
    progress: Progress,
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

    /// Ingests one source.
    pub(super) async fn source(&mut self, source: &Source) -> Outcome<Ingested> {
        let (session, opened, printer) = self.around;
        let job = Job {
            source,
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
        let mut warnings = source.facts.warnings.clone();
        let left_out = source.snapshot.left_out.iter();
        warnings
            .extend(left_out.map(|file| format!("`{}` was not read: {}", file.path, file.reason)));
        self.prove(&job).await?;
        let mut done = Ingested {
            facts: self.facts(source),
            units: Vec::new(),
            reconciled: None,
            events: Vec::new(),
            warnings,
        };
        self.journal(&source.id).look_for_gone(&source.snapshot)?;
        self.units(&job, &mut done).await;
        if done.stop().is_none() {
            done.reconciled = self.reconciliation(&job).await?;
        }
        done.events = job.progress.events();
        Ok(done)
    }

    /// Takes over what the metadata says, as a commit of its own.
    fn facts(&self, source: &Source) -> Outcome<Facts> {
        let Some((warehouse, _)) = &source.warehouse else {
            return Ok(Facts::default());
        };
        let (_, opened, _) = self.around;
        // Two projects of one warehouse write under the same key.
        let count = opened.config.context_sources().count();
        let pruning = if count == 1 {
            Pruning::Remove
        } else {
            Pruning::Keep
        };
        let base = self.keeper.begin()?;
        let shards = self.keeper.shards(&base, warehouse)?;
        let applied = apply(&source.facts, &shards, pruning).map_err(|error| {
            Failure::from_error(Exit::Failure, "facts_failed", &error).context(format!(
                "what `{}` says about tables cannot be written",
                source.id
            ))
        })?;
        let title = format!("ktx ingest: what {} says about tables", source.id);
        let published = self.keeper.publish(&base, &applied.changes, &title)?;
        Ok(Facts {
            tables: applied.tables,
            unknown: applied.unknown,
            commit: published.commit,
        })
    }

    /// One unit after another, so that each sees what those before it wrote.
    async fn units(&mut self, job: &Job<'_>, done: &mut Ingested) {
        let units = &job.source.units;
        let mut is_stopped = false;
        for (index, unit) in units.iter().enumerate() {
            let result = if is_stopped {
                None
            } else {
                let place = format!(
                    "[{}/{}] {} · {}",
                    index + 1,
                    units.len(),
                    job.source.id,
                    unit.key
                );
                let before = job.progress.count();
                let kept = self.unit(job, unit, place).await;
                is_stopped = kept.as_ref().is_err_and(stops);
                Some(Loop {
                    steps: turns(job.progress.count() - before),
                    kept,
                })
            };
            done.units.push(UnitDone {
                key: unit.key.clone(),
                result,
            });
        }
    }

    async fn unit(&mut self, job: &Job<'_>, unit: &Unit, place: String) -> Outcome<Kept> {
        let (_, opened, _) = self.around;
        let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
        let piece = piece(job, unit);
        if let Some(known) = self.keeper.known(&piece)? {
            return Ok(known);
        }
        self.require_usable().await?;
        job.progress.line(&place);
        let base = self.keeper.begin()?;
        let steps =
            turns(usize::try_from(opened.config.ingest.step_budget).unwrap_or(usize::MAX)).max(1);
        let worked = work_unit(
            &job.run,
            UnitRequest {
                unit,
                snapshot: &job.source.snapshot,
                files: self.keeper.files(&base, warehouse)?,
                step_budget: steps,
                on_step: Some(job.progress.unit(place, &unit.key)),
            },
        );
        let worked = worked.await.map_err(failure)?;
        let journal = self.journal(&job.source.id);
        journal.written(&unit.key, &worked.made)?;
        self.keep(&piece, &base, &worked, steps)
    }

    fn keep(&self, piece: &Piece, base: &Base, worked: &Worked, steps: u32) -> Outcome<Kept> {
        let is_cut = worked.is_cut.then_some(steps);
        self.keeper.keep(piece, base, &worked.made, is_cut)
    }

    /// Without a usable model nothing changes, when one is needed at all.
    async fn prove(&mut self, job: &Job<'_>) -> Outcome<()> {
        for unit in &job.source.units {
            if self.keeper.known(&piece(job, unit))?.is_none() {
                return self.require_usable().await;
            }
        }
        Ok(())
    }

    async fn require_usable(&mut self) -> Outcome<()> {
        if !self.is_usable {
            usable(self.runtime, self.around.0, &self.cancel).await?;
            self.is_usable = true;
        }
        Ok(())
    }

    fn journal<'j>(&'j self, source: &'j ConnectionId) -> Journal<'j> {
        Journal {
            state: self.keeper.state(),
            source,
            now: self.around.0.now,
        }
    }

    /// Brings in line what units wrote, when more than one did or files of some are gone.
    async fn reconciliation(&mut self, job: &Job<'_>) -> Outcome<Option<Loop>> {
        let open = self.journal(&job.source.id).open()?;
        let mut result = None;
        if open.written.len() > 1 || !open.gone.is_empty() {
            let before = job.progress.count();
            let kept = self.reconciled(job, &open).await;
            let is_done = kept.as_ref().is_ok_and(|kept| !kept.is_partial);
            result = Some(Loop {
                steps: turns(job.progress.count() - before),
                kept,
            });
            if !is_done {
                return Ok(result);
            }
        }
        self.journal(&job.source.id).close(&open)?;
        Ok(result)
    }

    async fn reconciled(&mut self, job: &Job<'_>, open: &Open) -> Outcome<Kept> {
        self.require_usable().await?;
        let place = format!("{} · reconciliation", job.source.id);
        job.progress.line(&place);
        let base = self.keeper.begin()?;
        let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
        let worked = reconcile(
            &job.run,
            ReconcileRequest {
                written: &open.written,
                gone: &open.gone,
                files: self.keeper.files(&base, warehouse)?,
                on_step: Some(job.progress.reconciliation(place)),
            },
        );
        let worked = worked.await.map_err(failure)?;
        let title = format!("ktx ingest: {} reconciled", job.source.id);
        let is_cut = worked.is_cut.then_some(RECONCILE_STEPS);
        self.keeper.keep_once(&base, &worked.made, is_cut, &title)
    }
}

/// A unit as a piece of work.
fn piece(job: &Job<'_>, unit: &Unit) -> Piece {
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

fn turns(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn failure(error: IngestError) -> Failure {
    match error {
        IngestError::Model(error) => Failure::from(error),
        IngestError::Project(failure) => Failure::from(failure),
        IngestError::TooLong { .. } => Failure::from_error(Exit::Config, "long_unit", &error)
            .hint("split its YAML file: a unit is one file of the source with what belongs to it"),
        IngestError::Tools(_) => Failure::from_error(Exit::Failure, "internal", &error),
    }
}
