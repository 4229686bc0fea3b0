//! What lists need to know of each session, kept in the index of the sessions.

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

/// The version of the rows of the index. Another one makes every row again.
const VERSION: u32 = 5;

/// One session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::commands::agent) struct Overview {
    pub(super) name: Option<String>,
    pub(super) agent: String,
    /// The beginning of the first question.
    pub(super) title: String,
    pub(super) turns: u32,
    /// Tokens of all messages, in and out.
    pub(super) tokens: u64,
    /// The runs that the usage ledger accounts them to.
    pub(super) runs: BTreeSet<String>,
    pub(super) updated: Timestamp,
    /// The session that it comes from.
    pub(super) parent: Option<SessionId>,
    /// Whether the last turn has no answer.
    unfinished: bool,
    /// Whether an agent that it has asked waits for a decision.
    waits_elsewhere: bool,
    /// Whether a server has taken a message that has no answer.
    promised: bool,
    pub(in crate::commands::agent) waiting: Vec<WaitingCall>,
}

/// A call that waits for a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::commands::agent) struct WaitingCall {
    pub(in crate::commands::agent) call: CallView,
    /// When the model asked for it.
    pub(in crate::commands::agent) asked: Option<Timestamp>,
    /// Until when a decision counts; without end if absent.
    pub(in crate::commands::agent) expires: Option<Timestamp>,
}

/// A session with its overview.
pub(in crate::commands::agent) struct Listed {
    pub(in crate::commands::agent) id: SessionId,
    pub(in crate::commands::agent) overview: Overview,
}

/// Returns all sessions in the order of their ids; warns about those that cannot be read.
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

/// The sessions with a message that a server has taken and not answered. No process works on them.
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

/// Whether an agent that the session's agent has asked, in `levels` levels, waits for a decision.
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
