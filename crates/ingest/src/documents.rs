//! Documents: decides how each one is read, and finds the few lasting statements in those that are
//! read lightly.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use ktx_context_sources::{Snapshot, Unit};
use ktx_llm_runtime::{LlmError, LlmErrorKind, ObjectRequest, generate_typed};
use ktx_memory::{fenced, one_line};
use ktx_secrets::Redactor;
use ktx_tool_descriptors::object_schema_for;
use ktx_vocabulary::ModelRole;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::IngestError;
use crate::unit::LoopContext;

const TRIAGE: &str = include_str!("prompts/triage.system.md");

const LIGHT: &str = include_str!("prompts/light.system.md");

/// Characters of a document that the triage sees.
const BEGIN: usize = 6000;

/// Maximum headings after that which the triage sees.
const HEADINGS: usize = 40;

const SECTION: usize = 4800;

const CANDIDATES: usize = 5;

/// Candidates with a lower score are not shown to the curator.
const WORTH: i32 = 3;

/// How a document is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// Not at all.
    Skip,
    /// For a few statements.
    Light,
    /// As a unit of its own.
    Full,
}

impl Lane {
    pub(crate) fn is_full(self) -> bool {
        self == Self::Full
    }
}

/// What the triage says about a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// How it is read on.
    pub lane: Lane,
    /// Why, in a sentence.
    pub reason: String,
}

/// What is to be done with the page that a candidate belongs to, as far as its finder can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    /// A new page.
    Create,
    /// A changed page.
    Update,
    /// One statement is added to a page.
    Merge,
    /// It contradicts a page.
    Conflict,
}

/// A statement that may be worth keeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candidate {
    /// A short name for what it is about.
    pub(crate) key: String,
    /// What it is about.
    pub(crate) topic: String,
    /// The statement.
    pub(crate) assertion: String,
    /// Who needs it, and what for.
    pub(crate) rationale: String,
    /// The numbers of the sections that say it.
    pub(crate) sections: Vec<usize>,
    /// The wiki page where it would belong.
    pub(crate) page: Option<String>,
    /// What is to be done there.
    pub(crate) action: Action,
    /// How long it holds, 0 to 3.
    pub(crate) durability: u8,
    /// How much its place is the rule itself, 0 to 3.
    pub(crate) authority: u8,
    /// How often it is needed, 0 to 3.
    pub(crate) reuse: u8,
    /// How little it is known, 0 to 3.
    pub(crate) novelty: u8,
    /// What it costs when it is wrong, 0 to 3.
    pub(crate) risk: u8,
}

impl Candidate {
    /// Returns how much the candidate is worth a page: -3 to 12.
    pub(crate) fn score(&self) -> i32 {
        let sum = [self.durability, self.authority, self.reuse, self.novelty];
        let worth = |score: u8| i32::from(score.min(3));
        sum.into_iter().map(worth).sum::<i32>() - worth(self.risk)
    }
}

/// The result of a light reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LightReading {
    /// The candidates that are worth a curator's turn, each with the text of its sections.
    pub(crate) candidates: Vec<(Candidate, String)>,
    /// The number of candidates dropped for lack of support or a low score.
    pub(crate) dropped: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    candidates: Vec<Candidate>,
}

/// Lets a model decide how a document is read (role `triage`). The model sees the beginning of the
/// document and the headings of the rest.
///
/// # Errors
///
/// [`IngestError`]; no decision was made.
pub(crate) async fn triage(
    run: &LoopContext,
    unit: &Unit,
    snapshot: &Arc<Snapshot>,
) -> Result<Verdict, IngestError> {
    let text = text_of(unit, snapshot);
    let begin: String = text.chars().take(BEGIN).collect();
    let mut prompt = format!(
        "Triage of {} of the source {}, a page with {} characters.\n\n{}",
        one_line(&unit.key),
        run.source,
        text.chars().count(),
        fenced("Its beginning", &begin)
    );
    let rest = text.get(begin.len()..).unwrap_or_default();
    let headings: Vec<&str> = rest.lines().filter(|line| line.starts_with('#')).collect();
    if !headings.is_empty() {
        let shown: Vec<&str> = headings.iter().take(HEADINGS).copied().collect();
        let what = format!("The first of {} headings after it", headings.len());
        let _ = write!(prompt, "\n{}", fenced(&what, &shown.join("\n")));
    }
    let verdict: Verdict = generate(run, "triage", unit, TRIAGE, prompt).await?;
    Ok(Verdict {
        lane: verdict.lane,
        reason: one_line(&verdict.reason),
    })
}

