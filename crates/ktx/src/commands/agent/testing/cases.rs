//! Converts cases of files to cases of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use ktx_agent_eval::{
    Case, CaseTurn, Evaluation, ExpectedCall, Gold, Limits, Metric, ToolsMode, Truth,
};
use ktx_agent_file as file;
use ktx_agent_session::Spending;
use ktx_tool_descriptors::{ArgumentMatcher, WholeText};

use super::metrics::{evaluation, judge_name};
use super::rows;
use crate::report::Outcome;

pub(super) struct CaseDefaults<'a> {
    /// Seconds per attempt.
    pub(super) timeout_s: u64,
    /// Overrides the timeout of every case, in seconds.
    pub(super) all_timeouts_s: Option<u64>,
    pub(super) all_repeats: Option<u32>,
    pub(super) spending: Spending,
    pub(super) metrics: &'a [file::MetricEntry],
}

pub(super) fn case_of(case: &file::Case, defaults: &CaseDefaults<'_>) -> Outcome<Case> {
    let as_of = case.as_of.as_deref();
    let turns = case.turns.iter().map(|turn| turn_of(turn, as_of, defaults));
    let seconds = defaults
        .all_timeouts_s
        .or(case.timeout_s)
        .unwrap_or(defaults.timeout_s);
    Ok(Case {
        name: case.name.clone(),
        skip: case.skip.clone(),
        turns: turns.collect::<Outcome<_>>()?,
        tools_mode: mode_of(case.expected_tools_mode),
        forbidden_tools: case.forbidden_tools.clone(),
        limits: limits_of(case.limits, defaults.spending),
        repeats: defaults.all_repeats.unwrap_or(case.repeats),
        timeout: Duration::from_secs(seconds),
    })
}

fn turn_of(
    turn: &file::Turn,
    as_of: Option<&str>,
    defaults: &CaseDefaults<'_>,
) -> Outcome<CaseTurn> {
    let metrics = turn.evaluations.as_deref().unwrap_or(defaults.metrics);
    let metrics = metrics.iter().filter(|metric| metric.enabled);
    Ok(CaseTurn {
        input: turn.input.clone(),
        truths: turn
            .ground_truth
            .iter()
            .map(|truth| truth_of(truth, as_of))
            .collect(),
        expected_tools: turn
            .expected_tools
            .iter()
            .map(call_of)
            .collect::<Outcome<_>>()?,
        evaluations: metrics
            .map(evaluation)
            .collect::<Outcome<Vec<Evaluation>>>()?,
        context: Vec::new(),
        retrieved: turn.retrieval_context.clone(),
    })
}

fn truth_of(truth: &file::GroundTruth, as_of: Option<&str>) -> Truth {
    match truth {
        file::GroundTruth::Text { text } => Truth::Text(text.clone()),
        file::GroundTruth::Sql { sql, connection } => Truth::Gold(Gold::Sql {
            sql: sql.clone(),
            connection: connection.clone(),
        }),
        file::GroundTruth::Semantic {
            semantic,
            connection,
        } => Truth::Gold(Gold::Semantic {
            query: semantic.clone(),
            connection: connection.clone(),
            as_of: as_of.map(str::to_owned),
        }),
        file::GroundTruth::Rows { rows, columns } => {
            let width = rows.first().map_or(0, Vec::len);
            let numbered = (1..=width).map(|place| place.to_string());
            let columns = columns.clone().unwrap_or_else(|| numbered.collect());
            Truth::Rows(rows::table(columns, rows, ktx_agent_eval::Extent::Whole))
        }
        file::GroundTruth::Value { value } => Truth::Value(*value),
        file::GroundTruth::Refusal => Truth::Refusal,
    }
}

fn call_of(tool: &file::ExpectedTool) -> Outcome<ExpectedCall> {
    let arguments = tool.args.iter().map(|(name, matcher)| {
        let matcher = match matcher {
            file::ArgumentMatcher::Literal(value) => ArgumentMatcher::Literal(value.clone()),
            file::ArgumentMatcher::Fuzzy(text) => ArgumentMatcher::Fuzzy(text.clone()),
            file::ArgumentMatcher::Regex(pattern) => ArgumentMatcher::Pattern(
                WholeText::compile(pattern).map_err(|error| super::metrics::not_checked(&error))?,
            ),
        };
        Ok((name.clone(), matcher))
    });
    Ok(ExpectedCall {
        name: tool.name.clone(),
        arguments: arguments.collect::<Outcome<_>>()?,
        count: usize::try_from(tool.count).unwrap_or(usize::MAX),
    })
}

pub(super) const fn mode_of(mode: file::ExpectedToolsMode) -> ToolsMode {
    match mode {
        file::ExpectedToolsMode::Subset => ToolsMode::Subset,
        file::ExpectedToolsMode::Exact => ToolsMode::Exact,
        file::ExpectedToolsMode::Ordered => ToolsMode::Ordered,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "limits of tokens and seconds stay far below 2^53"
)]
fn limits_of(limits: Option<file::CaseLimits>, spending: Spending) -> Limits {
    let tokens = limits.and_then(|limits| limits.max_tokens);
    let seconds = limits.and_then(|limits| limits.max_seconds);
    let seconds = seconds.map(|seconds| seconds as f64);
    Limits {
        max_steps: limits.and_then(|limits| limits.max_turns).map(f64::from),
        max_usd: limits.and_then(|limits| limits.max_usd).or(spending.usd),
        max_tokens: tokens.or(spending.tokens).map(|tokens| tokens as f64),
        max_seconds: seconds.or(spending.minutes.map(|minutes| minutes * 60.0)),
    }
}

pub(super) fn need_judge(cases: &[Case]) -> bool {
    let is_judged = |it: &Evaluation| {
        matches!(
            it.metric,
            Metric::Refusal | Metric::Geval(_) | Metric::Rag(_)
        )
    };
    let mut turns = cases.iter().flat_map(|case| &case.turns);
    turns.any(|turn| {
        turn.evaluations.iter().any(is_judged)
            || (turn.evaluations.is_empty() && turn.truths.contains(&Truth::Refusal))
    })
}

/// Models of metrics, by [`judge_name`].
pub(super) fn own_judges<'a>(
    cases: impl Iterator<Item = &'a file::Case>,
    of_agent: &'a [file::MetricEntry],
) -> Outcome<BTreeMap<String, &'a file::Model>> {
    let turns = cases.flat_map(|case| &case.turns);
    let of_cases = turns.flat_map(|turn| turn.evaluations.iter().flatten());
    let mut models = BTreeMap::new();
    for entry in of_cases.chain(of_agent).filter(|entry| entry.enabled) {
        if let (Some(name), Some(model)) = (judge_name(entry)?, &entry.model) {
            models.insert(name, model.as_ref());
        }
    }
    Ok(models)
}
