//! `ktx agent sessions list` and `search`.

use ktx_agent_session::{SessionReport, Sessions};
use ktx_diagnostics::Exit;
use serde_json::Value;

use super::overview::{Listed, Overview, overviews};
use super::summary::{Costs, Summary, text_of};
use crate::cli::{SessionListArgs, SessionSearchArgs};
use crate::commands::agent::failures::session_failure;
use crate::commands::agent::session_store;
use crate::invocation::{Invocation, OpenProject};
use crate::lists::envelope;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::{Outcome, Report as _};
use crate::tables::Report as Table;

pub(super) fn list(args: &SessionListArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let listed = overviews(&sessions, &project, &printer)?;
    let wanted = listed.into_iter().filter(|listed| {
        let state = listed.overview.state(&listed.id, &sessions);
        args.state.is_none_or(|wanted| wanted == state)
    });
    let mut summaries = summaries(wanted, &sessions, &project);
    let left_out = summaries.len().saturating_sub(args.limit);
    summaries.truncate(args.limit);
    print(&summaries, "agent sessions list", &printer)?;
    if left_out > 0 && printer.mode != Mode::Json {
        printer.note(&format!("{left_out} more; show them with `--limit`"));
    }
    Ok(Exit::Success)
}

pub(in crate::commands::agent) fn print_all(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<()> {
    let listed = overviews(sessions, project, printer)?;
    let summaries = summaries(listed.into_iter(), sessions, project);
    print(&summaries, "agent sessions list", printer)
}

pub(in crate::commands::agent) fn listed(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Value> {
    let listed = overviews(sessions, project, printer)?;
    let summaries = summaries(listed.into_iter(), sessions, project);
    Ok(envelope(&summaries, "agent sessions list"))
}

pub(super) fn search(args: &SessionSearchArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let words: Vec<String> = args.words.iter().map(|word| word.to_lowercase()).collect();
    let said = |report: &SessionReport| {
        let messages = report.history.messages();
        let texts: Vec<String> = messages.iter().map(text_of).collect();
        let text = texts.join("\n").to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let reports = read_all(&sessions, &project, &printer)?;
    let found = reports.into_iter().filter(said).map(|report| Listed {
        overview: Overview::of(&report),
        id: report.id,
    });
    let summaries = summaries(found, &sessions, &project);
    print(&summaries, "agent sessions search", &printer)?;
    Ok(Exit::Success)
}

fn read_all(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<SessionReport>> {
    let ids = sessions.store().list().map_err(session_failure)?;
    let mut reports = Vec::new();
    for id in ids {
        match sessions.read(&id) {
            Ok(report) => reports.push(report),
            Err(error) => {
                let failure = session_failure(error).seen_from(&project.dir);
                printer.note(&format!("warning: {}", failure.message));
            }
        }
    }
    Ok(reports)
}

fn summaries(
    listed: impl Iterator<Item = Listed>,
    sessions: &Sessions,
    project: &OpenProject,
) -> Vec<Summary> {
    let costs = Costs::read(project);
    let mut summaries: Vec<Summary> = listed
        .map(|listed| Summary::of(listed, sessions, &costs))
        .collect();
    summaries.sort_by(|a, b| b.updated.cmp(&a.updated).then(a.session.cmp(&b.session)));
    summaries
}

fn print(summaries: &[Summary], command: &str, printer: &Printer) -> Outcome<()> {
    if printer.mode == Mode::Json {
        return printer.json(&envelope(&summaries, command));
    }
    if summaries.is_empty() {
        printer.note("no session; `ktx agent run -m …` begins one");
        return Ok(());
    }
    let mut table = Table::new(["session", "state", "turns", "tokens", "cost", "question"]);
    for summary in summaries {
        let cost = summary.cost_usd.map(|cost| format!("${cost:.4}"));
        table.row([
            summary.session.as_str(),
            summary.state,
            &summary.turns.to_string(),
            &summary.tokens.to_string(),
            &cost.unwrap_or_default(),
            summary.name.as_deref().unwrap_or(&summary.title),
        ]);
    }
    table.print(printer)
}
