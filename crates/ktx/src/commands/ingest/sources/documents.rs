//! Documents: sorted before they are read, and what becomes of the candidates that are found on them.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt as _;
use ktx_context_sources::Unit;
use ktx_ingest::{
    CURATE_BATCH, CURATE_STEPS, Candidate, CurateRequest, Curated, Decision, Fate, Found,
    IngestError, Lane, Open, Verdict, curate, fingerprint, light, triage,
};
use ktx_llm_runtime::LlmErrorKind;
use ktx_memory::Written;
use ktx_project_store::StageRow;
use serde_json::{Value, json};

use super::journal::UNIT;
use super::work::{Job, Work, cut, failure, piece, turns};
use super::{Loop, stops};
use crate::commands::ingest::kept::Kept;
use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::scanning::state_failure;

/// The stage of what the triage says about a document.
const LANE: &str = "document-lane";

/// The stage of a candidate that was found on a document.
const CANDIDATE: &str = "document-candidate";

/// Documents that are judged at the same time.
const AT_ONCE: usize = 2;

/// So many failures one after another are not the documents' fault.
const ENOUGH: usize = 5;

/// Passes of the curation in one run.
const PASSES: usize = 8;

/// What the triage says about a document, and what was found on it.
#[derive(Debug, Clone)]
pub(in crate::commands::ingest) struct Judged {
    pub(in crate::commands::ingest) verdict: Verdict,
    /// Candidates that were found in a light reading.
    pub(in crate::commands::ingest) candidates: usize,
    /// Whether an earlier run has judged it.
    pub(in crate::commands::ingest) is_known: bool,
}

impl Judged {
    pub(super) fn is_full(&self) -> bool {
        self.verdict.lane == Lane::Full
    }
}

/// What the triage says about documents, by the key of their unit.
pub(super) type Judgements = BTreeMap<String, Outcome<Judged>>;

/// What became of the candidates that were found.
pub(in crate::commands::ingest) struct Curation {
    pub(in crate::commands::ingest) passes: Vec<Loop>,
    /// By the names of the candidates.
    pub(in crate::commands::ingest) decisions: BTreeMap<String, Decision>,
    /// Candidates about which nobody has decided.
    pub(in crate::commands::ingest) open: usize,
}

/// A candidate as it is remembered.
struct Remembered {
    row: StageRow,
    open: Open,
    unit: String,
}

