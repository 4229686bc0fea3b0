//! Triage of documents, and the light reading of some of them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt as _;
use ktx_context_sources::Unit;

use super::units::{Judgements, display_name, input, work_item};
use crate::documents::{Lane, LightReading, Verdict, light, triage};
use crate::error::{Failed, IngestError};
use crate::events::Event;
use crate::journal::{DocumentLane, FoundCandidate, PendingLane, Row};
use crate::report::Judgement;
use crate::run_store::Origin;
use crate::source_run::SourceRun;

const CONCURRENCY: usize = 2;

/// After this many consecutive failures, the documents are not the cause.
const MOST_FAILURES: usize = 5;

/// Stores each answer immediately, also answers that arrive after a failure that ends the run.
pub(crate) async fn judge(run: &SourceRun<'_>) -> Result<Judgements, IngestError> {
    let mut judged = Judgements::new();
    if run.source.documents.is_none() {
        return Ok(judged);
    }
    remove_stale_candidates(run)?;
    let mut candidates: BTreeMap<String, usize> = BTreeMap::new();
    for row in run.journal().all::<FoundCandidate>()? {
        *candidates.entry(row.unit().to_owned()).or_default() += 1;
    }
    let mut left = Vec::new();
    for unit in &run.source.units {
        let found = candidates.get(&unit.key).copied().unwrap_or_default();
        match known_judgement(run, unit, found)? {
            Some(known) => {
                judged.insert(unit.key.clone(), Ok(known));
            }
            None => left.push(unit),
        }
    }
    if !left.is_empty() {
        run.require_usable().await?;
        judge_new(run, left, &mut judged).await;
    }
    Ok(judged)
}

async fn judge_new(run: &SourceRun<'_>, left: Vec<&Unit>, judged: &mut Judgements) {
    let count = left.len();
    let is_over = Cell::new(false);
    let judge_next = async |unit| {
        if is_over.get() {
            return None;
        }
        Some((unit, judge_one(run, unit).await.map_err(Failed::from)))
    };
    let mut judging = futures_util::stream::iter(left)
        .map(judge_next)
        .buffered(CONCURRENCY);
    let (mut position, mut failures_in_a_row) = (0, 0);
    while let Some(next) = judging.next().await {
        let Some((unit, result)) = next else {
            continue;
        };
        // The first failure says why the run ends.
        if is_over.get() && result.is_err() {
            continue;
        }
        position += 1;
        match &result {
            Ok(judgement) => {
                failures_in_a_row = 0;
                run.progress.report(Event::Triaged {
                    position,
                    count,
                    name: display_name(unit).to_owned(),
                    lane: judgement.verdict.lane,
                });
            }
            Err(failed) => {
                failures_in_a_row += 1;
                if failed.stop.is_some() || failures_in_a_row == MOST_FAILURES {
                    is_over.set(true);
                }
            }
        }
        judged.insert(unit.key.clone(), result);
    }
}

async fn judge_one(run: &SourceRun<'_>, unit: &Unit) -> Result<Judgement, IngestError> {
    let journal = run.journal();
    let input = input(run, unit);
    let snapshot = &run.source.snapshot;
    let pending = journal.get::<PendingLane>(&unit.key)?;
    let verdict = match pending.filter(|row| row.input == input) {
        Some(row) => row.record.0,
        None => triage(&run.context, unit, snapshot).await?,
    };
    let found = match verdict.lane {
        Lane::Light => {
            journal.put(&Row {
                key: unit.key.clone(),
                input: input.clone(),
                record: PendingLane(verdict.clone()),
            })?;
            light(&run.context, unit, snapshot).await?
        }
        Lane::Skip | Lane::Full => LightReading::default(),
    };
    let candidates = found.candidates.len();
    remember(run, unit, &verdict, found, &input)?;
    Ok(Judgement {
        verdict,
        candidates,
        origin: Origin::ThisRun,
    })
}

/// Stores candidates before the lane, so that an interrupted command judges again.
fn remember(
    run: &SourceRun<'_>,
    unit: &Unit,
    verdict: &Verdict,
    found: LightReading,
    input: &str,
) -> Result<(), IngestError> {
    let journal = run.journal();
    let file = unit.files.first().cloned().unwrap_or_default();
    for (index, (candidate, words)) in found.candidates.into_iter().enumerate() {
        journal.put(&Row {
            key: format!("{}#{}", unit.key, index + 1),
            input: input.to_owned(),
            record: FoundCandidate {
                candidate,
                words,
                file: file.clone(),
                decision: None,
            },
        })?;
    }
    journal.put(&Row {
        key: unit.key.clone(),
        input: input.to_owned(),
        record: DocumentLane(verdict.clone()),
    })?;
    Ok(journal.remove::<PendingLane>(&unit.key)?)
}

fn known_judgement(
    run: &SourceRun<'_>,
    unit: &Unit,
    candidates: usize,
) -> Result<Option<Judgement>, IngestError> {
    let row = run.journal().get::<DocumentLane>(&unit.key)?;
    if let Some(row) = row.filter(|row| row.input == input(run, unit)) {
        return Ok(Some(Judgement {
            verdict: row.record.0,
            candidates,
            origin: Origin::EarlierRun,
        }));
    }
    // A clone does not know lanes, but it knows the results.
    let known = run.run_store.find_committed(&work_item(run, unit))?;
    Ok(known.map(|_| Judgement {
        verdict: Verdict {
            lane: Lane::Full,
            reason: String::new(),
        },
        candidates: 0,
        origin: Origin::EarlierRun,
    }))
}

fn remove_stale_candidates(run: &SourceRun<'_>) -> Result<(), IngestError> {
    let units = run.source.units.iter();
    let inputs: BTreeSet<String> = units.map(|unit| input(run, unit)).collect();
    let journal = run.journal();
    for row in journal.all::<FoundCandidate>()? {
        let mut left_out = run.source.snapshot.left_out.iter();
        let is_unread = left_out.any(|left| left.path == row.record.file);
        if !is_unread && !inputs.contains(&row.input) {
            journal.remove::<FoundCandidate>(&row.key)?;
        }
    }
    Ok(())
}
