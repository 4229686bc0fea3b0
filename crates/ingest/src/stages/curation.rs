//! Curation of the candidates from light readings, in passes with one commit each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_context_sources::Unit;
use ktx_memory::{TranscriptStore as _, Written};
use ktx_vocabulary::ModelRole;

use super::units::work_item;
use crate::curate::{
    CURATE_BATCH, CURATE_STEPS, CurateRequest, CurationResult, Decision, Fate, OpenCandidate,
    curate,
};
use crate::error::{Failed, IngestError};
use crate::events::{Event, Task};
use crate::journal::{FoundCandidate, Row};
use crate::ownership::marks;
use crate::report::{CurationReport, LoopReport};
use crate::run_store::Committed;
use crate::source_run::{SourceRun, saturated, truncation};
use crate::work_item::Truncation;

const PASSES: usize = 8;

type Decisions = BTreeMap<String, Decision>;

pub(crate) async fn curate_all(
    run: &mut SourceRun<'_>,
) -> Result<Option<CurationReport>, IngestError> {
    if run.source.documents.is_none() {
        return Ok(None);
    }
    let mut open = open_candidates(run)?;
    if open.is_empty() {
        return Ok(None);
    }
    let mut report = CurationReport {
        passes: Vec::new(),
        decisions: Decisions::new(),
        open: open.len(),
    };
    while !open.is_empty() && report.passes.len() < PASSES && run.has_room() {
        let batch: Vec<Row<FoundCandidate>> = open.drain(..open.len().min(CURATE_BATCH)).collect();
        let before = run.progress.count();
        let number = report.passes.len() + 1;
        let (result, decisions) = match pass(run, &batch, number).await {
            Ok((committed, decisions)) => (Ok(committed), decisions),
            Err(error) => (Err(Failed::from(error)), Decisions::new()),
        };
        let is_over = result.as_ref().is_err_and(|failed| failed.stop.is_some());
        report.open -= decisions.len();
        report.decisions.extend(decisions);
        report.passes.push(LoopReport {
            steps: saturated(run.progress.count() - before),
            result,
        });
        if is_over {
            break;
        }
    }
    Ok(Some(report))
}

async fn pass(
    run: &mut SourceRun<'_>,
    batch: &[Row<FoundCandidate>],
    number: usize,
) -> Result<(Committed, Decisions), IngestError> {
    run.require_usable().await?;
    let task = Task::Curation { pass: number };
    run.progress.report(Event::Started(task.clone()));
    // Passes share one transcript: after an interruption, the next run's first pass continues it.
    let (transcript, kept) = run.transcript("curation", &task, ModelRole::Curator)?;
    let workspace = run.workspace()?;
    let open: Vec<OpenCandidate> = batch.iter().map(open_candidate).collect();
    let request = CurateRequest {
        open: &open,
        snapshot: &run.source.snapshot,
        files: Arc::clone(&workspace.files),
        quota: run.quota.unwrap_or_default(),
        on_step: Some(run.progress.on_step(&task)),
        kept: Some(kept),
    };
    let CurationResult { worked, decisions } = curate(&run.context, request).await?;
    let reviewed = run.review("curation", &workspace, &worked)?;
    let journal = run.journal();
    journal.add_written(&format!("curation-{number}"), &reviewed.changes)?;
    run.spend(worked.used);
    let decided = decided_units(run, batch, &decisions)?;
    let mut lines: Vec<String> = decided
        .iter()
        .map(|unit| work_item(run, unit).mark())
        .collect();
    lines.extend(marks(&run.source.id, &reviewed.changes.changes));
    let title = format!("ktx ingest: {} candidates of documents", run.source.id);
    let truncation = truncation(&worked, CURATE_STEPS);
    let store = run.run_store;
    let committed = store.commit_reviewed(&workspace.base, reviewed, truncation, &title, &lines)?;
    remember_pages(run, batch, &decisions, &decided, &committed)?;
    for row in batch {
        if let Some(decision) = decisions.get(&row.key) {
            let mut row = row.clone();
            row.record.decision = Some(decision.clone());
            journal.put(&row)?;
        }
    }
    transcript.clear();
    Ok((committed, decisions))
}

fn decided_units<'a>(
    run: &SourceRun<'a>,
    batch: &[Row<FoundCandidate>],
    decisions: &Decisions,
) -> Result<Vec<&'a Unit>, IngestError> {
    let rows = run.journal().all::<FoundCandidate>()?;
    let is_open = |row: &Row<FoundCandidate>| {
        row.record.decision.is_none() && !decisions.contains_key(&row.key)
    };
    let open: BTreeSet<&str> = rows
        .iter()
        .filter(|row| is_open(row))
        .map(Row::unit)
        .collect();
    let batch: BTreeSet<&str> = batch.iter().map(Row::unit).collect();
    let units = run.source.units.iter();
    let decided = units.filter(|unit| {
        let key = unit.key.as_str();
        batch.contains(key) && !open.contains(key)
    });
    Ok(decided.collect())
}

fn remember_pages(
    run: &SourceRun<'_>,
    batch: &[Row<FoundCandidate>],
    decisions: &Decisions,
    decided: &[&Unit],
    committed: &Committed,
) -> Result<(), IngestError> {
    for row in batch {
        let decision = decisions.get(&row.key);
        let decision = decision.filter(|decision| decision.fate != Fate::Merged);
        let Some(page) = decision.and_then(|decision| decision.page.clone()) else {
            continue;
        };
        let mut units = run.source.units.iter();
        let Some(unit) = units.find(|unit| unit.key == row.unit()) else {
            continue;
        };
        let is_withheld = committed
            .withheld
            .contains(&format!("wiki/global/{page}.md"));
        let is_decided = decided.iter().any(|other| other.key == unit.key);
        let part = Committed {
            written: Written {
                wiki: if is_withheld { Vec::new() } else { vec![page] },
                ..Written::default()
            },
            truncation: (!is_decided).then_some(Truncation::Turns(CURATE_STEPS)),
            ..committed.clone()
        };
        run.run_store.remember(&work_item(run, unit), &part)?;
    }
    Ok(())
}

/// Groups by subject, best first.
fn open_candidates(run: &SourceRun<'_>) -> Result<Vec<Row<FoundCandidate>>, IngestError> {
    let mut open = run.journal().all::<FoundCandidate>()?;
    open.retain(|row| row.record.decision.is_none());
    // After an interruption that followed a commit, the commit lists the finished documents.
    let units: BTreeSet<String> = open.iter().map(|row| row.unit().to_owned()).collect();
    for unit in &run.source.units {
        if units.contains(&unit.key)
            && run
                .run_store
                .find_committed(&work_item(run, unit))?
                .is_some()
        {
            open.retain(|row| row.unit() != unit.key);
        }
    }
    let mut best: BTreeMap<String, i32> = BTreeMap::new();
    for Row { record, .. } in &open {
        let score = record.candidate.score();
        let known = best.entry(record.candidate.key.clone()).or_insert(score);
        *known = score.max(*known);
    }
    open.sort_by_key(|row| {
        let subject = row.record.candidate.key.clone();
        let score = best.get(&subject).copied().unwrap_or_default();
        (std::cmp::Reverse(score), subject, row.key.clone())
    });
    Ok(open)
}

fn open_candidate(row: &Row<FoundCandidate>) -> OpenCandidate {
    let record = row.record.clone();
    OpenCandidate {
        id: row.key.clone(),
        candidate: record.candidate,
        words: record.words,
        file: record.file,
    }
}
