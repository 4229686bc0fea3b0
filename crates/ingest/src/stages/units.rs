//! Units: a model reads one after another, so that each sees the results of earlier ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_context_sources::Unit;
use ktx_memory::{TranscriptStore as _, Written};
use ktx_vocabulary::ModelRole;

use super::parallel;
use crate::error::{DoubtCounter, Failed, IngestError};
use crate::events::{Event, Task};
use crate::journal::UnitResult;
use crate::report::{Judgement, LoopReport, UnitReport};
use crate::run_store::{Committed, Origin};
use crate::source_run::{SourceRun, saturated, truncation};
use crate::unit::{UnitRequest, work_unit};
use crate::work_item::{WorkItem, unit_item};

pub(crate) type Judgements = BTreeMap<String, Result<Judgement, Failed>>;

/// Probes the model if a unit needs it. Documents need no probe: the model triages them first.
pub(crate) async fn require_model(run: &SourceRun<'_>) -> Result<(), IngestError> {
    if run.source.documents.is_some() {
        return Ok(());
    }
    for unit in &run.source.units {
        if run
            .run_store
            .find_committed(&work_item(run, unit))?
            .is_none()
        {
            return run.require_usable().await;
        }
    }
    Ok(())
}

pub(crate) async fn read(run: &mut SourceRun<'_>, mut judgements: Judgements) -> Vec<UnitReport> {
    // Documents share a quota of pages, so each has to know what the earlier ones wrote.
    if run.model.concurrency > 1 && run.source.documents.is_none() {
        return parallel::read(run).await;
    }
    let stops = |failed: &Failed| failed.stop.is_some();
    let mut results = judgements.values();
    let mut is_stopped = results.any(|result| result.as_ref().is_err_and(stops));
    let mut doubts = DoubtCounter::default();
    let mut reports = Vec::new();
    let units = &run.source.units;
    for (index, unit) in units.iter().enumerate() {
        let before = run.progress.count();
        let mut judgement = None;
        let result = match judgements.remove(&unit.key) {
            Some(Ok(found)) if !found.is_full() => {
                let result = read_lightly(run, unit, &found).map_err(Failed::from);
                judgement = Some(found);
                Some(result)
            }
            Some(Err(failed)) => Some(Err(failed)),
            None if run.source.documents.is_some() => None,
            _ if is_stopped => None,
            found => {
                judgement = found.and_then(Result::ok);
                let task = Task::Unit {
                    position: index + 1,
                    count: units.len(),
                    key: unit.key.clone(),
                    name: display_name(unit).to_owned(),
                };
                let result = read_one(run, unit, &task).await.transpose();
                let result = result.map(|result| doubts.weigh(result.map_err(Failed::from)));
                if let Some(Err(failed)) = &result
                    && !stops(failed)
                {
                    // A unit whose failure cannot be recorded counts as not tried.
                    drop(run.run_store.remember_failure(&work_item(run, unit)));
                }
                result
            }
        };
        is_stopped |= matches!(&result, Some(Err(failed)) if stops(failed));
        reports.push(UnitReport {
            key: unit.key.clone(),
            label: unit.label.clone(),
            judgement,
            result: result.map(|result| LoopReport {
                steps: saturated(run.progress.count() - before),
                result,
            }),
        });
    }
    reports
}

/// Returns `None` if the quota is used up.
async fn read_one(
    run: &mut SourceRun<'_>,
    unit: &Unit,
    task: &Task,
) -> Result<Option<Committed>, IngestError> {
    let item = work_item(run, unit);
    if let Some(known) = run.run_store.find_committed(&item)? {
        return Ok(Some(known));
    }
    if !run.has_room() {
        return Ok(None);
    }
    run.require_usable().await?;
    run.progress.report(Event::Started(task.clone()));
    let role = ModelRole::CandidateExtraction;
    let (transcript, kept) = run.transcript(&unit.key, task, role)?;
    let workspace = run.workspace()?;
    let step_budget = run.model.step_budget;
    let request = UnitRequest {
        unit,
        snapshot: &run.source.snapshot,
        files: Arc::clone(&workspace.files),
        step_budget,
        quota: run.quota,
        on_step: Some(run.progress.on_step(task)),
        kept: Some(kept),
    };
    let worked = work_unit(&run.context, request).await?;
    let reviewed = run.review(&unit.key, &workspace, &worked)?;
    run.journal().add_written(&unit.key, &reviewed.changes)?;
    run.spend(worked.used);
    let truncation = truncation(&worked, step_budget);
    let store = run.run_store;
    let committed = store.commit_unit(&item, &workspace.base, reviewed, truncation)?;
    transcript.clear();
    Ok(Some(committed))
}

fn read_lightly(
    run: &SourceRun<'_>,
    unit: &Unit,
    judgement: &Judgement,
) -> Result<Committed, IngestError> {
    let written = match judgement.origin {
        Origin::ThisRun => Written::default(),
        Origin::EarlierRun => {
            let row = run.journal().get::<UnitResult>(&unit.key)?;
            row.map(|row| row.record.0.names()).unwrap_or_default()
        }
    };
    Ok(Committed {
        origin: judgement.origin,
        ..Committed::earlier(written, None)
    })
}

pub(crate) fn items<'r>(run: &'r SourceRun<'_>) -> &'r BTreeMap<String, WorkItem> {
    run.items.get_or_init(|| {
        let units = run.source.units.iter();
        units
            .map(|unit| (unit.key.clone(), unit_item(run.source, unit)))
            .collect()
    })
}

pub(crate) fn work_item(run: &SourceRun<'_>, unit: &Unit) -> WorkItem {
    let known = items(run).get(&unit.key).cloned();
    known.unwrap_or_else(|| unit_item(run.source, unit))
}

pub(crate) fn input(run: &SourceRun<'_>, unit: &Unit) -> String {
    work_item(run, unit).input
}

pub(crate) fn display_name(unit: &Unit) -> &str {
    unit.label.as_deref().unwrap_or(&unit.key)
}
