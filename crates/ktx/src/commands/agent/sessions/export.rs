//! `ktx agent sessions export`.

use std::path::Path;

use ktx_agent_session::{Origin, SessionReport, Sessions};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_llm_runtime::ContentBlock;
use ktx_project_store::write_atomically;

use super::case::case_text;
use super::show::{Shown, ShownMessage};
use super::summary::title_of;
use crate::cli::{ExportFormat, SessionExportArgs};
use crate::commands::agent::failures::session_failure;
use crate::commands::agent::session_store;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::report::{Outcome, Report as _};

pub(super) fn run(args: &SessionExportArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.id)?;
    let report = sessions.read(&id).map_err(session_failure)?;
    let text = match args.format {
        ExportFormat::Md => markdown(&report, &Shown::of(&report, &sessions)),
        ExportFormat::Case => case_text(&report)?,
        ExportFormat::Json => pretty(&Shown::of(&report, &sessions))?,
        ExportFormat::Jsonl => {
            let path = sessions.store().path(&id);
            let bytes = ktx_project_store::read_optional(&path)
                .map_err(|error| Failure::from_error(Code::File, &error))?;
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        }
    };
    match &args.to {
        None => printer.out(&text)?,
        Some(path) => {
            let path = invocation.current.join(path);
            write(&path, &text)?;
            printer.note(&format!("wrote {}", path.display()));
        }
    }
    Ok(Exit::Success)
}

pub(in crate::commands::agent) fn write_markdown(
    report: &SessionReport,
    sessions: &Sessions,
    path: &Path,
) -> Outcome<()> {
    write(path, &markdown(report, &Shown::of(report, sessions)))
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    let written = write_atomically(path, text.as_bytes());
    written
        .map(drop)
        .map_err(|error| Failure::from_error(Code::File, &error))
}

fn pretty(shown: &Shown) -> Outcome<String> {
    let text = serde_json::to_string_pretty(shown);
    text.map(|text| text + "\n")
        .map_err(|error| Failure::from_error(Code::Internal, &error))
}

fn markdown(report: &SessionReport, shown: &Shown) -> String {
    let title = title_of(&report.history.messages());
    let title = shown.name.as_deref().unwrap_or(&title);
    let mut text = format!(
        "# {title}\n\nSession `{}` with `{}`.\n",
        shown.session, shown.agent
    );
    for said in &shown.messages {
        text += &section(said);
    }
    text
}

fn section(said: &ShownMessage) -> String {
    let mut text = String::new();
    for block in &said.message.content {
        match block {
            ContentBlock::Text { text: words } if said.origin == Origin::User => {
                text.extend(["\n## ", words.trim(), "\n"]);
            }
            ContentBlock::Text { text: words } => text.extend(["\n", words.trim(), "\n"]),
            ContentBlock::ToolUse { name, input, .. } => {
                text.extend(["\n", &fenced(&format!("{name} {input}"))]);
            }
            ContentBlock::ToolResult { content, .. } => {
                text.extend(["\n", &fenced(content)]);
            }
            _ => {}
        }
    }
    text
}

/// The fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}\n", text.trim_end())
}
