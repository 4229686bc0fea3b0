//! The output of `ktx ingest`.

use ktx_diagnostics::Exit;
use ktx_ingest::Plan;
use ktx_scan::wire::StageOutcome;
use serde_json::{Value, json};

use super::{IngestResults, Work, exit, is_interrupted, nothing_done, sources};
use crate::ingesting::{
    ASK_AGAIN, COMMAND, Results, failures, going_on, pause_exit, pause_text, undescribed,
};
use crate::invocation::CommandContext;
use crate::invocation::OpenProject;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::scanning::history;
use crate::scanning::{ScanResult, paused};
use crate::skipped_files::{add_left_alone, left_alone};
use crate::tables::Report;
use crate::totals::print_totals;

/// Only in runs with past queries.
const HISTORY: &str = "Query history";

pub(super) fn finish(done: &IngestResults, work: Work<'_>, context: CommandContext<'_>) -> Outcome {
    let CommandContext {
        invocation,
        project,
        printer,
    } = context;
    let results = &done.warehouses;
    let failure = nothing_done(done, &project.dir).map(failures::as_command);
    // With several connections, each reports its own result.
    let is_single = results.len() + done.sources.len() + done.left.len() < 2;
    if let Some(failure) = failure.clone().filter(|_| is_single) {
        return Err(going_on(failure));
    }
    let paused = paused(results).cloned();
    let left = undescribed(results);
    if printer.mode == Mode::Json {
        let mut report = envelope(done, work.plan, project);
        if let (Some(scope), Some(report)) = (work.retry, report.as_object_mut()) {
            report.insert("retry".to_owned(), scope.report.clone());
        }
        printer.json(&report)?;
    } else {
        if !results.is_empty() {
            print(results, printer)?;
        }
        if !done.sources.is_empty() {
            sources::print(&done.sources, project, printer)?;
        }
        for id in &done.left {
            printer.note(&format!("`{id}` was not tried"));
        }
        if !done.has_model && !results.is_empty() {
            printer.note(
                "tables were not described, which needs a model (`llm.provider.backend` is `none`)",
            );
        }
        print_totals(invocation, project, printer);
        if let Some(paused) = &paused {
            printer.notes(pause_text(paused).trim_end());
        } else if left {
            printer.note(ASK_AGAIN);
        }
    }
    if let Some(failure) = failure {
        return Ok(failure.exit);
    }
    Ok(match paused {
        _ if is_interrupted(done) => Exit::Interrupted,
        Some(paused) => pause_exit(&paused),
        None => exit(done, &project.dir),
    })
}

fn print(results: &Results, printer: &Printer) -> Outcome<()> {
    let mut table = Report::new(["Source", "Database schema", HISTORY, "Descriptions"]);
    let mut reads_history = false;
    for (id, result) in results {
        let (schema, history, descriptions) = match result {
            Ok(scanned) => {
                let outcome = &scanned.outcome;
                let descriptions = match outcome.paused {
                    Some(_) => "paused",
                    None => stage(outcome.report.enrichment.table_descriptions),
                };
                ("done", history::status(&outcome.history), descriptions)
            }
            Err(_) => ("failed", None, "not-run"),
        };
        reads_history |= history.is_some();
        table.row([
            id.as_str(),
            schema,
            history.unwrap_or_default(),
            descriptions,
        ]);
    }
    if !reads_history {
        table = table.without(HISTORY);
    }
    table.print(printer)?;
    for (id, result) in results {
        match result {
            Ok(ScanResult {
                published: Some(published),
                outcome,
                ..
            }) => {
                for warning in &outcome.report.warnings {
                    printer.note(&format!("warning: {}", warning.message));
                }
                for skipped in &published.skipped {
                    printer.note(&left_alone(skipped, COMMAND));
                }
                match &published.commit {
                    Some(commit) => printer.line(&format!("{id}: commit {commit}"))?,
                    None => printer.line(&format!("{id}: nothing changed"))?,
                }
            }
            Ok(_) => {}
            Err(failure) => printer.notes(failure.to_text().trim_end()),
        }
    }
    Ok(())
}

const fn stage(outcome: StageOutcome) -> &'static str {
    match outcome {
        StageOutcome::Skipped => "skipped",
        StageOutcome::Completed => "done",
        StageOutcome::Failed => "failed",
    }
}

/// The format of KTX 0.12 with additional facts.
fn envelope(done: &IngestResults, plan: &Plan<'_>, project: &OpenProject) -> Value {
    let results = &done.warehouses;
    let mut targets: Vec<Value> = results
        .iter()
        .map(|(id, result)| {
            let mut steps = vec!["database-schema"];
            let read = result.as_ref().ok().map(|scanned| &scanned.outcome.history);
            if read.is_some_and(|read| history::status(read).is_some()) {
                steps.push("query-history");
            }
            let driver = project
                .config
                .connection(id.as_str())
                .map(|found| found.driver.as_str());
            json!({
                "connectionId": id.as_str(),
                "driver": driver,
                "operation": "database-ingest",
                "debugCommand": format!("ktx ingest {id} --debug"),
                "steps": steps,
                "detectRelationships": project.config.scan.relationships.enabled,
            })
        })
        .collect();
    let ids: Vec<_> = plan.sources.iter().map(|source| &source.id).collect();
    targets.extend(sources::targets(&ids, project));
    let mut items: Vec<Value> = results
        .iter()
        .map(|(id, result)| match result {
            Ok(scanned) => done_item(id.as_str(), scanned),
            Err(failure) => json!({
                "connectionId": id.as_str(),
                "driver": null,
                "steps": [{
                    "operation": "database-schema",
                    "status": "failed",
                    "detail": failure.message,
                    "debugCommand": format!("ktx ingest {id} --debug"),
                }],
            }),
        })
        .collect();
    items.extend(done.left.iter().map(|id| {
        json!({
            "connectionId": id.as_str(),
            "driver": null,
            "steps": [{ "operation": "database-schema", "status": "not-run" }],
        })
    }));
    items.extend(sources::items(&done.sources, project));
    json!({
        "plan": {
            "projectDir": project.dir.display().to_string(),
            "targets": targets,
            "warnings": [],
        },
        "results": items,
    })
}

/// `paused` if the model stopped, `skipped` if a file stayed unchanged.
fn done_item(id: &str, scanned: &ScanResult) -> Value {
    let mut steps = vec![json!({ "operation": "database-schema", "status": "done" })];
    steps.extend(history::step(&scanned.outcome.history));
    let mut item = json!({
        "connectionId": id,
        "driver": scanned.driver,
        "steps": steps,
        "commit": scanned.published.as_ref().and_then(|published| published.commit.clone()),
        "modelCalls": scanned.outcome.model_calls,
        "report": scanned.outcome.report,
    });
    add_left_alone(&mut item, scanned.published.as_ref(), COMMAND);
    if let (Some(paused), Value::Object(map)) = (&scanned.outcome.paused, &mut item) {
        let what = json!({
            "code": paused.error.kind.code(),
            "message": paused.error.message,
            "hint": paused.error.hint,
            "tablesLeft": paused.left,
            "tables": paused.tables,
        });
        map.insert("paused".to_owned(), what);
    }
    item
}
