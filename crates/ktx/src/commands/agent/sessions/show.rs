//! `ktx agent sessions show`.

use ktx_agent_session::{
    Call, CallState, Event, Label, Origin, Parent, RoomOrigin, SessionReport, Sessions,
};
use ktx_diagnostics::Exit;
use ktx_llm_runtime::{ContentBlock, Message};
use ktx_session_log::SessionId;
use serde::Serialize;
use serde_json::Value;

use super::overview::Overview;
use super::summary::name_of;
use crate::cli::SessionShowArgs;
use crate::commands::agent::failures::session_failure;
use crate::commands::agent::session_store;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::Mode;
use crate::report::Outcome;

/// Characters of arguments and results without `--full`.
const SHOWN: usize = 100;

#[derive(Debug, Serialize)]
pub(in crate::commands::agent) struct Shown {
    pub(super) session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) state: &'static str,
    pub(super) messages: Vec<ShownMessage>,
    pub(super) calls: Vec<Call>,
    pub(super) lineage: Vec<Parent>,
    /// Cursors after which a copy can begin.
    pub(super) fork_points: Vec<u64>,
    pub(super) labels: Vec<Label>,
}

#[derive(Debug, Serialize)]
pub(super) struct ShownMessage {
    pub(super) cursor: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u32>,
    pub(super) origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) room: Option<RoomOrigin>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) interrupted: bool,
    pub(super) message: Message,
}

pub(super) fn run(args: &SessionShowArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.id)?;
    let report = sessions.read(&id).map_err(session_failure)?;
    let mut shown = Shown::of(&report, &sessions);
    if let Some(turn) = args.turn {
        shown.messages.retain(|said| said.turn == Some(turn));
    }
    if printer.mode == Mode::Json {
        printer.json(&shown)?;
    } else {
        let longest = if args.full { usize::MAX } else { SHOWN };
        printer.page(&shown.page(longest))?;
    }
    Ok(Exit::Success)
}

impl Shown {
    pub(in crate::commands::agent) fn of(report: &SessionReport, sessions: &Sessions) -> Self {
        let mut messages = Vec::new();
        let mut calls: Vec<Call> = Vec::new();
        for record in &report.records {
            match serde_json::from_value(Value::Object(record.event.clone())) {
                Ok(Event::Message {
                    message,
                    origin,
                    room,
                    interrupted,
                }) => messages.push(ShownMessage {
                    cursor: record.seq,
                    turn: record.turn,
                    origin,
                    room,
                    interrupted,
                    message,
                }),
                Ok(Event::Call(call)) => match calls.iter_mut().find(|it| it.id == call.id) {
                    Some(known) => *known = call,
                    None => calls.push(call),
                },
                _ => {}
            }
        }
        let history = &report.history;
        Self {
            session: report.id.clone(),
            name: history.name().map(str::to_owned),
            agent: history.agent().name.clone(),
            state: name_of(Overview::of(report).state(&report.id, sessions)),
            messages,
            calls,
            lineage: lineage(report, sessions),
            fork_points: history.fork_points().to_vec(),
            labels: history.labels().to_vec(),
        }
    }

    fn page(&self, longest: usize) -> String {
        let turns = self.messages.iter().filter_map(|said| said.turn).max();
        let turns = turns.unwrap_or_default();
        let mut page = format!(
            "{} · {} · {turns} {} · {}\n",
            self.name.as_deref().unwrap_or(self.session.as_str()),
            self.agent,
            if turns == 1 { "turn" } else { "turns" },
            self.state,
        );
        for parent in &self.lineage {
            let from = match parent {
                Parent::Copy { session, seq } => format!("copied from {session} after {seq}\n"),
                Parent::Call { session, call } => format!("asked by {session} in {call}\n"),
            };
            page.push_str(&from);
        }
        for said in &self.messages {
            for block in &said.message.content {
                page += &line_of(said, block, longest);
            }
        }
        let waits = |call: &&Call| call.state == CallState::ApprovalRequired;
        for call in self.calls.iter().filter(waits) {
            page.extend(["  ", &call.id, " ", &call.name, " waits for a decision\n"]);
            if let Some(preview) = &call.preview {
                page.extend(["\n", preview.diff.as_str()]);
                page.extend(preview.numbers.iter().map(|line| format!("{line}\n")));
            }
        }
        page
    }
}

fn line_of(said: &ShownMessage, block: &ContentBlock, longest: usize) -> String {
    match block {
        ContentBlock::Text { text } if said.origin == Origin::User => format!("\n> {text}\n"),
        ContentBlock::Text { text } if said.origin == Origin::Queued => format!("> {text}\n"),
        ContentBlock::Text { text } => {
            let cut = if said.interrupted { " [stopped]" } else { "" };
            format!("{}{cut}\n", text.trim_end())
        }
        ContentBlock::ToolUse { name, input, .. } => {
            format!("  {name} {}\n", beginning(&input.to_string(), longest))
        }
        ContentBlock::ToolResult {
            content, is_error, ..
        } => {
            let mark = if *is_error { "✗" } else { "→" };
            format!("  {mark} {}\n", beginning(content, longest))
        }
        _ => String::new(),
    }
}

fn beginning(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => text.get(..end).unwrap_or(text).replace('\n', " ") + " …",
        None if longest == usize::MAX => text.to_owned(),
        None => text.replace('\n', " "),
    }
}

/// Ends with the first ancestor that no longer exists.
fn lineage(report: &SessionReport, sessions: &Sessions) -> Vec<Parent> {
    let mut lineage = Vec::new();
    let mut next = report.history.agent().parent.clone();
    while let Some(parent) = next {
        next = sessions
            .read(parent.session())
            .ok()
            .and_then(|report| report.history.agent().parent.clone());
        lineage.push(parent);
    }
    lineage
}
