//! `ktx scan`.

mod relationships;
mod review;

use ktx_diagnostics::{Code, Exit, Failure, counted};
use std::time::Duration;

use ktx_config::Connection;
use ktx_manifest::RenamedSource;
use ktx_scan::{Budget, Reuse, ScanEstimate, ScanMode, Stopped, Writing};
use serde_json::{Value, json};

use crate::cli::{ScanArgs, ScanCommand};
use crate::connections;
use crate::invocation::{Invocation, OpenProject};
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::run_records::RetryScope;
use crate::scanning::{
    Job, PlannedChanges, ScanResult, estimate_all, estimate_json, estimate_text, history, scan_all,
    stopped,
};
use crate::schemas;
use crate::skipped_files::{add_left_alone, left_alone};

pub(crate) fn run(args: &ScanArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    match &args.command {
        None => scan(args, invocation, &printer),
        Some(command) => about_joins(command, args, invocation, &printer),
    }
}

pub(crate) fn again(args: &ScanArgs, scope: &RetryScope, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let connections = connections::targets(&project, None)?;
    let is_retried = |found: &&Connection| scope.warehouses.contains(found.id.as_str());
    let connections = connections.into_iter().filter(is_retried).collect();
    scan_each(connections, args, &project, invocation, &printer)
}

fn about_joins(
    command: &ScanCommand,
    args: &ScanArgs,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    let budget =
        args.max_queries.is_some() || args.max_minutes.is_some() || args.max_bytes.is_some();
    let is_given = args.history.is_given() || args.wait.wait.is_some();
    if args.structural || args.full || args.dry_run || args.estimate || budget || is_given {
        return Err(Failure::new(
            Code::Usage,
            "`--structural`, `--full`, `--dry-run`, `--estimate`, `--max-…`, `--query-history…` and `--wait` before a subcommand are options of the scan itself",
        ));
    }
    let project = open_project(invocation, printer)?;
    let before = args.connection_id.as_deref();
    match command {
        ScanCommand::Relationships { id } => {
            relationships::run(id.as_deref().or(before), &project, printer)
        }
        ScanCommand::Review(args) => {
            let id = args.id.as_deref().or(before);
            match &args.command {
                None => review::list(id, &project, printer),
                Some(command) => review::decide(command, id, invocation, &project, printer),
            }
        }
    }
}

fn scan(args: &ScanArgs, invocation: &Invocation, printer: &Printer) -> Outcome {
    let project = open_project(invocation, printer)?;
    if args.estimate {
        let connections = connections::targets(&project, args.connection_id.as_deref())?;
        let results = estimate_all(connections, invocation, &project, printer)?;
        return estimated(results, printer);
    }
    let connections = connections::targets(&project, args.connection_id.as_deref())?;
    scan_each(connections, args, &project, invocation, printer)
}

fn scan_each(
    connections: Vec<&Connection>,
    args: &ScanArgs,
    project: &OpenProject,
    invocation: &Invocation,
    printer: &Printer,
) -> Outcome {
    let budget = Budget {
        statements: args.max_queries,
        time: args
            .max_minutes
            .map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
        bytes: args.max_bytes,
    };
    let mode = if args.structural {
        ScanMode::Structural
    } else {
        ScanMode::Relationships
    };
    let writing = if args.dry_run {
        Writing::DryRun
    } else {
        Writing::Publish
    };
    let reuse = if args.full {
        Reuse::Nothing
    } else {
        Reuse::Unchanged
    };
    let jobs = connections
        .into_iter()
        .map(|connection| Job {
            connection,
            mode,
            writing,
            runtime: None,
            reuse,
            budget,
            history: args.history,
        })
        .collect();
    let results = scan_all("ktx scan", jobs, invocation, project, printer)?;
    let is_missed = args.history.query_history && history::is_missing(&results);
    let exit = report("scan", results, printer)?;
    Ok(match exit {
        Exit::Success if is_missed => Exit::Partial,
        exit => exit,
    })
}

