//! Reconciles the units of a source, if several wrote something or files of some have disappeared.

use std::sync::Arc;

use ktx_memory::TranscriptStore as _;
use ktx_vocabulary::ModelRole;

use crate::error::{Failed, IngestError};
use crate::events::{Event, Task};
use crate::journal::Pending;
use crate::ownership::marks;
use crate::proposals::RECONCILIATION;
use crate::reconcile::{RECONCILE_STEPS, ReconcileRequest, reconcile};
use crate::report::{EvictionReport, LoopReport};
use crate::run_store::Committed;
use crate::source_run::{SourceRun, saturated, truncation};
use crate::stages::eviction::{for_reconciliation, waiting_only};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    Read,
    /// Later results of failed units must be reconciled with the rest.
    SomeFailed,
}

/// A single result needs no reconciliation.
pub(crate) async fn reconcile_pending(
    run: &SourceRun<'_>,
    units: Units,
    eviction: Option<&EvictionReport>,
) -> Result<Option<LoopReport>, IngestError> {
    let mut pending = run.journal().pending()?;
    if let Some(scope) = &run.source.scope {
        let is_own = |unit: &str| unit.starts_with(scope);
        pending.written.retain(|written| is_own(&written.unit));
        pending.gone.retain(|gone| is_own(&gone.unit));
    }
    let open = eviction.map_or(&[][..], |evicted| &evicted.open);
    pending.gone = for_reconciliation(pending.gone, open);
    let is_needed = pending.written.len() > 1 || !pending.gone.is_empty();
    if !is_needed {
        if units == Units::Read {
            run.journal().close(&pending)?;
        }
        return Ok(None);
    }
    let before = run.progress.count();
    let result = reconcile_all(run, &pending).await.map_err(Failed::from);
    let report = LoopReport {
        steps: saturated(run.progress.count() - before),
        result,
    };
    if report.is_finished() {
        let waiting = run.journal().pending()?.gone;
        run.journal().close(&pending)?;
        for unit in waiting_only(waiting, open) {
            run.journal().keep_gone(&unit)?;
        }
    }
    Ok(Some(report))
}

async fn reconcile_all(run: &SourceRun<'_>, pending: &Pending) -> Result<Committed, IngestError> {
    run.require_usable().await?;
    let task = Task::Reconciliation;
    run.progress.report(Event::Started(task.clone()));
    let (transcript, kept) = run.transcript(RECONCILIATION, &task, ModelRole::Reconcile)?;
    let workspace = run.workspace()?;
    let request = ReconcileRequest {
        written: &pending.written,
        gone: &pending.gone,
        files: Arc::clone(&workspace.files),
        on_step: Some(run.progress.on_step(&task)),
        kept: Some(kept),
    };
    let worked = reconcile(&run.context, request).await?;
    let reviewed = run.review(RECONCILIATION, &workspace, &worked)?;
    let title = format!("ktx ingest: {} reconciled", run.source.id);
    let marks = marks(&run.source.id, &reviewed.changes.changes);
    let truncation = truncation(&worked, RECONCILE_STEPS);
    let store = run.run_store;
    let committed = store.commit_reviewed(&workspace.base, reviewed, truncation, &title, &marks)?;
    transcript.clear();
    Ok(committed)
}
