//! Runners without a model: semantic layer and search.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use ktx_agent_eval::{
    AgentRunner, AskEffect, AskError, AttemptRequest, Case, CaseTurn, Conversation, Evaluation,
    Gold, Limits, Metric, Truth, TurnRecord, Usage,
};
use ktx_agent_file as file;
use ktx_context_tools::wire::DiscoverInput;
use ktx_context_tools::{ProjectContext, discover};
use ktx_diagnostics::Failure;

use super::gold::{Warehouse, told};

const FIRST: usize = 10;

fn alone(case: Case, turns: Vec<CaseTurn>) -> Case {
    Case {
        turns,
        forbidden_tools: Vec::new(),
        limits: Limits::default(),
        repeats: 1,
        ..case
    }
}

fn skipped(case: Case, reason: &str) -> Case {
    Case {
        skip: case.skip.or_else(|| Some(reason.to_owned())),
        ..case
    }
}

fn semantic(turn: &CaseTurn) -> Option<&Gold> {
    turn.truths.iter().find_map(|truth| match truth {
        Truth::Gold(gold @ Gold::Semantic { .. }) => Some(gold),
        _ => None,
    })
}

pub(super) struct Planner<'a> {
    warehouse: &'a Warehouse,
    queries: BTreeMap<String, Vec<Gold>>,
}

impl<'a> Planner<'a> {
    /// Uses the semantic queries as answers, SQL and rows as references. Skips cases without both.
    pub(super) fn new(warehouse: &'a Warehouse, cases: Vec<Case>) -> (Self, Vec<Case>) {
        let mut queries = BTreeMap::new();
        let mut compared = Vec::with_capacity(cases.len());
        for case in cases {
            let mut golds = Vec::new();
            let mut turns = Vec::new();
            for turn in &case.turns {
                let references = turn.truths.iter().filter(|truth| {
                    matches!(truth, Truth::Rows(_) | Truth::Gold(Gold::Sql { .. }))
                });
                let references: Vec<Truth> = references.cloned().collect();
                if let Some(gold) = semantic(turn)
                    && !references.is_empty()
                {
                    let by_rows = |it: &&Evaluation| matches!(it.metric, Metric::SqlResult { .. });
                    golds.push(gold.clone());
                    turns.push(CaseTurn {
                        truths: references,
                        expected_tools: Vec::new(),
                        evaluations: turn.evaluations.iter().filter(by_rows).cloned().collect(),
                        ..turn.clone()
                    });
                }
            }
            compared.push(if turns.is_empty() {
                skipped(case, "the case has not both `semantic` and `sql`")
            } else {
                queries.insert(case.name.clone(), golds);
                alone(case, turns)
            });
        }
        (Self { warehouse, queries }, compared)
    }
}

fn failed(failure: &Failure) -> AskError {
    AskError {
        message: told(failure),
        effect: AskEffect::Lasting,
        usage: Usage::NOTHING,
    }
}

fn conversation(turns: Vec<TurnRecord>, begun: Instant) -> Conversation {
    Conversation {
        turns,
        usage: Usage::NOTHING,
        seconds: begun.elapsed().as_secs_f64(),
        ..Conversation::default()
    }
}

#[async_trait]
impl AgentRunner for Planner<'_> {
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError> {
        let begun = Instant::now();
        let mut turns = Vec::new();
        for gold in self.queries.get(&attempt.case.name).into_iter().flatten() {
            if let Gold::Semantic {
                query,
                connection,
                as_of,
            } = gold
            {
                let rows = self
                    .warehouse
                    .semantic(query, connection.clone(), as_of.as_deref());
                let rows = rows.await;
                turns.push(TurnRecord {
                    rows: Some(rows.map_err(|failure| failed(&failure))?.table),
                    ..TurnRecord::default()
                });
            }
        }
        Ok(conversation(turns, begun))
    }
}

pub(super) struct Retrieval {
    pub(super) contexts: BTreeMap<String, Arc<dyn ProjectContext>>,
}

impl Retrieval {
    /// Expects the sources of each case. Skips cases without them.
    pub(super) fn cases(cases: Vec<Case>, of_file: &[file::Case]) -> Vec<Case> {
        let wanted = |name: &str| {
            let case = of_file.iter().find(|case| case.name == name);
            case.map(|case| case.expected_sources.clone())
                .filter(|sources| !sources.is_empty())
        };
        let judged = cases.into_iter().map(|case| match wanted(&case.name) {
            None => skipped(case, "the case has no `expected_sources`"),
            Some(sources) => {
                let first = case.turns.first().cloned();
                let turns = first.into_iter().map(|turn| CaseTurn {
                    truths: Vec::new(),
                    expected_tools: Vec::new(),
                    evaluations: vec![Evaluation {
                        metric: Metric::Sources(sources.clone()),
                        name: None,
                        threshold: None,
                        response_path: None,
                        judge: None,
                    }],
                    ..turn
                });
                let turns = turns.collect();
                alone(case, turns)
            }
        });
        judged.collect()
    }
}

#[async_trait]
impl AgentRunner for Retrieval {
    async fn ask(&self, attempt: AttemptRequest<'_>) -> Result<Conversation, AskError> {
        let begun = Instant::now();
        let mut turns = Vec::new();
        let context = self.contexts.get(attempt.arm);
        for (turn, context) in attempt.case.turns.iter().zip(context) {
            let input = DiscoverInput {
                query: turn.input.clone(),
                connection_id: None,
                kinds: None,
                limit: Some(FIRST),
            };
            let found = discover(context.as_ref(), &input).await;
            let found = found.map_err(|failure| failed(&failure))?;
            turns.push(TurnRecord {
                found: found.refs.into_iter().map(|found| found.id).collect(),
                ..TurnRecord::default()
            });
        }
        Ok(conversation(turns, begun))
    }
}
