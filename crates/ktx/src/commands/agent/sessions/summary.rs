//! A session in one row.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use ktx_agent_session::{Event, SessionReport, Sessions};
use ktx_llm_runtime::{ContentBlock, Message, MessageRole};
use ktx_session_log::SessionId;
use ktx_usage_ledger::{Group, ReportRow, Window};
use serde::Serialize;
use serde_json::Value;

use crate::cli::SessionState;
use crate::invocation::OpenProject;
use crate::totals::read_report;

/// Characters of a session's first question.
const TITLE: usize = 60;

/// What `sessions list` says of a session.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) state: &'static str,
    /// The beginning of the first question.
    pub(super) title: String,
    pub(super) turns: u32,
    /// Tokens of all messages, in and out.
    pub(super) tokens: u64,
    /// At list prices; none if it is not known.
    pub(super) cost_usd: Option<f64>,
    pub(super) updated: Timestamp,
    /// The session that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<SessionId>,
    /// The calls that wait for a decision.
    pub(super) pending: Vec<String>,
}

/// What each run of a project has cost.
pub(super) struct Costs(BTreeMap<String, f64>);

impl Costs {
    /// Reads the ledger once. Without a ledger, no cost is known.
    pub(super) fn read(project: &OpenProject) -> Self {
        let window = Window {
            run_id: None,
            since: None,
        };
        let rows = read_report(project, Group::Run, &window).map(|report| report.rows);
        let known = rows.unwrap_or_default().into_iter();
        let known = known.filter(ReportRow::cost_is_known);
        Self(known.map(|row| (row.key, row.cost.dollars())).collect())
    }
}

impl Summary {
    pub(super) fn of(report: &SessionReport, sessions: &Sessions, costs: &Costs) -> Self {
        let history = &report.history;
        let used = used(report);
        let costs: Option<Vec<f64>> = used
            .runs
            .iter()
            .map(|run| costs.0.get(run).copied())
            .collect();
        Self {
            session: report.id.clone(),
            name: history.name().map(str::to_owned),
            agent: history.agent().name.clone(),
            state: name_of(state_of(report, sessions)),
            title: title_of(&history.messages()),
            turns: history.turn(),
            tokens: used.tokens,
            cost_usd: costs
                .filter(|costs| !costs.is_empty())
                .map(|costs| costs.iter().sum()),
            updated: report
                .records
                .last()
                .map_or(Timestamp::UNIX_EPOCH, |record| record.ts),
            parent: history
                .agent()
                .parent
                .as_ref()
                .map(|parent| parent.session.clone()),
            pending: history
                .waiting_calls()
                .into_iter()
                .map(|call| call.id)
                .collect(),
        }
    }
}

pub(super) fn state_of(report: &SessionReport, sessions: &Sessions) -> SessionState {
    let history = &report.history;
    if !history.is_unfinished() {
        SessionState::Ready
    } else if sessions.store().is_open(&report.id) {
        SessionState::Running
    } else if history.waiting_calls().is_empty() {
        SessionState::Interrupted
    } else {
        SessionState::Parked
    }
}

pub(super) const fn name_of(state: SessionState) -> &'static str {
    match state {
        SessionState::Ready => "ready",
        SessionState::Running => "running",
        SessionState::Parked => "parked",
        SessionState::Interrupted => "interrupted",
    }
}

struct Used {
    tokens: u64,
    runs: BTreeSet<String>,
}

fn used(report: &SessionReport) -> Used {
    let mut used = Used {
        tokens: 0,
        runs: BTreeSet::new(),
    };
    let facts = report.records.iter();
    for record in facts.filter(|record| record.kind() == "token_usage") {
        let event = serde_json::from_value(Value::Object(record.event.clone()));
        if let Ok(Event::TokenUsage(tokens)) = event {
            used.tokens += tokens.input_tokens
                + tokens.cache_creation_input_tokens
                + tokens.cache_read_input_tokens
                + tokens.output_tokens;
            used.runs.insert(tokens.run_id.to_string());
        }
    }
    used
}

/// The beginning of the first question.
pub(super) fn title_of(messages: &[Message]) -> String {
    let first = messages
        .iter()
        .find(|message| message.role == MessageRole::User);
    let text = first.map(text_of).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => line.get(..end).unwrap_or(line).to_owned() + "…",
        None => line.to_owned(),
    }
}

/// The words of a message.
pub(super) fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<&str>>().join("\n")
}
