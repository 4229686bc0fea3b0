//! The settings of a scan, from `ktx.yaml` and the command line.

use ktx_config::{Connection, ValidationBudget as ConfigBudget};
use ktx_scan::{
    Budget, History, PastQuery, RelationshipSettings, ScanSettings, Switch, ValidationBudget,
};
use serde_json::Value;

use crate::exit::Exit;
use crate::report::{Failure, Outcome};
use crate::session::Opened;

/// The settings for one connection.
pub(super) fn settings(
    opened: &Opened,
    connection: &Connection,
    budget: Budget,
) -> Outcome<ScanSettings> {
    let configured = &opened.config.scan.relationships;
    Ok(ScanSettings {
        budget,
        history: history(opened, connection)?,
        relationships: RelationshipSettings {
            discovery: switch(configured.enabled),
            model: switch(configured.llm_proposals),
            accept_threshold: configured.accept_threshold,
            review_threshold: configured.review_threshold,
            validation_required: switch(configured.validation_required),
            max_model_tables: count(configured.max_llm_tables_per_batch),
            max_candidates_per_column: count(configured.max_candidates_per_column),
            profile_sample_rows: count(configured.profile_sample_rows),
            profile_concurrency: count(configured.profile_concurrency),
            validation_concurrency: count(configured.validation_concurrency),
            validation_budget: match configured.validation_budget {
                ConfigBudget::Unset => ValidationBudget::Automatic,
                ConfigBudget::All => ValidationBudget::All,
                ConfigBudget::Queries(queries) => ValidationBudget::Statements(count(queries)),
            },
        },
        ..ScanSettings::default()
    })
}

const fn switch(on: bool) -> Switch {
    if on { Switch::On } else { Switch::Off }
}

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// `context.queryHistory` of a connection.
fn history(opened: &Opened, connection: &Connection) -> Outcome<History> {
    let usual = History::default();
    let found = connection.fields.get("context");
    let Some(found) = found.and_then(|context| context.get("queryHistory")) else {
        return Ok(usual);
    };
    let number = |key: &str| found.get(key).and_then(Value::as_u64);
    let enabled = found.get("enabled").and_then(Value::as_bool);
    let queries = match found.get("file").and_then(Value::as_str) {
        Some(file) => vec![file_of_queries(opened, connection, file)?],
        None => Vec::new(),
    };
    Ok(History {
        warehouse: switch(enabled.unwrap_or(false)),
        days: number("windowDays")
            .and_then(|days| u32::try_from(days).ok())
            .unwrap_or(usual.days),
        least_runs: number("minExecutions").unwrap_or(usual.least_runs),
        queries,
    })
}

fn file_of_queries(opened: &Opened, connection: &Connection, file: &str) -> Outcome<PastQuery> {
    let path = opened.dir.join(file);
    let failure = |reason: String| {
        Failure::new(Exit::Config, "query_history_file", reason).hint(format!(
            "correct `connections.{}.context.queryHistory.file`; its path is relative to the project",
            connection.id
        ))
    };
    let bytes = ktx_project_store::read_optional(&path)
        .map_err(|error| failure(ktx_diagnostics::chain(&error).join(": ")))?
        .ok_or_else(|| failure(format!("there is no file `{file}`")))?;
    Ok(PastQuery {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        runs: 1,
    })
}
