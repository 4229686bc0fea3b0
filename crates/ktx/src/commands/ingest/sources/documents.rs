//! Documents: triaged before they are read, and the candidates found in them.

mod curation;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt as _;
use ktx_context_sources::Unit;
use ktx_ingest::{Found, Lane, Verdict, fingerprint, light, triage};
use ktx_memory::Written;
use ktx_project_store::StageRow;
use serde_json::{Value, json};

use super::journal::UNIT;
use super::trouble::{failure, stops};
use super::work::{Job, Work, piece};
use crate::commands::ingest::kept::Kept;
use crate::report::Outcome;
use crate::scanning::state_failure;

pub(in crate::commands::ingest) use curation::Curation;

/// The stage of the triage result of a document.
const LANE: &str = "document-lane";

/// The stage of the lane of a document whose light reading is not finished.
const TRIAGED: &str = "document-triaged";

const CANDIDATE: &str = "document-candidate";

/// Number of documents judged concurrently.
const AT_ONCE: usize = 2;

/// After this many consecutive failures the documents are not the cause.
const ENOUGH: usize = 5;

/// The triage result of a document, with its candidates.
#[derive(Debug, Clone)]
pub(in crate::commands::ingest) struct Judged {
    pub(in crate::commands::ingest) verdict: Verdict,
    /// Number of candidates found in a light reading.
    pub(in crate::commands::ingest) candidates: usize,
    pub(in crate::commands::ingest) is_known: bool,
}

impl Judged {
    pub(super) fn is_full(&self) -> bool {
        self.verdict.lane == Lane::Full
    }
}

/// Triage results by the key of their unit.
pub(super) type Judgements = BTreeMap<String, Outcome<Judged>>;

