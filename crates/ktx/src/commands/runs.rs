//! `ktx runs`.

mod conversation;
mod retry;
mod show;

use std::collections::BTreeMap;

use ktx_diagnostics::{Code, Exit, Failure};
use ktx_project_store::{Interruption, Run, StateDatabase};
use ktx_usage_ledger::{ReportGroup, ReportRow, ReportWindow};
use serde_json::{Value, json};

use crate::cli::{RunsArgs, RunsCommand};
use crate::invocation::{Invocation, OpenProject};
use crate::lists::envelope;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::scanning::state_failure;
use crate::tables::Report as Table;
use crate::totals::{cost, read_report};

pub(crate) use retry::Retry;

const LISTED: u32 = 20;

pub(crate) enum Rest {
    Ended(Exit),
    Retry(Box<Retry>),
}

pub(crate) fn run(args: &RunsArgs, invocation: &Invocation) -> Outcome<Rest> {
    let printer = invocation.printer(&args.output)?;
    if let Some(RunsCommand::Retry(wanted)) = &args.command {
        return retry::plan(wanted, &args.output, invocation, &printer);
    }
    let project = open_project(invocation, &printer)?;
    let exit = match &args.command {
        Some(RunsCommand::List { limit }) => list(*limit, &project, &printer),
        Some(RunsCommand::Show { id, transcript }) => {
            let depth = if *transcript {
                show::Depth::Transcript
            } else {
                show::Depth::Overview
            };
            show::show(id.as_deref(), depth, &project, &printer)
        }
        Some(RunsCommand::Cancel) => cancel(&project, &printer),
        None | Some(RunsCommand::Retry(_)) => list(LISTED, &project, &printer),
    };
    exit.map(Rest::Ended)
}

fn state(project: &OpenProject) -> Outcome<StateDatabase> {
    let state = project.store.state();
    state.map_err(|error| state_failure(&error))
}

fn runs(project: &OpenProject, limit: u32) -> Outcome<Vec<Run>> {
    let runs = state(project)?.runs(limit);
    runs.map_err(|error| state_failure(&error))
}

fn costs(project: &OpenProject) -> Outcome<BTreeMap<String, ReportRow>> {
    let report = read_report(project, ReportGroup::Run, &ReportWindow::default())?;
    let rows = report.rows.into_iter();
    Ok(rows.map(|row| (row.key.clone(), row)).collect())
}

fn list(limit: u32, project: &OpenProject, printer: &Printer) -> Outcome {
    let runs = runs(project, limit)?;
    let costs = costs(project)?;
    if printer.mode == Mode::Json {
        let items: Vec<Value> = runs
            .iter()
            .map(|run| wire(run, costs.get(run.id.as_str())))
            .collect();
        printer.json(&envelope(&items, "runs list"))?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new([
        "run", "command", "status", "started", "took", "calls", "cost",
    ]);
    for run in &runs {
        let row = costs.get(run.id.as_str());
        table.row([
            run.id.as_str(),
            &run.command,
            run.status.as_str(),
            &run.started.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            &took(run),
            &row.map_or_else(|| "0".to_owned(), |row| row.messages.to_string()),
            &row.map_or_else(String::new, cost),
        ]);
    }
    table.print(printer)?;
    if runs.is_empty() {
        printer.note("no run yet; `ktx scan` and `ktx ingest` are runs");
    }
    Ok(Exit::Success)
}

fn took(run: &Run) -> String {
    let finished = run
        .finished
        .map(|finished| finished.duration_since(run.started));
    finished.map_or_else(String::new, |took| format!("{} s", took.as_secs()))
}

fn find(id: Option<&str>, project: &OpenProject) -> Outcome<Run> {
    let Some(id) = id else {
        let latest = runs(project, 1)?.pop();
        return latest.ok_or_else(|| unknown("this project has no runs yet"));
    };
    let found = state(project)?.runs_beginning_with(id);
    let mut found = found.map_err(|error| state_failure(&error))?;
    let shown = ktx_diagnostics::excerpt(id);
    match (found.pop(), found.len()) {
        (Some(run), 0) => Ok(run),
        (None, _) => Err(unknown(&format!("no run begins with `{shown}`"))),
        (Some(_), others) => Err(unknown(&format!(
            "{} runs begin with `{shown}`: write more of the id",
            others + 1
        ))),
    }
}

fn unknown(message: &str) -> Failure {
    Failure::new(Code::UnknownRun, message).hint("`ktx runs list` lists the runs on this machine")
}

fn wire(run: &Run, usage: Option<&ReportRow>) -> Value {
    json!({
        "id": run.id.as_str(),
        "command": run.command,
        "status": run.status.as_str(),
        "started": run.started,
        "finished": run.finished,
        "messages": usage.map_or(0, |row| row.messages),
        "inputTokens": usage.map_or(0, |row| row.usage.input_total()),
        "outputTokens": usage.map_or(0, |row| row.usage.output),
        "cost": usage.map(cost),
    })
}

fn cancel(project: &OpenProject, printer: &Printer) -> Outcome {
    let asked = project.store.interrupt_holder();
    let asked = asked.map_err(|error| Failure::from_error(Code::Locked, &error))?;
    match asked {
        Interruption::Sent(holder) => printer.line(&format!(
            "asked `{}` (process {}) to end; it keeps what it has finished",
            holder.command, holder.pid
        ))?,
        Interruption::NoRun => printer.note("no run works on the project now"),
        Interruption::NotReached(holder) => {
            let message = format!(
                "`{}` has the project, but process {} here is not the one that runs it",
                holder.command, holder.pid
            );
            return Err(Failure::new(Code::Locked, message)
                .hint("end it with Ctrl-C on the machine or in the container where it runs"));
        }
    }
    Ok(Exit::Success)
}
