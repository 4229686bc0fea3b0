//! Asks a model about the things that the ledger does not decide, in one call for several.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ktx_llm_runtime::{LlmError, LlmErrorKind, ObjectRequest, generate_typed};
use ktx_memory::{fenced, one_line};
use ktx_secrets::Redactor;
use ktx_tool_descriptors::object_schema_for;
use ktx_vocabulary::ModelRole;
use schemars::JsonSchema;
use serde::Deserialize;

use super::decide::{Scene, Undecided};
use crate::error::IngestError;

const SYSTEM: &str = include_str!("../../prompts/verdicts.system.md");

/// Things of one call.
pub(super) const BATCH: usize = 12;

/// Characters of all files that are shown in one call.
const FILES: usize = 60_000;

/// What is to become of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AskedVerdict {
    /// It stays as it is.
    Keep,
    /// Some of its numbered lines go.
    Rewrite,
    /// It goes.
    Remove,
}

/// A numbered line that does not stay as it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangedLine {
    /// Its number.
    pub(super) line: usize,
    /// What it says without the files that are gone; nothing if the line goes.
    #[serde(default)]
    pub(super) text: Option<String>,
}

/// The verdict about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ThingAnswer {
    /// Its number.
    pub(super) thing: usize,
    /// What is to become of it.
    pub(super) verdict: AskedVerdict,
    /// Why, in a sentence.
    pub(super) reason: String,
    /// The lines that change, for `rewrite` only.
    #[serde(default)]
    pub(super) lines: Vec<ChangedLine>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerdictAnswers {
    verdicts: Vec<ThingAnswer>,
}

/// Returns the valid answers by the place of their thing in the batch.
pub(super) async fn ask(
    scene: &Scene<'_>,
    batch: &[Undecided],
) -> Result<BTreeMap<usize, ThingAnswer>, IngestError> {
    let schema = object_schema_for::<VerdictAnswers>().map_err(|error| {
        IngestError::Model(LlmError::new(LlmErrorKind::Internal, error.to_string()))
    })?;
    let context = &scene.run.context;
    let request = ObjectRequest {
        role: ModelRole::Reconcile,
        system: SYSTEM.to_owned(),
        prompt: prompt(scene, batch),
        schema,
        cancel: context.cancel.clone(),
        label: context.label("verdicts", None),
    };
    let answer = generate_typed::<VerdictAnswers>(context.runtime.as_ref(), request).await;
    let (answer, _) = answer.map_err(IngestError::Model)?;
    let mut answers = BTreeMap::new();
    for answer in answer.verdicts {
        let index = answer.thing.checked_sub(1);
        if let Some((index, about)) = index.and_then(|index| Some((index, batch.get(index)?)))
            && is_valid(&answer, about)
        {
            answers.entry(index).or_insert(answer);
        }
    }
    Ok(answers)
}

/// Only lines that may come from the files that are gone may change.
fn is_valid(answer: &ThingAnswer, about: &Undecided) -> bool {
    if answer.verdict != AskedVerdict::Rewrite {
        return answer.lines.is_empty();
    }
    let mut lines = answer.lines.iter();
    let is_theirs = |changed: &ChangedLine| {
        let text = changed.text.as_deref().unwrap_or_default();
        about.suspects.contains(&changed.line) && text.lines().count() < 2
    };
    !answer.lines.is_empty() && lines.all(is_theirs)
}

fn prompt(scene: &Scene<'_>, batch: &[Undecided]) -> String {
    let gone: BTreeSet<&String> = batch.iter().flat_map(|about| &about.gone).collect();
    let gone: Vec<String> = gone.into_iter().map(|path| one_line(path)).collect();
    let mut text = format!(
        "Verdicts for the source {}. Files that are gone: {}.\n",
        scene.run.source.id,
        gone.join(", ")
    );
    let redactor = Redactor::new();
    for (index, about) in batch.iter().enumerate() {
        let owners: Vec<String> = about
            .owners
            .iter()
            .map(|owner| format!("{} of {}", one_line(&owner.unit), owner.source))
            .collect();
        let _ = writeln!(
            text,
            "\nThing {}: {}. Also written from: {}.",
            index + 1,
            one_line(&about.thing.to_string()),
            if owners.is_empty() {
                "no other unit".to_owned()
            } else {
                owners.join(", ")
            }
        );
        let said = redactor.redact(&numbered(scene, about));
        text.push_str(&fenced("Its lines", &said));
    }
    files(&mut text, scene, batch, &redactor);
    text
}

fn numbered(scene: &Scene<'_>, about: &Undecided) -> String {
    let said = scene.part_text(about);
    let lines = said.lines().zip(about.lines.clone());
    let lines = lines.map(|(line, number)| {
        if about.suspects.contains(&number) {
            format!("{number:>4} | {line}")
        } else {
            format!("     | {line}")
        }
    });
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}

fn files(text: &mut String, scene: &Scene<'_>, batch: &[Undecided], redactor: &Redactor) {
    let own = batch.iter().flat_map(|about| &about.owners);
    let own = own.filter(|owner| owner.source == scene.run.source.id);
    let paths: BTreeSet<&String> = own.flat_map(|owner| &owner.files).collect();
    let mut room = FILES;
    for path in paths {
        let Some(said) = scene.run.source.snapshot.files.get(path) else {
            continue;
        };
        let said = redactor.redact(said);
        let length = said.chars().count();
        if length > room {
            let _ = writeln!(
                text,
                "\nThe file {} is there; it is too long to be shown.",
                one_line(path)
            );
            continue;
        }
        room -= length;
        let _ = write!(
            text,
            "\n{}",
            fenced(
                &format!("The file {}, which is there", one_line(path)),
                &said
            )
        );
    }
}
