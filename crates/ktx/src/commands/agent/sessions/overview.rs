//! Indexed facts about sessions, for lists.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ktx_agent_session::{
    ASK_AGENT, CallState, CallView, Event, MOST_LEVELS, SessionReport, Sessions,
};
use ktx_session_log::{Indexed, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::summary::title_of;
use crate::cli::SessionState;
use crate::commands::agent::failures::session_failure;
use crate::invocation::OpenProject;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

/// The version of index rows; a new one rebuilds them.
const VERSION: u32 = 5;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::commands::agent) struct Overview {
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) title: String,
    pub(super) turns: u32,
    /// Input and output.
    pub(super) tokens: u64,
    /// Runs in the usage ledger.
    pub(super) runs: BTreeSet<String>,
    pub(super) updated: Timestamp,
    pub(super) parent: Option<SessionId>,
    unfinished: bool,
    /// True if an asked agent waits for a decision.
    waits_elsewhere: bool,
    /// True if a server accepted a message without answering it.
    promised: bool,
    pub(in crate::commands::agent) waiting: Vec<WaitingCall>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::commands::agent) struct WaitingCall {
    pub(in crate::commands::agent) call: CallView,
    pub(in crate::commands::agent) asked: Option<Timestamp>,
    /// `None` means no time limit.
    pub(in crate::commands::agent) expires: Option<Timestamp>,
}

pub(in crate::commands::agent) struct Listed {
    pub(in crate::commands::agent) id: SessionId,
    pub(in crate::commands::agent) overview: Overview,
}

/// Sorted by id. Skips unreadable sessions with a warning.
pub(in crate::commands::agent) fn overviews(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<Listed>> {
    let read = |id: &SessionId| sessions.read(id).map(|report| Overview::of(&report));
    let indexed = sessions.store().indexed(VERSION, read);
    let mut listed = Vec::new();
    for Indexed { id, row } in indexed.map_err(session_failure)? {
        match row {
            Ok(overview) => listed.push(Listed { id, overview }),
            Err(error) => {
                let failure = session_failure(error).seen_from(&project.dir);
                printer.note(&format!("warning: {}", failure.message));
            }
        }
    }
    Ok(listed)
}

impl Overview {
    pub(super) fn of(report: &SessionReport) -> Self {
        let history = &report.history;
        let mut overview = Self {
            name: history.name().map(str::to_owned),
            agent: history.agent().name.clone(),
            title: title_of(&history.messages()),
            turns: history.turn(),
            tokens: 0,
            runs: BTreeSet::new(),
            updated: report
                .records
                .last()
                .map_or(Timestamp::UNIX_EPOCH, |record| record.ts),
            parent: history
                .agent()
                .parent
                .as_ref()
                .map(|parent| parent.session().clone()),
            unfinished: history.is_unfinished(),
            waits_elsewhere: history
                .open_calls()
                .any(|call| call.name == ASK_AGENT && call.state == CallState::Approved),
            promised: history.is_promised(),
            waiting: waiting(report),
        };
        overview.count_tokens(report);
        overview
    }

    fn count_tokens(&mut self, report: &SessionReport) {
        let facts = report.records.iter();
        for record in facts.filter(|record| record.kind() == "token_usage") {
            let event = serde_json::from_value(Value::Object(record.event.clone()));
            if let Ok(Event::TokenUsage(tokens)) = event {
                self.tokens += tokens.input_tokens
                    + tokens.cache_creation_input_tokens
                    + tokens.cache_read_input_tokens
                    + tokens.output_tokens;
                self.runs.insert(tokens.run_id.to_string());
            }
        }
    }

    pub(super) fn state(&self, id: &SessionId, sessions: &Sessions) -> SessionState {
        if !self.unfinished {
            SessionState::Ready
        } else if sessions.store().is_open(id) {
            SessionState::Running
        } else if self.waiting.is_empty() && !self.waits_elsewhere {
            SessionState::Interrupted
        } else {
            SessionState::Parked
        }
    }
}

/// Sessions with an accepted but unanswered message, on which no process works.
pub(in crate::commands::agent) fn promised(
    sessions: &Sessions,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<SessionId>> {
    let listed = overviews(sessions, project, printer)?;
    let left = listed.iter().filter(|it| {
        it.overview.promised
            && !sessions.store().is_open(&it.id)
            && !waits_for_person(it, &listed, MOST_LEVELS)
    });
    Ok(left.map(|it| it.id.clone()).collect())
}

/// Searches asked agents up to `levels` deep.
fn waits_for_person(session: &Listed, listed: &[Listed], levels: u32) -> bool {
    let is_asked = |other: &&Listed| other.overview.parent.as_ref() == Some(&session.id);
    let waits = |other: &Listed| {
        !other.overview.waiting.is_empty() || waits_for_person(other, listed, levels - 1)
    };
    levels > 0 && session.overview.waits_elsewhere && listed.iter().filter(is_asked).any(waits)
}

fn waiting(report: &SessionReport) -> Vec<WaitingCall> {
    let calls = report.history.waiting_calls().into_iter();
    let waiting = calls.map(|call| {
        let asked = report.records.iter().rfind(|record| {
            record.kind() == "permission_required"
                && record.event["call"]["id"] == call.id
                && !record.event.contains_key("session")
        });
        WaitingCall {
            call: call.view(),
            asked: asked.map(|record| record.ts),
            expires: call.expires,
        }
    });
    waiting.collect()
}
