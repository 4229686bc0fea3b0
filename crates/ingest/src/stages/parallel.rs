//! Units whose loops run concurrently over one state of the project. A result that cannot be merged
//! with later commits makes its loop run again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ktx_context_sources::Unit;
use ktx_llm_runtime::StepCallback;
use ktx_memory::TranscriptStore as _;
use ktx_project_store::PublishError;
use ktx_vocabulary::ModelRole;

use super::units::{display_name, work_item};
use crate::error::{DoubtCounter, Failed, IngestError};
use crate::events::{Event, Task};
use crate::merging::merged;
use crate::report::{LoopReport, UnitReport};
use crate::run_store::Committed;
use crate::source_run::{SourceRun, Workspace, truncation};
use crate::transcripts::{LoopBegin, TranscriptFile};
use crate::unit::{LoopResult, UnitRequest, work_unit};

/// Concurrent attempts of a loop before it runs alone.
const TRIES_BESIDE: u32 = 2;

/// Maximum attempts: when a loop runs alone, only commits from outside the run can conflict.
const TRIES: u32 = 5;

#[derive(Clone, Copy)]
struct Turn<'u> {
    index: usize,
    unit: &'u Unit,
    tries: u32,
}

impl Turn<'_> {
    const fn is_alone(self) -> bool {
        self.tries > TRIES_BESIDE
    }
}

struct FinishedLoop {
    workspace: Workspace,
    result: LoopResult,
    transcript: Arc<TranscriptFile>,
}

enum Landing {
    Done(Committed),
    Again,
}

pub(crate) async fn read(run: &SourceRun<'_>) -> Vec<UnitReport> {
    let mut results: BTreeMap<usize, LoopReport> = BTreeMap::new();
    let mut open: VecDeque<Turn<'_>> = VecDeque::new();
    for (index, unit) in run.source.units.iter().enumerate() {
        match run.run_store.find_committed(&work_item(run, unit)) {
            Ok(None) => open.push_back(Turn {
                index,
                unit,
                tries: 1,
            }),
            Ok(Some(known)) => {
                let result = Ok(known);
                results.insert(index, LoopReport { steps: 0, result });
            }
            Err(error) => {
                let result = Err(Failed::from(error));
                results.insert(index, LoopReport { steps: 0, result });
            }
        }
    }
    let most = usize::try_from(run.model.concurrency).unwrap_or(1).max(1);
    let mut doubts = DoubtCounter::default();
    let mut is_stopped = false;
    let mut running = FuturesUnordered::new();
    loop {
        while !is_stopped && running.len() < most {
            let is_next = |turn: &mut Turn<'_>| !turn.is_alone() || running.is_empty();
            let Some(turn) = open.pop_front_if(is_next) else {
                break;
            };
            // Loops that begin together begin with one state.
            running.push(begin(run, turn, workspace(run, turn.unit)));
            if turn.is_alone() {
                break;
            }
        }
        let Some((turn, steps, finished)) = running.next().await else {
            break;
        };
        let landed = finished.and_then(|finished| land(run, turn, finished));
        let result = match landed {
            Ok(Landing::Again) => {
                let again = Turn {
                    tries: turn.tries + 1,
                    ..turn
                };
                if again.is_alone() {
                    open.push_back(again);
                } else {
                    open.push_front(again);
                }
                continue;
            }
            Ok(Landing::Done(committed)) => Ok(committed),
            Err(error) => Err(Failed::from(error)),
        };
        let result = doubts.weigh(result);
        if let Err(failed) = &result {
            is_stopped |= failed.stop.is_some();
            if failed.stop.is_none() {
                // A unit whose failure cannot be recorded counts as not tried.
                drop(run.run_store.remember_failure(&work_item(run, turn.unit)));
            }
        }
        results.insert(turn.index, LoopReport { steps, result });
    }
    let units = run.source.units.iter().enumerate();
    let reports = units.map(|(index, unit)| UnitReport {
        key: unit.key.clone(),
        label: unit.label.clone(),
        judgement: None,
        result: results.remove(&index),
    });
    reports.collect()
}

/// Returns the files of the interrupted loop if there is one, whatever others have committed since.
fn workspace(run: &SourceRun<'_>, unit: &Unit) -> Result<Workspace, IngestError> {
    match run.earlier_workspace(&unit.key, &input(run, unit))? {
        Some(workspace) => Ok(workspace),
        None => run.workspace(),
    }
}

fn input(run: &SourceRun<'_>, unit: &Unit) -> String {
    let model = (run.model.name)(ModelRole::CandidateExtraction);
    format!("{} {model}", work_item(run, unit).input)
}

async fn begin<'u>(
    run: &SourceRun<'_>,
    turn: Turn<'u>,
    workspace: Result<Workspace, IngestError>,
) -> (Turn<'u>, u32, Result<FinishedLoop, IngestError>) {
    let steps = Arc::new(AtomicU32::new(0));
    let finished = match workspace {
        Ok(workspace) => work(run, turn, workspace, Arc::clone(&steps)).await,
        Err(error) => Err(error),
    };
    (turn, steps.load(Ordering::Relaxed), finished)
}

async fn work(
    run: &SourceRun<'_>,
    turn: Turn<'_>,
    workspace: Workspace,
    steps: Arc<AtomicU32>,
) -> Result<FinishedLoop, IngestError> {
    run.require_usable().await?;
    let unit = turn.unit;
    let task = Task::Unit {
        position: turn.index + 1,
        count: run.source.units.len(),
        key: unit.key.clone(),
        name: display_name(unit).to_owned(),
    };
    run.progress.report(Event::Started(task.clone()));
    let role = ModelRole::CandidateExtraction;
    let begin = workspace.base.commit.clone().map(|commit| LoopBegin {
        branch: workspace.base.branch.clone(),
        commit,
        input: input(run, unit),
    });
    let (transcript, kept) = run.transcript_from(&unit.key, &task, role, begin)?;
    let report = run.progress.on_step(&task);
    let on_step: StepCallback = Arc::new(move |step| {
        steps.fetch_add(1, Ordering::Relaxed);
        report(step)
    });
    let request = UnitRequest {
        unit,
        snapshot: &run.source.snapshot,
        files: Arc::clone(&workspace.files),
        step_budget: run.model.step_budget,
        quota: None,
        on_step: Some(on_step),
        kept: Some(kept),
    };
    let result = work_unit(&run.context, request).await?;
    Ok(FinishedLoop {
        workspace,
        result,
        transcript,
    })
}

fn land(
    run: &SourceRun<'_>,
    turn: Turn<'_>,
    finished: FinishedLoop,
) -> Result<Landing, IngestError> {
    let FinishedLoop {
        workspace,
        mut result,
        transcript,
    } = finished;
    let now = run.workspace()?;
    if now.base != workspace.base {
        let warehouse = run.source.warehouse.as_ref();
        match merged(&result.made, &workspace.files, &now.files, warehouse) {
            Some(made) => result.made = made,
            None if turn.tries < TRIES => {
                transcript.clear();
                return Ok(Landing::Again);
            }
            None => return Err(IngestError::Publish(PublishError::TooManyRaces)),
        }
    }
    let unit = turn.unit;
    let reviewed = run.review(&unit.key, &now, &result)?;
    run.journal().add_written(&unit.key, &reviewed.changes)?;
    let truncation = truncation(&result, run.model.step_budget);
    let item = work_item(run, unit);
    let store = run.run_store;
    let committed = store.commit_unit(&item, &now.base, reviewed, truncation)?;
    transcript.clear();
    Ok(Landing::Done(committed))
}
