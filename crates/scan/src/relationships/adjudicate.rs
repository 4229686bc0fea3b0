//! Asks the model to decide open links, a few per call.

use ktx_llm_runtime::{CallLabel, LlmError, LlmErrorKind, ObjectRequest, generate_typed};
use ktx_relationships::links::link::{Check, Endpoint, Link, Origin, Status};
use ktx_relationships::settings::Switch;
use ktx_relationships::{ColumnFacts, Facts, TableFacts};
use ktx_tool_descriptors::object_schema_for;
use ktx_vocabulary::ModelRole;
use ktx_warehouse::ScanWarning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pause::{FAILURES_IN_A_ROW, Pause, is_elsewhere, is_fatal};
use crate::profile::dictionary::example_values;
use crate::prompts::{ADJUDICATE, ADJUDICATE_SYSTEM, fenced, render};
use crate::relationships::discover::Discovery;
use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::{StageRows, digest};

/// Change whenever the prompt changes.
const VERSION: &str = "adjudicate-1";
/// Warning code for links that the model could not decide.
pub(crate) const UNDECIDED: &str = "relationship_llm_proposal_failed";
const PAIRS: usize = 8;
const VALUES: usize = 8;
/// Maximum characters shown of a value or name.
const LENGTH: usize = 60;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// One decision for each pair.
    decisions: Vec<PairDecision>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PairDecision {
    /// The number of the pair.
    pair: usize,
    /// The decision.
    verdict: ModelVerdict,
    /// Why, in at most 20 words.
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ModelVerdict {
    Link,
    NoLink,
    Unsure,
}

#[derive(Debug, Serialize)]
struct ShownPair {
    number: usize,
    from: String,
    to: String,
    from_type: String,
    to_type: String,
    measured: String,
    from_values: String,
    to_values: String,
    from_columns: String,
    to_columns: String,
}

/// A question to the model about one link.
struct Question {
    /// The index of the link.
    link: usize,
    shown: ShownPair,
    /// The digest of the question, by which the answer is stored.
    digest: String,
}

pub(crate) async fn adjudicate(
    request: &ScanRequest,
    facts: &Facts<'_>,
    rows: &StageRows,
    pause: &Pause,
    discovery: &mut Discovery,
) -> Result<(), ScanError> {
    let settings = &request.settings.relationships;
    let mut asked = unanswered(request, facts, rows, discovery)?;
    let mut failures = 0;
    while !asked.is_empty() && !pause.is_on() {
        let rest = asked.split_off(asked.len().min(PAIRS));
        let batch = std::mem::replace(&mut asked, rest);
        let decisions = match ask(request, &batch).await {
            Ok(decisions) => decisions,
            Err(ScanError::Model { source, .. }) => {
                let undecided = left_open(source, &mut failures, pause);
                discovery.warnings.extend(undecided);
                continue;
            }
            Err(error) => return Err(error),
        };
        failures = 0;
        discovery.model_calls += 1;
        for (number, question) in batch.iter().enumerate() {
            let Some(decision) = decisions
                .iter()
                .find(|decision| decision.pair == number + 1)
            else {
                continue;
            };
            let link = discovery.links.get(question.link);
            let unit = link.map(Link::id).unwrap_or_default();
            rows.put(
                "adjudication",
                &unit,
                &question.digest,
                &(decision.verdict, &decision.reason),
            )?;
            apply(
                discovery,
                question.link,
                decision.verdict,
                &decision.reason,
                settings.accept_threshold,
            );
        }
    }
    Ok(())
}

/// Returns the links that the model has not decided yet. Applies answers from earlier scans.
fn unanswered(
    request: &ScanRequest,
    facts: &Facts<'_>,
    rows: &StageRows,
    discovery: &mut Discovery,
) -> Result<Vec<Question>, ScanError> {
    let settings = &request.settings.relationships;
    let Some(runtime) = request
        .runtime
        .as_ref()
        .filter(|_| settings.model == Switch::On)
    else {
        return Ok(Vec::new());
    };
    let open: Vec<usize> = discovery
        .links
        .iter()
        .enumerate()
        .filter(|(_, link)| link.status == Status::Review && link.from.columns.len() == 1)
        .map(|(at, _)| at)
        .take(settings.max_model_tables * 4)
        .collect();
    let mut asked: Vec<Question> = Vec::new();
    for at in open {
        let Some(pair) = discovery
            .links
            .get(at)
            .and_then(|link| shown(request, facts, link))
        else {
            continue;
        };
        let text = serde_json::to_string(&pair).map_err(|error| ScanError::Internal {
            reason: error.to_string(),
        })?;
        let input = digest([VERSION, runtime.describe().name, &request.model, &text]);
        let unit = discovery.links.get(at).map(Link::id).unwrap_or_default();
        let stored: Option<(ModelVerdict, String)> = rows.get("adjudication", &unit, &input)?;
        match stored {
            Some((verdict, reason)) => {
                apply(discovery, at, verdict, &reason, settings.accept_threshold);
            }
            None => asked.push(Question {
                link: at,
                shown: pair,
                digest: input,
            }),
        }
    }
    Ok(asked)
}

/// Handles a failed call without losing the scan's results. The failure affects only the pairs of
/// this call; an error that every further call would hit, or several service failures in a row,
/// pauses the run.
fn left_open(error: LlmError, failures: &mut usize, pause: &Pause) -> Option<ScanWarning> {
    let is_elsewhere = is_elsewhere(error.kind);
    *failures = if is_elsewhere { *failures + 1 } else { 0 };
    if *failures >= FAILURES_IN_A_ROW || (!is_elsewhere && is_fatal(error.kind)) {
        pause.hold(error);
        return None;
    }
    let error = pause.take(error).err()?;
    Some(failed(&error.to_string()))
}

async fn ask(request: &ScanRequest, batch: &[Question]) -> Result<Vec<PairDecision>, ScanError> {
    let Some(runtime) = &request.runtime else {
        return Ok(Vec::new());
    };
    let pairs: Vec<ShownPair> = batch
        .iter()
        .enumerate()
        .map(|(at, Question { shown: pair, .. })| ShownPair {
            number: at + 1,
            from: pair.from.clone(),
            to: pair.to.clone(),
            from_type: pair.from_type.clone(),
            to_type: pair.to_type.clone(),
            measured: pair.measured.clone(),
            from_values: pair.from_values.clone(),
            to_values: pair.to_values.clone(),
            from_columns: pair.from_columns.clone(),
            to_columns: pair.to_columns.clone(),
        })
        .collect();
    let schema = object_schema_for::<Answer>().map_err(|error| ScanError::Internal {
        reason: error.to_string(),
    })?;
    let call = ObjectRequest {
        role: ModelRole::CandidateExtraction,
        system: ADJUDICATE_SYSTEM.to_owned(),
        prompt: render(ADJUDICATE, serde_json::json!({ "pairs": pairs }))?,
        schema,
        cancel: request.cancel.clone(),
        label: CallLabel {
            run_id: request.run_id.clone(),
            stage: "relationships".to_owned(),
            unit: batch.first().map(|question| question.shown.from.clone()),
            connection: Some(request.connection.clone()),
        },
    };
    match generate_typed::<Answer>(runtime.as_ref(), call).await {
        Ok((answer, _)) => Ok(answer.decisions),
        Err(error) if error.kind == LlmErrorKind::Cancelled => Err(ScanError::Cancelled),
        Err(source) => Err(ScanError::Model {
            connection: request.connection.clone(),
            source,
        }),
    }
}

fn apply(
    discovery: &mut Discovery,
    at: usize,
    verdict: ModelVerdict,
    reason: &str,
    threshold: f64,
) {
    let Some(link) = discovery.links.get_mut(at) else {
        return;
    };
    let reason = fenced(reason, 200);
    match verdict {
        ModelVerdict::Link if link.check != Check::None => {
            link.status = Status::Accepted;
            link.origin = Origin::Model;
            link.score = link.score.max(threshold);
            link.reasons
                .push(format!("the model says it is a link: {reason}"));
        }
        ModelVerdict::Link => link.reasons.push(format!(
            "the model says it is a link, but no values confirm it: {reason}"
        )),
        ModelVerdict::NoLink => {
            link.status = Status::Rejected;
            link.reasons
                .push(format!("the model says it is not a link: {reason}"));
        }
        ModelVerdict::Unsure => link
            .reasons
            .push(format!("the model is not sure: {reason}")),
    }
}

fn shown(request: &ScanRequest, facts: &Facts<'_>, link: &Link) -> Option<ShownPair> {
    let (from_table, from) = find(facts, &link.from)?;
    let (to_table, to) = find(facts, &link.to)?;
    let values = |table: &TableFacts<'_>, column: &ColumnFacts<'_>| {
        let values = column
            .profile
            .map(|profile| {
                example_values(&table.table.table.name, profile, VALUES, &request.settings)
            })
            .unwrap_or_default();
        if values.is_empty() {
            return "(not shown)".to_owned();
        }
        values
            .iter()
            .map(|value| fenced(value, LENGTH))
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let columns = |table: &TableFacts<'_>| {
        let names = table
            .columns
            .iter()
            .take(20)
            .map(|column| fenced(&column.column.name, LENGTH));
        names.collect::<Vec<_>>().join(", ")
    };
    Some(ShownPair {
        number: 0,
        from: fenced(
            &format!("{}.{}", link.from.table, from.column.name),
            LENGTH * 3,
        ),
        to: fenced(&format!("{}.{}", link.to.table, to.column.name), LENGTH * 3),
        from_type: fenced(&from.column.native_type, LENGTH),
        to_type: fenced(&to.column.native_type, LENGTH),
        measured: fenced(&link.reasons.join("; "), 400),
        from_values: values(from_table, from),
        to_values: values(to_table, to),
        from_columns: columns(from_table),
        to_columns: columns(to_table),
    })
}

fn find<'f, 'a>(
    facts: &'f Facts<'a>,
    side: &Endpoint,
) -> Option<(&'f TableFacts<'a>, &'f ColumnFacts<'a>)> {
    let table = facts
        .tables
        .iter()
        .find(|table| table.table.table == side.table)?;
    let column = table
        .columns
        .iter()
        .find(|column| side.columns.first() == Some(&column.column.name))?;
    Some((table, column))
}

fn failed(message: &str) -> ScanWarning {
    ScanWarning {
        code: UNDECIDED.to_owned(),
        message: format!(
            "the model could not decide some links, which stay under review: {message}"
        ),
        table: None,
        column: None,
        recoverable: true,
    }
}