/// A single failure fails the command; one of several makes it partial.
pub(crate) fn report(
    command: &str,
    mut results: Vec<(ktx_vocabulary::ConnectionId, Outcome<ScanResult>)>,
    printer: &Printer,
) -> Outcome {
    let total = results.len();
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let stop = results.iter().position(|(_, result)| stops(result));
    if failed == total {
        let at = stop.unwrap_or_default();
        let failure = results
            .into_iter()
            .nth(at)
            .and_then(|(_, result)| result.err());
        return Err(failure.unwrap_or_else(|| Failure::new(Code::Internal, "nothing was scanned")));
    }
    if printer.mode == Mode::Json {
        let items: Vec<Value> = results
            .iter()
            .map(|(id, result)| item(id.as_str(), result))
            .collect();
        printer.json(&json!({
            "kind": "list",
            "data": { "items": items },
            "meta": { "command": command },
        }))?;
    } else {
        for (at, (id, result)) in results.iter().enumerate() {
            match result {
                Ok(scanned) => lines(scanned, printer)?,
                Err(failure) => {
                    printer.line(&format!("{id}: failed"))?;
                    if Some(at) != stop {
                        printer.notes(failure.to_text().trim_end());
                    }
                }
            }
        }
    }
    if let Some(at) = stop
        && let (_, Err(failure)) = results.swap_remove(at)
    {
        return match printer.mode {
            // The items include it.
            Mode::Json => Ok(failure.exit),
            Mode::Plain | Mode::Pretty => Err(failure),
        };
    }
    Ok(if failed == 0 && stopped(&results).is_none() {
        Exit::Success
    } else {
        Exit::Partial
    })
}

type Estimates = Vec<(ktx_vocabulary::ConnectionId, Outcome<ScanEstimate>)>;

fn estimated(mut results: Estimates, printer: &Printer) -> Outcome {
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    if failed == results.len()
        && let Some((_, Err(failure))) = results.pop()
    {
        return Err(failure);
    }
    if printer.mode == Mode::Json {
        let items: Vec<Value> = results
            .iter()
            .map(|(id, result)| match result {
                Ok(estimate) => estimate_json(id.as_str(), estimate),
                Err(failure) => failed_item(id.as_str(), failure),
            })
            .collect();
        printer.json(&json!({
            "kind": "list",
            "data": { "items": items },
            "meta": { "command": "scan" },
        }))?;
    } else {
        for (id, result) in &results {
            match result {
                Ok(estimate) => printer.line(&format!(
                    "{id}: {}, {}; {}",
                    counted(estimate.tables, "table"),
                    counted(estimate.columns, "column"),
                    estimate_text(estimate)
                ))?,
                Err(failure) => {
                    printer.line(&format!("{id}: failed"))?;
                    printer.notes(failure.to_text().trim_end());
                }
            }
        }
    }
    Ok(if failed == 0 {
        Exit::Success
    } else {
        Exit::Partial
    })
}

fn kept_text(kept: usize) -> Option<String> {
    let verb = if kept == 1 { "keeps" } else { "keep" };
    (kept > 0).then(|| {
        format!(
            "{} {verb} the values of an earlier scan; `ktx scan --full` reads all tables",
            counted(kept, "table")
        )
    })
}

fn stopped_text(stopped: &Stopped) -> String {
    let kept = match stopped.tables_kept {
        0 => String::new(),
        kept => format!(" {kept} keep those of an earlier scan,"),
    };
    format!(
        "  stopped: {}; {} of {} tables have no samples,{kept} {} joins are not checked; `ktx scan` continues there",
        stopped.reason.text(),
        stopped.tables_left - stopped.tables_kept,
        stopped.tables,
        stopped.links_left
    )
}

fn stops(result: &Outcome<ScanResult>) -> bool {
    result
        .as_ref()
        .err()
        .is_some_and(|failure| matches!(failure.exit, Exit::Model | Exit::Interrupted))
}

