//! `ktx agent approvals` and `ktx agent decide`: calls that wait for a person.

use ktx_agent_session::{Decision, DecisionRecord, Delivered};
use ktx_diagnostics::Exit;
use serde::Serialize;
use serde_json::json;

use super::failures::session_failure;
use super::vault;
use crate::cli::{ApprovalsArgs, DecideArgs, Ruling};
use crate::invocation::Invocation;
use crate::lists::envelope;
use crate::opening::open_project;
use crate::printer::Mode;
use crate::report::Outcome;
use crate::tables::Report as Table;

/// One call that waits.
#[derive(Debug, Serialize)]
struct Waiting {
    session: String,
    call: String,
    name: String,
    input_preview: String,
    /// When the model asked for it.
    asked: Option<String>,
}

pub(super) fn list(args: &ApprovalsArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = vault::sessions(invocation, &project.dir);
    let ids = sessions.store().list().map_err(session_failure)?;
    let mut items = Vec::new();
    for id in ids {
        let report = match sessions.read(&id) {
            Ok(report) => report,
            Err(error) => {
                printer.note(&format!("warning: {error}"));
                continue;
            }
        };
        for call in report.history.waiting_calls() {
            let view = call.view();
            let asked = report.records.iter().rfind(|record| {
                record.kind() == "permission_required" && record.event["call"]["id"] == call.id
            });
            items.push(Waiting {
                session: id.to_string(),
                call: view.id,
                name: view.name,
                input_preview: view.input_preview,
                asked: asked.map(|record| record.ts.to_string()),
            });
        }
    }
    if printer.mode == Mode::Json {
        printer.json(&envelope(&items, "agent approvals"))?;
        return Ok(Exit::Success);
    }
    if items.is_empty() {
        printer.note("no tool call waits for a decision");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["session", "call", "tool", "arguments", "asked"]);
    for item in &items {
        let asked = item.asked.as_deref().unwrap_or_default();
        table.row([
            &item.session,
            &item.call,
            &item.name,
            &item.input_preview,
            asked,
        ]);
    }
    table.print(&printer)?;
    Ok(Exit::Success)
}

pub(super) fn decide(args: &DecideArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = vault::sessions(invocation, &project.dir);
    let id = vault::find(&sessions, &args.session)?;
    let record = DecisionRecord {
        call_id: args.call.clone(),
        decision: match args.ruling {
            Ruling::Allow => Decision::Allow,
            Ruling::Deny => Decision::Deny,
        },
        decided_by: "ktx agent decide".to_owned(),
        note: args.note.clone(),
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
