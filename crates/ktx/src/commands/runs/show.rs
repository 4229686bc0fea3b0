//! `ktx runs show`.

use jiff::Timestamp;
use ktx_diagnostics::Exit;
use ktx_project_store::{Run, RunStatus};
use ktx_usage_ledger::{ReportGroup, ReportWindow};
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::{find, took, wire};
use crate::invocation::OpenProject;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::run_records::RunPlan;
use crate::totals::{cost, read_report};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Overview,
    Transcript,
}

pub(super) fn show(
    id: Option<&str>,
    depth: Depth,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome {
    let run = find(id, project)?;
    let window = ReportWindow {
        run_id: Some(run.id.to_string()),
        since: None,
    };
    let usage = read_report(project, ReportGroup::Stage, &window)?;
    let conversation = Conversation::of(&run, usage.total.facts(), project)?;
    if printer.mode == Mode::Json {
        let stages = usage
            .rows
            .iter()
            .map(|row| json!({ "stage": row.key, "messages": row.messages, "cost": cost(row) }));
        printer.json(&json!({
            "kind": "run",
            "data": {
                "run": wire(&run, Some(&usage.total)),
                "stages": stages.collect::<Vec<_>>(),
                "detail": run.detail,
                "transcript": conversation.to_json(),
            },
        }))?;
        return Ok(Exit::Success);
    }
    printer.line(&format!(
        "{} {}: {}",
        run.command,
        run.id,
        run.status.as_str()
    ))?;
    let second = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ");
    let mut times = format!("started {}", second(run.started));
    if let Some(finished) = run.finished {
        times = format!("{times}, ended {} after {}", second(finished), took(&run));
    }
    printer.line(&times)?;
    for line in plan_lines(&RunPlan::of_detail(&run.detail)) {
        printer.line(&line)?;
    }
    for row in usage.rows.iter().filter(|row| row.facts() > 0) {
        let (messages, cost) = (row.messages, cost(row));
        printer.line(&format!("{}: {messages} model messages, {cost}", row.key))?;
    }
    for line in detail_lines(&run.detail) {
        printer.line(&line)?;
    }
    match depth {
        Depth::Overview => conversation.print_overview(printer)?,
        Depth::Transcript => conversation.print(printer)?,
    }
    match (&conversation, depth) {
        (Conversation::Absent(reason), _) => printer.note(&format!("no transcript: {reason}")),
        (Conversation::Kept(_), Depth::Overview) => printer.note(&format!(
            "`ktx runs show {} --transcript` prints the prompts and answers of the models",
            run.id
        )),
        (Conversation::Kept(_), Depth::Transcript) => {}
    }
    if let Some(next) = next_step(&run) {
        printer.note(&next);
    }
    Ok(Exit::Success)
}

fn plan_lines(plan: &RunPlan) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(run) = &plan.retry_of {
        lines.push(format!("retries run {run}"));
    }
    for (what, names) in [
        ("warehouses", &plan.warehouses),
        ("context sources", &plan.sources),
        ("notes", &plan.notes),
    ] {
        if !names.is_empty() {
            lines.push(format!("plan: {what} {}", names.join(", ")));
        }
    }
    lines
}

fn text(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn list(value: &Value, key: &str) -> Vec<Value> {
    let items = value.get(key).and_then(Value::as_array);
    items.cloned().unwrap_or_default()
}

fn names(value: &Value, key: &str) -> String {
    let names = list(value, key);
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    names.join(", ")
}

fn detail_lines(detail: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for warehouse in list(detail, "warehouses") {
        lines.push(part_line(&text(&warehouse, "connectionId"), &warehouse));
        lines.extend(warning_lines(&warehouse));
    }
    for source in list(detail, "sources") {
        lines.extend(source_lines(&source));
    }
    for note in list(detail, "notes") {
        lines.push(part_line(&format!("note {}", text(&note, "label")), &note));
        lines.extend(warning_lines(&note));
    }
    lines
}

fn source_lines(source: &Value) -> Vec<String> {
    let mut lines = vec![format!("{}:", text(source, "connectionId"))];
    // An unread source has only steps.
    for step in list(source, "steps") {
        let reason = text(&step, "detail");
        if source.get("units").is_none() && !reason.is_empty() {
            lines.push(format!("  failed: {reason}"));
        }
    }
    for unit in list(source, "units") {
        let name = format!("  unit {}", text(&unit, "unitKey"));
        lines.push(part_line(&name, &unit));
    }
    for name in ["eviction", "reconciliation"] {
        if let Some(part) = source.get(name).filter(|part| part.is_object()) {
            lines.push(part_line(&format!("  {name}"), part));
            lines.extend(verdict_lines(part));
        }
    }
    if let Some(curation) = source.get("curation") {
        for pass in list(curation, "passes") {
            lines.push(part_line("  curation", &pass));
        }
    }
    for proposal in list(source, "proposals") {
        lines.push(format!(
            "  waits for you: {} of {}",
            names(&proposal, "paths"),
            text(&proposal, "unitKey")
        ));
    }
    lines.extend(warning_lines(source));
    lines
}

/// About what others share with files that are gone.
fn verdict_lines(part: &Value) -> Vec<String> {
    let mut lines: Vec<String> = list(part, "verdicts")
        .iter()
        .map(|verdict| {
            format!(
                "    {} {}: {}: {}",
                text(verdict, "kind"),
                text(verdict, "name"),
                text(verdict, "verdict"),
                text(verdict, "reason")
            )
        })
        .collect();
    let open = list(part, "open");
    let open = open.iter().filter_map(Value::as_str);
    lines.extend(open.map(|thing| format!("    {thing}: no verdict yet")));
    lines
}

fn part_line(name: &str, part: &Value) -> String {
    let mut line = format!("{name}: {}", text(part, "status"));
    let captured = part.get("captured").cloned().unwrap_or_default();
    for (label, key) in [("pages", "wiki"), ("sources", "sl")] {
        let named = names(&captured, key);
        if !named.is_empty() {
            line = format!("{line}, {label}: {named}");
        }
    }
    let held = names(part, "keptBack");
    if !held.is_empty() {
        line = format!("{line}, kept back: {held}");
    }
    let commit = text(part, "commitHash");
    if !commit.is_empty() {
        line = format!("{line}, commit {commit}");
    }
    let reason = text(part, "error");
    if !reason.is_empty() {
        line = format!("{line}: {reason}");
    }
    line
}

fn warning_lines(part: &Value) -> Vec<String> {
    let warnings = list(part, "warnings");
    let warnings = warnings.iter().filter_map(Value::as_str);
    warnings
        .map(|warning| format!("  warning: {warning}"))
        .collect()
}

fn next_step(run: &Run) -> Option<String> {
    match run.status {
        RunStatus::Partial | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Interrupted => {
            Some(format!(
                "`ktx runs retry {}` does the rest; nothing that is finished is asked again",
                run.id
            ))
        }
        RunStatus::Running | RunStatus::Done => None,
    }
}
