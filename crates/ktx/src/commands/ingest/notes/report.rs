//! Output about captured notes.

use crate::totals::print_totals;
use ktx_diagnostics::Exit;
use ktx_ingest::{Committed, Note};
use serde_json::{Value, json};

use crate::ingesting::notes::{Submission, is_whole, note_item, note_warnings, status_name};
use crate::invocation::CommandContext;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::run_records::RetryScope;
use crate::tables::Report;

/// Notes after the last result were not tried.
pub(super) fn finish(
    submission: &Submission<'_>,
    retry: Option<&RetryScope>,
    results: &[Outcome<Committed>],
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome {
    let notes = submission.notes;
    if printer.mode == Mode::Json {
        let connection = submission.connection.as_ref().map(|(id, _)| id.as_str());
        let items: Vec<Value> = notes
            .iter()
            .enumerate()
            .map(|(index, note)| note_item(note, invocation.run_id.as_str(), results.get(index)))
            .collect();
        let is_done = results.len() == notes.len() && results.iter().all(is_whole);
        let mut report = json!({
            "status": if is_done { "done" } else { "failed" },
            "projectDir": project.dir.display().to_string(),
            "connectionId": connection,
            "results": items,
        });
        if let (Some(scope), Some(report)) = (retry, report.as_object_mut()) {
            report.insert("retry".to_owned(), scope.report.clone());
        }
        printer.json(&report)?;
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
                status_name(note, done),
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
                for warning in note_warnings(note, done) {
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

fn list(names: &[String]) -> String {
    names.join(", ")
}

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