/// Lets a model find the few lasting statements of a document (role `triage`).
///
/// # Errors
///
/// [`IngestError`]; no statement was found.
pub(crate) async fn light(
    run: &LoopContext,
    unit: &Unit,
    snapshot: &Arc<Snapshot>,
) -> Result<LightReading, IngestError> {
    let text = text_of(unit, snapshot);
    let sections = sections(&text);
    let mut prompt = format!(
        "Light reading of {} of the source {}.\n",
        one_line(&unit.key),
        run.source
    );
    for (index, section) in sections.iter().enumerate() {
        let _ = write!(
            prompt,
            "\n{}",
            fenced(&format!("Section {}", index + 1), section)
        );
    }
    let answer: Answer = generate(run, "light", unit, LIGHT, prompt).await?;
    Ok(supported(answer.candidates, &sections))
}

/// Keeps the candidates that cite existing sections and score high enough.
fn supported(all: Vec<Candidate>, sections: &[&str]) -> LightReading {
    let count = all.len();
    let mut found = LightReading::default();
    let mut keys = BTreeSet::new();
    for mut candidate in all.into_iter().take(CANDIDATES) {
        candidate
            .sections
            .retain(|number| (1..=sections.len()).contains(number));
        candidate.sections.sort_unstable();
        candidate.sections.dedup();
        let words: Vec<&str> = candidate
            .sections
            .iter()
            .filter_map(|number| sections.get(number - 1).copied())
            .collect();
        let is_said = !candidate.assertion.trim().is_empty() && !words.is_empty();
        if is_said && candidate.score() >= WORTH && keys.insert(candidate.key.clone()) {
            let words = words.join("\n\n");
            found.candidates.push((candidate, words));
        }
    }
    found.dropped = count - found.candidates.len();
    found
}

async fn generate<T: JsonSchema + DeserializeOwned>(
    run: &LoopContext,
    stage: &str,
    unit: &Unit,
    system: &str,
    prompt: String,
) -> Result<T, IngestError> {
    let schema = object_schema_for::<T>().map_err(|error| {
        IngestError::Model(LlmError::new(LlmErrorKind::Internal, error.to_string()))
    })?;
    let request = ObjectRequest {
        role: ModelRole::Triage,
        system: system.to_owned(),
        prompt,
        schema,
        cancel: run.cancel.clone(),
        label: run.label(stage, Some(&unit.key)),
    };
    let answer = generate_typed::<T>(run.runtime.as_ref(), request).await;
    let (answer, _) = answer.map_err(IngestError::Model)?;
    Ok(answer)
}

/// Returns the text with secrets redacted. Redaction comes before any cut, because part of a secret
/// would not be recognized.
fn text_of(unit: &Unit, snapshot: &Snapshot) -> String {
    let files = unit
        .files
        .iter()
        .filter_map(|path| snapshot.files.get(path));
    let texts: Vec<&str> = files.map(String::as_str).collect();
    Redactor::new().redact(&texts.join("\n"))
}

/// Splits a document into sections at headings, and long sections between lines.
fn sections(text: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let length = text.get(begin..at).map_or(0, |part| part.chars().count());
        let is_full = length + line.chars().count() > SECTION;
        if at > begin && (line.starts_with('#') || is_full) {
            sections.extend(text.get(begin..at));
            begin = at;
        }
        at += line.len();
    }
    sections.extend(text.get(begin..));
    sections.retain(|section| !section.trim().is_empty());
    sections
}

#[cfg(test)]
mod tests;
