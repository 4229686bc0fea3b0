//! One row of a session list.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ktx_agent_session::Sessions;
use ktx_llm_runtime::{ContentBlock, Message, MessageRole};
use ktx_session_log::SessionId;
use ktx_usage_ledger::{ReportGroup, ReportRow, ReportWindow};
use serde::Serialize;

use super::overview::Listed;
use crate::cli::SessionState;
use crate::invocation::OpenProject;
use crate::totals::read_report;

/// Characters of the first question.
const TITLE: usize = 60;

#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) session: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) agent: String,
    pub(super) state: &'static str,
    pub(super) title: String,
    pub(super) turns: u32,
    /// Input and output.
    pub(super) tokens: u64,
    /// At list prices; `None` if unknown.
    pub(super) cost_usd: Option<f64>,
    pub(super) updated: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<SessionId>,
    pub(super) pending: Vec<String>,
}

pub(super) struct Costs(BTreeMap<String, f64>);

impl Costs {
    pub(super) fn read(project: &OpenProject) -> Self {
        let window = ReportWindow {
            run_id: None,
            since: None,
        };
        let rows = read_report(project, ReportGroup::Run, &window).map(|report| report.rows);
        let known = rows.unwrap_or_default().into_iter();
        let known = known.filter(ReportRow::cost_is_known);
        Self(known.map(|row| (row.key, row.cost.dollars())).collect())
    }
}

impl Summary {
    pub(super) fn of(listed: Listed, sessions: &Sessions, costs: &Costs) -> Self {
        let Listed { id, overview } = listed;
        let used = overview.runs.iter().map(|run| costs.0.get(run).copied());
        let used: Option<Vec<f64>> = used.collect();
        Self {
            state: name_of(overview.state(&id, sessions)),
            session: id,
            name: overview.name,
            agent: overview.agent,
            title: overview.title,
            turns: overview.turns,
            tokens: overview.tokens,
            cost_usd: used
                .filter(|costs| !costs.is_empty())
                .map(|costs| costs.iter().sum()),
            updated: overview.updated,
            parent: overview.parent,
            pending: overview
                .waiting
                .into_iter()
                .map(|waiting| waiting.call.id)
                .collect(),
        }
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

pub(super) fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<&str>>().join("\n")
}