fn lines(scanned: &ScanResult, printer: &Printer) -> Outcome<()> {
    let report = &scanned.outcome.report;
    let diff = &report.diff_summary;
    printer.line(&format!(
        "{}: {} added, {} modified, {} deleted, {} unchanged tables",
        scanned.connection,
        diff.tables_added,
        diff.tables_modified,
        diff.tables_deleted,
        diff.tables_unchanged
    ))?;
    let tables = diff.tables_added + diff.tables_modified + diff.tables_unchanged;
    if tables == 0 && diff.tables_deleted == 0 {
        printer.line(
            "  no table or view was found; check the database, the schemas and the rights of the login",
        )?;
    }
    schemas::print(&scanned.outcome.schemas, printer)?;
    if let Some(text) = kept_text(scanned.outcome.tables_kept) {
        printer.line(&format!("  {text}"))?;
    }
    let joins = &report.relationships;
    printer.line(&format!(
        "  joins: {} accepted, {} to review",
        joins.accepted, joins.review
    ))?;
    for warning in &report.warnings {
        if warning.code != "scan_stopped" {
            printer.line(&format!("  warning: {}", warning.message))?;
        }
    }
    for renamed in &scanned.outcome.renamed {
        printer.line(&format!("  warning: {}", renamed_text(renamed)))?;
    }
    if let Some(stopped) = &scanned.outcome.stopped {
        printer.line(&stopped_text(stopped))?;
    }
    match &scanned.published {
        None => {
            let planned = scanned.planned.iter().flat_map(PlannedChanges::lines);
            for line in planned {
                printer.line(&format!("  {line}"))?;
            }
            printer.line("  dry run: nothing was written")
        }
        Some(published) => {
            for skipped in &published.skipped {
                printer.note(&left_alone(skipped, "ktx scan"));
            }
            match &published.commit {
                Some(commit) => printer.line(&format!("  commit: {commit}")),
                None => printer.line("  nothing changed"),
            }
        }
    }
}

fn renamed_text(renamed: &RenamedSource) -> String {
    let RenamedSource { before, now } = renamed;
    format!(
        "the source `{before}` is called `{now}` now, because another schema has a table of that name; \
         use the new name in overlays, joins and queries, or name the schemas to read under `schemas` in ktx.yaml"
    )
}

fn item(id: &str, result: &Outcome<ScanResult>) -> Value {
    let scanned = match result {
        Ok(scanned) => scanned,
        Err(failure) => return failed_item(id, failure),
    };
    let mut item = json!({
        "connectionId": id,
        "driver": scanned.driver,
        "status": if scanned.outcome.stopped.is_some() { "stopped" } else { "done" },
        "syncId": scanned.outcome.sync_id,
        "commit": scanned.published.as_ref().and_then(|published| published.commit.clone()),
        "changedFiles": scanned.outcome.changes.len(),
        "skippedFiles": scanned.published.as_ref().map_or(0, |published| published.skipped.len()),
        "keptTables": scanned.outcome.tables_kept,
        "profileStatements": scanned.outcome.profile_statements,
        "validationStatements": scanned.outcome.validation_statements,
        "modelCalls": scanned.outcome.model_calls,
        "report": scanned.outcome.report,
    });
    add_left_alone(&mut item, scanned.published.as_ref(), "ktx scan");
    if let Value::Object(item) = &mut item {
        let scope = schemas::to_json(&scanned.outcome.schemas);
        if !scope.is_null() {
            item.insert("scope".to_owned(), scope);
        }
        if let Some(planned) = &scanned.planned {
            item.insert("planned".to_owned(), planned.to_json());
        }
        let renamed = &scanned.outcome.renamed;
        if !renamed.is_empty() {
            let pairs = renamed
                .iter()
                .map(|one| json!({ "before": one.before, "now": one.now }));
            item.insert("renamedSources".to_owned(), pairs.collect());
        }
    }
    if let (Some(stopped), Value::Object(item)) = (&scanned.outcome.stopped, &mut item) {
        let what = json!({
            "reason": stopped.reason.text(),
            "tables": stopped.tables,
            "tablesLeft": stopped.tables_left,
            "tablesKept": stopped.tables_kept,
            "linksLeft": stopped.links_left,
        });
        item.insert("stopped".to_owned(), what);
    }
    item
}

fn failed_item(id: &str, failure: &Failure) -> Value {
    let mut item = json!({ "connectionId": id, "status": "failed" });
    if let (Value::Object(item), Value::Object(error)) = (&mut item, failure.to_json()) {
        item.extend(error);
    }
    item
}
