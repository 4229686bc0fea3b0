//! Output about captured notes, as text and as JSON.

use crate::totals::print_totals;
use ktx_diagnostics::Exit;
use ktx_ingest::{Committed, Note};
use serde_json::{Value, json};

use crate::cli::IngestArgs;
use crate::ingesting::notes::{is_whole, note_warnings};
use crate::invocation::CommandContext;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::Report;

/// Notes after the last result were not tried.
pub(super) fn finish(
    args: &IngestArgs,
    notes: &[Note],
    results: &[Outcome<Committed>],
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome {
    if printer.mode == Mode::Json {
        let items: Vec<Value> = notes
            .iter()
            .enumerate()
            .map(|(index, note)| item(note, invocation.run_id.as_str(), results.get(index)))
            .collect();
        let is_done = results.len() == notes.len() && results.iter().all(is_whole);
        printer.json(&json!({
            "status": if is_done { "done" } else { "failed" },
            "projectDir": project.dir.display().to_string(),
            "connectionId": args.note_connection,
            "results": items,
        }))?;
    } else {
        table(notes, results, printer)?;
        print_totals(invocation, project, printer);
    }
    Ok(exit(results))
}

fn table(notes: &[Note], results: &[Outcome<Committed>], printer: &Printer) -> Outcome<()> {
    let mut table = Report::new(["Note", "Status", "Pages", "Sources", "Commit"]);
    for (index, note) in notes.iter().enumerate() {
        let label = note.subject();
        match results.get(index) {
            Some(Ok(done)) => table.row([
                &label,
                status(done),
                &list(&done.written.wiki),
                &list(&done.written.sl),
                done.commit.as_deref().unwrap_or("nothing to keep"),
            ]),
            Some(Err(_)) => table.row([&label, "failed", "", "", ""]),
            None => table.row([&label, "not-run", "", "", ""]),
        }
    }
    table.print(printer)?;
    for (note, result) in notes.iter().zip(results) {
        match result {
            Ok(done) => {
                for warning in note_warnings(done) {
                    printer.note(&format!("warning: {}: {warning}", note.subject()));
                }
            }
            Err(failure) => printer.notes(failure.to_text().trim_end()),
        }
    }
    if results.len() < notes.len() || !results.iter().all(is_whole) {
        printer
            .note("hint: run the same command again; ktx keeps captured notes and does not ask for them again");
    }
    Ok(())
}

const fn status(committed: &Committed) -> &'static str {
    if committed.truncation.is_some() {
        "partial"
    } else {
        "done"
    }
}

fn list(names: &[String]) -> String {
    names.join(", ")
}

fn item(note: &Note, run: &str, result: Option<&Outcome<Committed>>) -> Value {
    let (status, done, error) = match result {
        Some(Ok(done)) => (status(done), Some(done), None),
        Some(Err(failure)) => ("error", None, Some(failure)),
        None => ("not-run", None, None),
    };
    let captured = done.map(|done| done.written.clone()).unwrap_or_default();
    json!({
        "label": note.label,
        "runId": run,
        "status": status,
        "captured": { "wiki": captured.wiki, "sl": captured.sl, "xrefs": captured.xrefs },
        "commitHash": done.and_then(|done| done.commit.as_deref()),
        "error": error.map(|failure| failure.message.as_str()),
        "errorCode": error.map(|failure| failure.code.as_str()),
        "hints": error.map(|failure| failure.hints.as_slice()).unwrap_or_default(),
        "warnings": done.map(note_warnings).unwrap_or_default(),
    })
}

/// The exit code of the failure, if nothing was captured.
fn exit(results: &[Outcome<Committed>]) -> Exit {
    let failures: Vec<Exit> = results
        .iter()
        .filter_map(|result| Some(result.as_ref().err()?.exit))
        .collect();
    let Some(first) = failures.first().copied() else {
        let is_done = results.iter().all(is_whole);
        return if is_done {
            Exit::Success
        } else {
            Exit::Partial
        };
    };
    if failures.contains(&Exit::Interrupted) {
        return Exit::Interrupted;
    }
    if results.iter().any(Result::is_ok) {
        Exit::Partial
    } else {
        first
    }
}