impl Work<'_> {
    /// Sorts the documents of a source that are new or have changed. What is judged is remembered at once.
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
        let mut judging = futures_util::stream::iter(left)
            .map(|unit| async move { (unit, judgement(job, unit).await) })
            .buffered(AT_ONCE);
        let (mut done, mut in_a_row) = (0, 0);
        while let Some((unit, result)) = judging.next().await {
            done += 1;
            let result = match result {
                Ok((verdict, found)) => self.remember(job, unit, verdict, found),
                Err(failure) => Err(failure),
            };
            if let Ok(judged) = &result {
                job.progress.line(&format!(
                    "[{done}/{count}] {} · triage · {} · {}",
                    job.source.id,
                    unit.label.as_deref().unwrap_or(&unit.key),
                    lane_word(judged.verdict.lane)
                ));
            }
            in_a_row = if result.is_err() { in_a_row + 1 } else { 0 };
            let is_over = result.as_ref().is_err_and(stops) || in_a_row == ENOUGH;
            judged.insert(unit.key.clone(), result);
            if is_over {
                break;
            }
        }
        Ok(judged)
    }

    /// What an earlier run says about a document that has not changed.
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
            // In a clone nothing is known of lanes, but what was made is.
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

    /// Remembers candidates before the lane: who is killed in between judges again.
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
        Ok(Judged {
            verdict,
            candidates,
            is_known: false,
        })
    }

    /// Candidates of documents that have changed or are gone are not asked about.
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

    /// What became of a document that is not read as a unit of its own.
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
        })
    }

    /// Lets a model decide about the candidates, in passes; each is a commit of its own.
    pub(super) async fn curation(&mut self, job: &mut Job<'_>) -> Outcome<Option<Curation>> {
        if job.source.documents.is_none() {
            return Ok(None);
        }
        let mut open = self.open(job)?;
        if open.is_empty() {
            return Ok(None);
        }
        let mut done = Curation {
            passes: Vec::new(),
            decisions: BTreeMap::new(),
            open: open.len(),
        };
        while !open.is_empty() && done.passes.len() < PASSES && job.has_room() {
            let batch: Vec<Remembered> = open.drain(..open.len().min(CURATE_BATCH)).collect();
            let number = done.passes.len() + 1;
            let result = self.pass(job, &batch, number).await;
            let (kept, decisions) = match result {
                Ok((kept, decisions)) => (Ok(kept), decisions),
                Err(failure) => (Err(failure), BTreeMap::new()),
            };
            let is_over = kept.as_ref().is_err_and(stops);
            done.open -= decisions.len();
            done.decisions.extend(decisions);
            done.passes.push(Loop {
                steps: turns(job.progress.taken()),
                kept,
            });
            if is_over {
                break;
            }
        }
        Ok(Some(done))
    }

    async fn pass(
        &mut self,
        job: &mut Job<'_>,
        batch: &[Remembered],
        number: usize,
    ) -> Outcome<(Kept, BTreeMap<String, Decision>)> {
        self.require_usable().await?;
        let place = format!("{} · curation, pass {number}", job.source.id);
        job.progress.line(&place);
        let base = self.keeper.begin()?;
        let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
        let open: Vec<Open> = batch.iter().map(|entry| entry.open.clone()).collect();
        let request = CurateRequest {
            open: &open,
            snapshot: &job.source.snapshot,
            files: self.keeper.files(&base, warehouse)?,
            quota: job.quota.unwrap_or_default(),
            on_step: Some(job.progress.curation(place, number)),
        };
        let Curated { worked, decisions } = curate(&job.run, request).await.map_err(failure)?;
        self.journal(&job.source.id)
            .written(&format!("curation-{number}"), &worked.made)?;
        job.wrote(worked.used);
        let title = format!("ktx ingest: {} candidates of documents", job.source.id);
        let decided = self.decided(job, batch, &decisions)?;
        let marks: Vec<String> = decided.iter().map(|unit| piece(job, unit).mark()).collect();
        let kept = self.keeper.keep_once(
            &base,
            &worked.made,
            cut(&worked, CURATE_STEPS),
            &title,
            &marks,
        )?;
        self.note_decisions(job, batch, (&decisions, &decided), &kept)?;
        Ok((kept, decisions))
    }

    /// The documents whose candidates are all decided with this pass.
    fn decided<'j>(
        &self,
        job: &Job<'j>,
        batch: &[Remembered],
        decisions: &BTreeMap<String, Decision>,
    ) -> Outcome<Vec<&'j Unit>> {
        let rows = self.stages(job, CANDIDATE)?;
        let is_open = |row: &StageRow, unit: &str| {
            let is_of = unit_of(row) == unit;
            let is_new = decisions.contains_key(&row.table_key);
            is_of && !is_new && row.output.get("decision").is_none_or(Value::is_null)
        };
        let units: BTreeSet<&str> = batch.iter().map(|entry| entry.unit.as_str()).collect();
        let units = job
            .source
            .units
            .iter()
            .filter(|unit| units.contains(unit.key.as_str()));
        let decided = units.filter(|unit| !rows.iter().any(|row| is_open(row, &unit.key)));
        Ok(decided.collect())
    }

    /// Remembers what was decided, and what was written for which document.
    fn note_decisions(
        &self,
        job: &Job<'_>,
        batch: &[Remembered],
        (decisions, decided): (&BTreeMap<String, Decision>, &[&Unit]),
        kept: &Kept,
    ) -> Outcome<()> {
        for entry in batch {
            let Some(decision) = decisions.get(&entry.open.id) else {
                continue;
            };
            if let Some(page) = decision
                .page
                .as_ref()
                .filter(|_| decision.fate != Fate::Merged)
                && let Some(unit) = job.source.units.iter().find(|unit| unit.key == entry.unit)
            {
                let made = Kept {
                    captured: Written {
                        wiki: vec![page.clone()],
                        ..Written::default()
                    },
                    is_partial: !decided.iter().any(|other| other.key == unit.key),
                    ..kept.clone()
                };
                self.keeper.remember_part(&piece(job, unit), &made)?;
            }
            let mut row = entry.row.clone();
            if let Some(output) = row.output.as_object_mut() {
                output.insert("decision".to_owned(), json!(decision));
            }
            let put = self.keeper.state().put_stage(&job.source.id, &row);
            put.map_err(|error| state_failure(&error))?;
        }
        Ok(())
    }

    /// The candidates about which nobody has decided: those about one thing together, the best first.
    fn open(&self, job: &Job<'_>) -> Outcome<Vec<Remembered>> {
        let rows = self.stages(job, CANDIDATE)?;
        let mut open: Vec<Remembered> = rows.into_iter().filter_map(remembered).collect();
        // Who was killed behind a commit finds there which documents are done.
        let units: BTreeSet<String> = open.iter().map(|entry| entry.unit.clone()).collect();
        for unit in &job.source.units {
            if units.contains(&unit.key) && self.keeper.known(&piece(job, unit))?.is_some() {
                open.retain(|entry| entry.unit != unit.key);
            }
        }
        let mut best: BTreeMap<String, i32> = BTreeMap::new();
        for entry in &open {
            let score = entry.open.candidate.score();
            let known = best
                .entry(entry.open.candidate.key.clone())
                .or_insert(score);
            *known = score.max(*known);
        }
        open.sort_by_key(|entry| {
            let key = entry.open.candidate.key.clone();
            let score = best.get(&key).copied().unwrap_or_default();
            (std::cmp::Reverse(score), key, entry.open.id.clone())
        });
        Ok(open)
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

/// One document: its lane, and its candidates when it is read lightly.
async fn judgement(job: &Job<'_>, unit: &Unit) -> Result<(Verdict, Found), Failure> {
    let snapshot = &job.source.snapshot;
    let verdict = triage(&job.run, unit, snapshot).await.map_err(about_one)?;
    let found = match verdict.lane {
        Lane::Light => light(&job.run, unit, snapshot).await.map_err(about_one)?,
        Lane::Skip | Lane::Full => Found::default(),
    };
    Ok((verdict, found))
}

/// The hash of everything that a document is read from.
fn input(job: &Job<'_>, unit: &Unit) -> String {
    let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
    fingerprint(unit, &job.source.snapshot, warehouse)
}

/// An answer that cannot be used is a failure of its document alone.
fn about_one(error: IngestError) -> Failure {
    let is_about_one = matches!(
        &error,
        IngestError::Model(error) if matches!(
            error.kind,
            LlmErrorKind::StructuredOutput
                | LlmErrorKind::Refusal
                | LlmErrorKind::MaxOutput
                | LlmErrorKind::ContextTooLong
        )
    );
    let mut failure = failure(error);
    if is_about_one {
        failure.exit = Exit::Failure;
    }
    failure
}

/// The key of the unit that a candidate comes from.
fn unit_of(row: &StageRow) -> &str {
    let key = row.table_key.as_str();
    key.split_once('#').map_or(key, |(unit, _)| unit)
}

fn remembered(row: StageRow) -> Option<Remembered> {
    if !row.output.get("decision")?.is_null() {
        return None;
    }
    let candidate: Candidate = serde_json::from_value(row.output.get("candidate")?.clone()).ok()?;
    let text = |field: &str| Some(row.output.get(field)?.as_str()?.to_owned());
    Some(Remembered {
        open: Open {
            id: row.table_key.clone(),
            candidate,
            words: text("words")?,
            file: text("file")?,
        },
        unit: unit_of(&row).to_owned(),
        row,
    })
}

/// The name of a lane.
pub(super) const fn lane_word(lane: Lane) -> &'static str {
    match lane {
        Lane::Skip => "skip",
        Lane::Light => "light",
        Lane::Full => "full",
    }
}
