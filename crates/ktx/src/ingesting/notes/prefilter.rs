//! Filters notes without content before a model.

use ktx_ingest::{Committed, Note, Origin};
use ktx_memory::{Written, worthless};

use super::Submission;
use crate::report::Outcome;

/// Passes useful notes to `capture`. Returns results in order, up to the first untried note.
pub(super) fn prefiltered(
    submission: &Submission<'_>,
    capture: impl FnOnce(&Submission<'_>) -> Outcome<Vec<Outcome<Committed>>>,
) -> Outcome<Vec<Outcome<Committed>>> {
    let notes = submission.notes;
    let is_useful = |note: &&Note| worthless(&note.text).is_none();
    let useful: Vec<Note> = notes.iter().filter(is_useful).cloned().collect();
    if useful.len() == notes.len() {
        return capture(submission);
    }
    let results = if useful.is_empty() {
        Vec::new()
    } else {
        let runs = notes.iter().zip(submission.runs);
        let runs = runs.filter(|(note, _)| is_useful(note));
        let runs: Vec<_> = runs.map(|(_, run)| run.clone()).collect();
        capture(&Submission {
            notes: &useful,
            connection: submission.connection.clone(),
            user: submission.user.clone(),
            runs: &runs,
            ..*submission
        })?
    };
    let mut results = results.into_iter();
    let all = notes.iter().map_while(|note| {
        if is_useful(&note) {
            results.next()
        } else {
            Some(Ok(nothing()))
        }
    });
    Ok(all.collect())
}

fn nothing() -> Committed {
    Committed {
        written: Written::default(),
        commit: None,
        origin: Origin::ThisRun,
        truncation: None,
        skipped: Vec::new(),
        withheld: Vec::new(),
    }
}

pub(super) fn warning(note: &Note) -> Option<String> {
    let why = worthless(&note.text)?;
    Some(format!(
        "{}; no model was asked, and nothing was written",
        why.reason()
    ))
}
