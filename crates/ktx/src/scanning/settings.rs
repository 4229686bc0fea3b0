//! Scan settings from `ktx.yaml` and arguments.

use ktx_config::{Connection, ValidationBudget as ConfigBudget};
use ktx_diagnostics::{Code, Failure};
use ktx_scan::{
    Budget, History, PastQuery, People, RelationshipSettings, ScanSettings, Switch,
    ValidationBudget,
};
use serde_json::Value;

use crate::cli::QueryHistoryArgs;
use crate::invocation::OpenProject;
use crate::report::Outcome;

pub(super) fn settings(
    project: &OpenProject,
    connection: &Connection,
    budget: Budget,
    requested: QueryHistoryArgs,
) -> Outcome<ScanSettings> {
    let configured = &project.config.scan.relationships;
    let switch = |on| if on { Switch::On } else { Switch::Off };
    Ok(ScanSettings {
        budget,
        history: overridden(history(project, connection)?, requested),
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

fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn overridden(mut history: History, requested: QueryHistoryArgs) -> History {
    if requested.query_history || requested.query_history_window_days.is_some() {
        history.warehouse = Switch::On;
    }
    if requested.no_query_history {
        history.warehouse = Switch::Off;
        history.queries.clear();
    }
    if let Some(days) = requested.query_history_window_days {
        history.days = days;
    }
    history
}

fn history_field<'a>(connection: &'a Connection, key: &str) -> Option<&'a Value> {
    let context = connection.fields.get("context")?;
    context.get("queryHistory")?.get(key)
}

pub(crate) fn reads_history(connection: &Connection) -> bool {
    let enabled = history_field(connection, "enabled").and_then(Value::as_bool);
    enabled.unwrap_or(false)
}

pub(crate) fn days_of_history(connection: &Connection) -> u32 {
    let days = history_field(connection, "windowDays").and_then(Value::as_u64);
    days.and_then(|days| u32::try_from(days).ok())
        .unwrap_or(History::default().days)
}

fn history(project: &OpenProject, connection: &Connection) -> Outcome<History> {
    let usual = History::default();
    let queries = match history_field(connection, "file").and_then(Value::as_str) {
        Some(file) => vec![query_file(project, connection, file)?],
        None => Vec::new(),
    };
    Ok(History {
        warehouse: if reads_history(connection) {
            Switch::On
        } else {
            Switch::Off
        },
        days: days_of_history(connection),
        least_runs: history_field(connection, "minExecutions")
            .and_then(Value::as_u64)
            .unwrap_or(usual.least_runs),
        queries,
        schemas: texts(history_field(connection, "enabledSchemas")),
        tables: texts(history_field(connection, "enabledTables")),
        people: people(connection)?,
    })
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Patterns without a mode exclude users.
fn people(connection: &Connection) -> Outcome<People> {
    let found = history_field(connection, "filters").and_then(|found| found.get("serviceAccounts"));
    let patterns = texts(found.and_then(|found| found.get("patterns")));
    if patterns.is_empty() {
        return Ok(People::All);
    }
    let mode = found.and_then(|found| found.get("mode")?.as_str());
    let people = match mode {
        Some("include") => People::only(&patterns),
        _ => People::without(&patterns),
    };
    let people = people.map_err(|error| {
        Failure::new(
            Code::QueryHistoryPattern,
            format!("a pattern of user names is not a regular expression: {error}"),
        )
        .hint(format!(
            "correct `connections.{}.context.queryHistory.filters.serviceAccounts.patterns`",
            connection.id
        ))
    })?;
    Ok(if mode == Some("mark-only") {
        People::All
    } else {
        people
    })
}

pub(crate) fn past_queries(project: &OpenProject, connection: &Connection) -> Outcome<Vec<String>> {
    let Some(file) = history_field(connection, "file").and_then(Value::as_str) else {
        return Ok(Vec::new());
    };
    let text = query_file(project, connection, file)?.text;
    Ok(text.split(";\n").map(str::to_owned).collect())
}

fn query_file(project: &OpenProject, connection: &Connection, file: &str) -> Outcome<PastQuery> {
    let path = project.dir.join(file);
    let failure = |reason: String| {
        Failure::new(Code::QueryHistoryFile, reason).hint(format!(
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