impl Work<'_> {
    /// Triages the new and changed documents of a source. Each answer is remembered immediately,
    /// also those of calls that are running when another one fails for good.
    pub(super) async fn judge(&mut self, job: &Job<'_>) -> Outcome<Judgements> {
        let mut judged = Judgements::new();
        if job.source.documents.is_none() {
            return Ok(judged);
        }
        self.forget_stale(job)?;
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for row in self.stages(job, CANDIDATE)? {
            *found.entry(unit_of(&row).to_owned()).or_default() += 1;
        }
        let mut left = Vec::new();
        for unit in &job.source.units {
            let found = found.get(&unit.key).copied().unwrap_or_default();
            match self.judged_before(job, unit, found)? {
                Some(known) => {
                    judged.insert(unit.key.clone(), Ok(known));
                }
                None => left.push(unit),
            }
        }
        if left.is_empty() {
            return Ok(judged);
        }
        self.require_usable().await?;
        let count = left.len();
        let is_over = Cell::new(false);
        let judge_next = async |unit| {
            if is_over.get() {
                return None;
            }
            Some((unit, self.judgement(job, unit).await))
        };
        let mut judging = futures_util::stream::iter(left)
            .map(judge_next)
            .buffered(AT_ONCE);
        let (mut done, mut in_a_row) = (0, 0);
        while let Some(next) = judging.next().await {
            let Some((unit, result)) = next else {
                continue;
            };
            // The first failure says why the run ends.
            if is_over.get() && result.is_err() {
                continue;
            }
            done += 1;
            if let Ok(judged) = &result {
                job.progress.line(&format!(
                    "[{done}/{count}] {} · triage · {} · {}",
                    job.source.id,
                    unit.label.as_deref().unwrap_or(&unit.key),
                    lane_word(judged.verdict.lane)
                ));
            }
            in_a_row = if result.is_err() { in_a_row + 1 } else { 0 };
            if result.as_ref().is_err_and(stops) || in_a_row == ENOUGH {
                is_over.set(true);
            }
            judged.insert(unit.key.clone(), result);
        }
        Ok(judged)
    }

    /// Judges one document: its lane, and its candidates if it is read lightly. A light reading that
    /// was cut off is repeated alone.
    async fn judgement(&self, job: &Job<'_>, unit: &Unit) -> Outcome<Judged> {
        let snapshot = &job.source.snapshot;
        let triaged = self.stage(job, &unit.key, TRIAGED)?;
        let triaged = triaged.filter(|row| row.input_hash == input(job, unit));
        let known = triaged.and_then(|row| serde_json::from_value(row.output).ok());
        let verdict: Verdict = match known {
            Some(verdict) => verdict,
            None => triage(&job.run, unit, snapshot).await.map_err(failure)?,
        };
        let found = match verdict.lane {
            Lane::Light => {
                let output = serde_json::to_value(&verdict).unwrap_or_default();
                self.put(job, unit.key.clone(), TRIAGED, input(job, unit), output)?;
                light(&job.run, unit, snapshot).await.map_err(failure)?
            }
            Lane::Skip | Lane::Full => Found::default(),
        };
        self.remember(job, unit, verdict, found)
    }

    /// Returns the result of an earlier run for an unchanged document.
    fn judged_before(
        &self,
        job: &Job<'_>,
        unit: &Unit,
        candidates: usize,
    ) -> Outcome<Option<Judged>> {
        let full = || Judged {
            verdict: Verdict {
                lane: Lane::Full,
                reason: String::new(),
            },
            candidates: 0,
            is_known: true,
        };
        let row = self.stage(job, &unit.key, LANE)?;
        let row = row.filter(|row| row.input_hash == input(job, unit));
        let Some(row) = row else {
            // A clone does not know lanes, but it knows the results.
            return Ok(self.keeper.known(&piece(job, unit))?.map(|_| full()));
        };
        let Ok(verdict) = serde_json::from_value(row.output) else {
            return Ok(None);
        };
        Ok(Some(Judged {
            verdict,
            candidates,
            is_known: true,
        }))
    }

    /// Remembers candidates before the lane, so that an interrupted command judges again.
    fn remember(
        &self,
        job: &Job<'_>,
        unit: &Unit,
        verdict: Verdict,
        found: Found,
    ) -> Outcome<Judged> {
        let input = input(job, unit);
        let file = unit.files.first().cloned().unwrap_or_default();
        let candidates = found.candidates.len();
        for (index, (candidate, words)) in found.candidates.into_iter().enumerate() {
            let key = format!("{}#{}", unit.key, index + 1);
            let output = json!({
                "candidate": candidate,
                "words": words,
                "file": file,
                "decision": null,
            });
            self.put(job, key, CANDIDATE, input.clone(), output)?;
        }
        let output = serde_json::to_value(&verdict).unwrap_or_default();
        self.put(job, unit.key.clone(), LANE, input, output)?;
        let state = self.keeper.state();
        let removed = state.remove_stage(&job.source.id, &unit.key, TRIAGED);
        removed.map_err(|error| state_failure(&error))?;
        Ok(Judged {
            verdict,
            candidates,
            is_known: false,
        })
    }

    /// Removes candidates of documents that have changed or disappeared.
    fn forget_stale(&self, job: &Job<'_>) -> Outcome<()> {
        let inputs: BTreeSet<String> = job
            .source
            .units
            .iter()
            .map(|unit| input(job, unit))
            .collect();
        let is_there = |row: &StageRow| {
            let file = row.output.get("file").and_then(Value::as_str);
            let left_out = job.source.snapshot.left_out.iter();
            let is_unread = file.is_some_and(|file| left_out.clone().any(|left| left.path == file));
            is_unread || inputs.contains(&row.input_hash)
        };
        for row in self.stages(job, CANDIDATE)? {
            if !is_there(&row) {
                let removed =
                    self.keeper
                        .state()
                        .remove_stage(&job.source.id, &row.table_key, CANDIDATE);
                removed.map_err(|error| state_failure(&error))?;
            }
        }
        Ok(())
    }

    /// Returns the result of a document that is not read as a separate unit.
    pub(super) fn read_lightly(
        &self,
        job: &Job<'_>,
        unit: &Unit,
        judged: &Judged,
    ) -> Outcome<Kept> {
        let row = self.stage(job, &unit.key, UNIT)?;
        let list = |field: &str| {
            let row = row.as_ref().filter(|_| judged.is_known);
            row.map(|row| crate::commands::ingest::kept::names(&row.output, field))
                .unwrap_or_default()
        };
        Ok(Kept {
            captured: Written {
                wiki: list("wiki"),
                sl: list("sl"),
                xrefs: list("xrefs"),
            },
            commit: None,
            is_partial: false,
            is_known: judged.is_known,
            warnings: Vec::new(),
            proposed: Vec::new(),
        })
    }

    fn stage(&self, job: &Job<'_>, key: &str, stage: &str) -> Outcome<Option<StageRow>> {
        let row = self.keeper.state().stage(&job.source.id, key, stage);
        row.map_err(|error| state_failure(&error))
    }

    fn stages(&self, job: &Job<'_>, stage: &str) -> Outcome<Vec<StageRow>> {
        let rows = self.keeper.state().stages(&job.source.id);
        let mut rows = rows.map_err(|error| state_failure(&error))?;
        rows.retain(|row| row.stage == stage);
        Ok(rows)
    }

    fn put(
        &self,
        job: &Job<'_>,
        key: String,
        stage: &str,
        input: String,
        output: Value,
    ) -> Outcome<()> {
        let row = StageRow {
            table_key: key,
            stage: stage.to_owned(),
            structure_hash: String::new(),
            input_hash: input,
            output,
            updated: self.around.0.now,
        };
        let put = self.keeper.state().put_stage(&job.source.id, &row);
        put.map_err(|error| state_failure(&error))
    }
}

/// Returns the hash of everything that a document is read from.
fn input(job: &Job<'_>, unit: &Unit) -> String {
    let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
    fingerprint(unit, &job.source.snapshot, warehouse)
}

/// Returns the key of the unit that a candidate comes from.
fn unit_of(row: &StageRow) -> &str {
    let key = row.table_key.as_str();
    key.split_once('#').map_or(key, |(unit, _)| unit)
}

pub(super) const fn lane_word(lane: Lane) -> &'static str {
    match lane {
        Lane::Skip => "skip",
        Lane::Light => "light",
        Lane::Full => "full",
    }
}
