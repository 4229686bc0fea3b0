//! Commands that copy, name, repair and remove sessions.

use std::time::Duration;

use jiff::Timestamp;
use ktx_agent_session::{Delivered, ForkPoint, Session, check_message};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_session_log::SessionId;
use serde_json::{Value, json};

use super::overview::{Listed, overviews};
use super::summary::title_of;
use crate::cli::{
    OutputArgs, SessionDeleteArgs, SessionForkArgs, SessionOneArgs, SessionPruneArgs,
    SessionRenameArgs, SessionSendArgs, SessionSnapshotArgs,
};
use crate::commands::agent::failures::{ask_failure, session_failure};
use crate::commands::agent::session_store;
use crate::input::read_message;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

const DAY: u64 = 24 * 60 * 60;

pub(super) fn fork(args: &SessionForkArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let parent = session_store::find(&sessions, &args.id)?;
    let report = sessions.read(&parent).map_err(session_failure)?;
    let id = session_store::new_id(invocation, &title_of(&report.history.messages()))?;
    let point = point_of(args.at.as_deref());
    let copy = sessions
        .fork(&parent, &point, &id)
        .map_err(session_failure)?;
    tell(
        &printer,
        &format!("copied {parent} to {}", copy.id()),
        &json!({ "session": copy.id(), "parent": parent }),
    )
}

fn point_of(text: Option<&str>) -> ForkPoint {
    let Some(text) = text else {
        return ForkPoint::Last;
    };
    let turn = text
        .strip_prefix("turn:")
        .and_then(|turn| turn.parse().ok());
    match (turn, text.parse()) {
        (Some(turn), _) => ForkPoint::Turn(turn),
        (None, Ok(seq)) => ForkPoint::At(seq),
        (None, Err(_)) => ForkPoint::Label(text.to_owned()),
    }
}

pub(super) fn snapshot(args: &SessionSnapshotArgs, invocation: &Invocation) -> Outcome {
    touched(&args.id, &args.output, invocation, |session| {
        let seq = session.name_point(&args.label).map_err(session_failure)?;
        Ok(Confirmation {
            words: format!("`{}` is behind {seq}", args.label),
            json: json!({ "session": session.id(), "label": args.label, "cursor": seq }),
        })
    })
}

pub(super) fn rename(args: &SessionRenameArgs, invocation: &Invocation) -> Outcome {
    touched(&args.id, &args.output, invocation, |session| {
        session.rename(&args.name).map_err(session_failure)?;
        Ok(Confirmation {
            words: format!("{} is `{}`", session.id(), args.name),
            json: json!({ "session": session.id(), "name": args.name }),
        })
    })
}

struct Confirmation {
    words: String,
    json: Value,
}

fn touched(
    id: &str,
    output: &OutputArgs,
    invocation: &Invocation,
    change: impl FnOnce(&Session) -> Outcome<Confirmation>,
) -> Outcome {
    let printer = invocation.printer(output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, id)?;
    let session = sessions.touch(id).map_err(session_failure)?;
    let told = change(&session)?;
    tell(&printer, &told.words, &told.json)
}

pub(super) fn send(args: &SessionSendArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.id)?;
    let message = read_message(&args.message)?;
    if let Some(agent) = session_store::recorded(&sessions, &id)? {
        check_message(&message, &agent).map_err(|error| ask_failure(error, &id))?;
    }
    let name = invocation.run_id.to_string();
    let sent = sessions.send(&id, &message, &name);
    if sent.map_err(session_failure)?.is_none() {
        return Err(
            Failure::new(Code::NothingToContinue, format!("no process works on {id}")).hint(
                format!("run `ktx agent run --session {id} -m …` to ask a question"),
            ),
        );
    }
    let words = format!("sent to the process that works on {id}");
    tell(&printer, &words, &json!({ "session": id, "running": true }))
}

pub(super) fn interrupt(args: &SessionOneArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.id)?;
    let name = invocation.run_id.to_string();
    let delivered = sessions.interrupt(&id, &name).map_err(session_failure)?;
    let words = match delivered {
        Delivered::Posted => format!("sent to the process that works on {id}"),
        Delivered::Done => format!("no process works on {id}"),
    };
    let is_running = delivered == Delivered::Posted;
    tell(
        &printer,
        &words,
        &json!({ "session": id, "running": is_running }),
    )
}

pub(super) fn repair(args: &SessionOneArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let damaged = session_store::find(&sessions, &args.id)?;
    let id = session_store::new_id(invocation, "repaired")?;
    let repaired = sessions.repair(&damaged, &id).map_err(session_failure)?;
    let copy = repaired.session.id();
    tell(
        &printer,
        &format!(
            "{copy} holds the conversation up to record {} of {damaged}",
            repaired.at
        ),
        &json!({ "session": copy, "parent": damaged, "cursor": repaired.at }),
    )
}

pub(super) fn delete(args: &SessionDeleteArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.id)?;
    if !args.yes {
        return Err(unconfirmed(&format!("`{id}` would be removed for good")));
    }
    sessions.delete(&id).map_err(session_failure)?;
    tell(
        &printer,
        &format!("removed {id}"),
        &json!({ "removed": [id] }),
    )
}

pub(super) fn prune(args: &SessionPruneArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let age = Duration::from_secs(u64::from(args.older) * DAY);
    let oldest = invocation.now.checked_sub(age).unwrap_or(Timestamp::MIN);
    let listed = overviews(&sessions, &project, &printer)?;
    let old = listed.iter().filter(|Listed { overview, .. }| {
        overview.updated < oldest && !(args.keep_named && overview.name.is_some())
    });
    let old: Vec<&SessionId> = old.map(|listed| &listed.id).collect();
    if !args.yes && !old.is_empty() {
        let names: Vec<&str> = old.iter().map(|id| id.as_str()).collect();
        return Err(unconfirmed(&format!(
            "{} sessions would be removed for good: {}",
            old.len(),
            names.join(", ")
        )));
    }
    for id in &old {
        sessions.delete(id).map_err(session_failure)?;
    }
    tell(
        &printer,
        &format!("removed {} sessions", old.len()),
        &json!({ "removed": old }),
    )
}

fn unconfirmed(words: &str) -> Failure {
    Failure::new(Code::ConfirmationRequired, words.to_owned()).hint("add `--yes` to remove")
}

fn tell(printer: &Printer, words: &str, json: &Value) -> Outcome {
    if printer.mode == Mode::Json {
        printer.json(json)?;
    } else {
        printer.line(words)?;
    }
    Ok(Exit::Success)
}
