//! Curation of the candidates from light readings, in passes with one commit each.

use std::collections::{BTreeMap, BTreeSet};

use ktx_context_sources::Unit;
use ktx_ingest::{
    CURATE_BATCH, CURATE_STEPS, Candidate, CurateRequest, Curated, Decision, Fate, Open, curate,
    marks,
};
use ktx_memory::{TranscriptStore as _, Written};
use ktx_project_store::StageRow;
use ktx_vocabulary::ModelRole;
use serde_json::{Value, json};

use super::{CANDIDATE, unit_of};
use crate::commands::ingest::kept::Kept;
use crate::commands::ingest::sources::Loop;
use crate::commands::ingest::sources::trouble::{failure, stops};
use crate::commands::ingest::sources::work::{Job, Work, cut, piece, turns};
use crate::commands::ingest::transcripts::TranscriptFile;
use crate::report::Outcome;
use crate::scanning::state_failure;

/// Maximum number of curation passes in one run.
const PASSES: usize = 8;

pub(in crate::commands::ingest) struct Curation {
    pub(in crate::commands::ingest) passes: Vec<Loop>,
    pub(in crate::commands::ingest) decisions: BTreeMap<String, Decision>,
    pub(in crate::commands::ingest) open: usize,
}

/// A stored candidate.
struct Remembered {
    row: StageRow,
    open: Open,
    unit: String,
}

impl Work<'_> {
    /// Lets a model decide about the candidates, in passes with one commit each.
    pub(in crate::commands::ingest::sources) async fn curation(
        &mut self,
        job: &mut Job<'_>,
    ) -> Outcome<Option<Curation>> {
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
        let (_, opened, printer) = self.around;
        // Passes have one transcript: what is open after a cut is the next run's first pass.
        let transcript = TranscriptFile::of(&job.source.id, "curation", &place, opened, printer)?;
        let base = self.keeper.begin()?;
        let warehouse = job.run.warehouse.as_ref().map(|(id, _)| id);
        let files = self.keeper.files(&base, warehouse)?;
        let open: Vec<Open> = batch.iter().map(|entry| entry.open.clone()).collect();
        let request = CurateRequest {
            open: &open,
            snapshot: &job.source.snapshot,
            files: files.clone(),
            quota: job.quota.unwrap_or_default(),
            on_step: Some(job.progress.curation(place, number)),
            kept: Some(transcript.kept_loop(ModelRole::Curator, &job.run.runtime, opened)),
        };
        let Curated { worked, decisions } = curate(&job.run, request).await.map_err(failure)?;
        let landing = self.landing(job, ("curation", &files), &base, &worked)?;
        self.journal(&job.source.id)
            .written(&format!("curation-{number}"), &landing.made)?;
        job.wrote(worked.used);
        let title = format!("ktx ingest: {} candidates of documents", job.source.id);
        let decided = self.decided(job, batch, &decisions)?;
        let mut lines: Vec<String> = decided.iter().map(|unit| piece(job, unit).mark()).collect();
        lines.extend(marks(&job.source.id, &landing.made.changes));
        let kept = self.keeper.keep_once(
            &base,
            &landing.made,
            cut(&worked, CURATE_STEPS),
            &title,
            &lines,
        )?;
        let kept = Kept {
            proposed: landing.kept_back,
            ..kept
        };
        self.note_decisions(job, batch, (&decisions, &decided), &kept)?;
        transcript.clear();
        Ok((kept, decisions))
    }

    /// Returns the documents whose candidates are all decided after this pass.
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

    /// Remembers the decisions, and what was written for which document.
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
                let is_kept_back = kept.proposed.contains(&format!("wiki/global/{page}.md"));
                let made = Kept {
                    captured: Written {
                        wiki: if is_kept_back {
                            Vec::new()
                        } else {
                            vec![page.clone()]
                        },
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

    /// Returns the undecided candidates: grouped by subject, the best first.
    fn open(&self, job: &Job<'_>) -> Outcome<Vec<Remembered>> {
        let rows = self.stages(job, CANDIDATE)?;
        let mut open: Vec<Remembered> = rows.into_iter().filter_map(remembered).collect();
        // After an interruption that followed a commit, the commit lists the finished documents.
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
