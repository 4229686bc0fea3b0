//! `ktx agent approvals` and `ktx agent decide`.

use jiff::Timestamp;
use ktx_agent_session::{Decision, DecisionRecord, Delivered, Preview, Sessions};
use ktx_diagnostics::Exit;
use serde::Serialize;
use serde_json::{Value, json};

use super::failures::session_failure;
use super::session_store;
use super::sessions::{Listed, overviews};
use crate::cli::{ApprovalsArgs, DecideArgs, Ruling};
use crate::invocation::{Invocation, OpenProject};
use crate::lists::envelope;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;
use crate::tables::Report as Table;

#[derive(Debug, Serialize)]
struct Waiting {
    session: String,
    call: String,
    name: String,
    input_preview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Preview>,
    asked: Option<String>,
    /// `None` means no time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    expired: bool,
}

pub(super) fn list(args: &ApprovalsArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let items = waiting(&sessions, &project, &printer, invocation.now)?;
    if printer.mode == Mode::Json {
        printer.json(&envelope(&items, "agent approvals"))?;
        return Ok(Exit::Success);
    }
    if items.is_empty() {
        printer.note("no tool call waits for a decision");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["session", "call", "tool", "arguments", "asked", "expires"]);
    for item in &items {
        let asked = item.asked.as_deref().unwrap_or_default();
        let expires = match (&item.expires, item.expired) {
            (_, true) => "expired",
            (Some(end), false) => end,
            (None, _) => "never",
        };
        table.row([
            &item.session,
            &item.call,
            &item.name,
            &item.input_preview,
            asked,
            expires,
        ]);
    }
    table.print(&printer)?;
    Ok(Exit::Success)
}

pub(super) fn listed(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
    now: Timestamp,
) -> Outcome<Value> {
    let items = waiting(sessions, project, printer, now)?;
    Ok(envelope(&items, "agent approvals"))
}

fn waiting(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
    now: Timestamp,
) -> Outcome<Vec<Waiting>> {
    let mut items = Vec::new();
    for Listed { id, overview } in overviews(sessions, project, printer)? {
        items.extend(overview.waiting.into_iter().map(|waiting| Waiting {
            session: id.to_string(),
            call: waiting.call.id,
            name: waiting.call.name,
            input_preview: waiting.call.input_preview,
            preview: waiting.call.preview,
            asked: waiting.asked.map(|asked| asked.to_string()),
            expired: waiting.expires.is_some_and(|end| end <= now),
            expires: waiting.expires.map(|end| end.to_string()),
        }));
    }
    Ok(items)
}

pub(super) fn decide(args: &DecideArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.session)?;
    let record = DecisionRecord {
        call_id: args.call.clone(),
        decision: match args.ruling {
            Ruling::Allow => Decision::Allow,
            Ruling::Deny => Decision::Deny,
        },
        decided_by: "ktx agent decide".to_owned(),
        note: args.note.clone(),
        session: None,
    };
    let delivered = sessions
        .decide(&id, record, invocation.run_id.as_str())
        .map_err(session_failure)?;
    if printer.mode == Mode::Json {
        printer.json(&json!({
            "session": id,
            "call": args.call,
            "decision": match args.ruling { Ruling::Allow => "allow", Ruling::Deny => "deny" },
            "delivered": delivered == Delivered::Done,
        }))?;
        return Ok(Exit::Success);
    }
    match delivered {
        Delivered::Posted => printer.line("the process that has the session open was told")?,
        Delivered::Done => printer.line(&format!(
            "decided; run `ktx agent sessions resume {id}` to go on"
        ))?,
    }
    Ok(Exit::Success)
}
