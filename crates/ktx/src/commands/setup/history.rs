//! Enables and disables past queries.

use ktx_config::{Connection, edit};
use ktx_diagnostics::{Code, Failure};
use serde_json::{Value, json};

use super::{SetupStep, StepState};
use crate::cli::SetupArgs;
use crate::compose;
use crate::connections;
use crate::connections::check::check_all;
use crate::connections::config_file::{current, edit_failure, meaning, write};
use crate::connections::history::PastQueries;
use crate::invocation::{Invocation, OpenProject, load};
use crate::locking::lock;
use crate::report::Outcome;
use crate::scanning::reads_history;

pub(super) fn step(
    args: &SetupArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<SetupStep>> {
    let asked = &args.history;
    if !asked.enable_query_history && !asked.disable_query_history {
        return Ok(None);
    }
    if asked.disable_query_history {
        return turned_off(args, project);
    }
    let Some(connection) = connection(args, project)? else {
        let nothing = SetupStep::new("history", StepState::Skipped, "there is no warehouse");
        return Ok(Some(nothing));
    };
    let id = connection.id.as_str();
    let connector = compose::connector(invocation, &project.dir, connection)?;
    if connector.query_history(1).is_none() {
        return Err(Failure::new(
            Code::QueryHistoryUnsupported,
            format!("`{id}` is {}, which keeps no record of queries that ktx can read", connection.driver),
        )
        .hint("leave `--enable-query-history` out; `context.queryHistory.file` names queries of your own"));
    }
    change(project, id, &wanted(args))?;
    let project = load(&project.dir, &invocation.environment)?;
    tried(id, invocation, &project).map(Some)
}

/// Affects the named warehouse or all; `None` if nothing changes.
fn turned_off(args: &SetupArgs, project: &OpenProject) -> Outcome<Option<SetupStep>> {
    let mut reading: Vec<&Connection> = match (&args.database, &args.database_connection_id) {
        (None, None) => project.config.warehouses().collect(),
        _ => connection(args, project)?.into_iter().collect(),
    };
    reading.retain(|connection| reads_history(connection));
    let ids: Vec<&str> = reading
        .iter()
        .map(|connection| connection.id.as_str())
        .collect();
    for id in &ids {
        change(project, id, &[(&["enabled"], json!(false))])?;
    }
    if ids.is_empty() {
        return Ok(None);
    }
    let detail = format!("{}: past queries are not read", ids.join(", "));
    let step = SetupStep::new("history", StepState::Done, detail);
    Ok(Some(step.hint("ktx.yaml has uncommitted changes")))
}

fn connection<'a>(args: &SetupArgs, project: &'a OpenProject) -> Outcome<Option<&'a Connection>> {
    if let Some(id) = &args.database_connection_id {
        return connections::find(&project.config, id).map(Some);
    }
    let Some(driver) = &args.database else {
        let is_there = project.config.warehouses().next().is_some();
        return is_there
            .then(|| connections::warehouse(&project.config, None))
            .transpose();
    };
    let mut fitting = project
        .config
        .warehouses()
        .filter(|found| found.driver.as_str() == driver);
    match (fitting.next(), fitting.next()) {
        (found, None) => Ok(found),
        (_, Some(_)) => Err(Failure::new(
            Code::ConnectionRequired,
            format!("the project has several {driver} connections"),
        )
        .hint("name one with `--database-connection-id`")),
    }
}

fn wanted(args: &SetupArgs) -> Vec<(&'static [&'static str], Value)> {
    let asked = &args.history;
    let mut keys: Vec<(&'static [&'static str], Value)> = vec![(&["enabled"], json!(true))];
    if let Some(days) = asked.query_history_window_days {
        keys.push((&["windowDays"], json!(days)));
    }
    if let Some(runs) = asked.query_history_min_executions {
        keys.push((&["minExecutions"], json!(runs)));
    }
    let accounts = &asked.query_history_service_account_pattern;
    if !accounts.is_empty() {
        keys.push((&["filters", "serviceAccounts", "patterns"], json!(accounts)));
        keys.push((&["filters", "serviceAccounts", "mode"], json!("exclude")));
    }
    let hidden = &asked.query_history_redaction_pattern;
    if !hidden.is_empty() {
        keys.push((&["redactionPatterns"], json!(hidden)));
    }
    keys
}

/// All keys or none.
fn change(project: &OpenProject, id: &str, keys: &[(&[&str], Value)]) -> Outcome<()> {
    let held = lock(project, "ktx setup")?;
    let mut text = current(project)?.text;
    for (key, value) in keys {
        let mut path = vec!["connections", id, "context", "queryHistory"];
        path.extend_from_slice(key);
        text = edit::set(&text, &path, value).map_err(|error| edit_failure(&error))?;
    }
    meaning(&text)?;
    write(project, &text)?;
    drop(held);
    Ok(())
}

/// Unreadable history is not a failure: scans skip and report it.
fn tried(id: &str, invocation: &Invocation, project: &OpenProject) -> Outcome<SetupStep> {
    let connection = connections::find(&project.config, id)?;
    let tested = check_all(&[connection], invocation, project)?;
    let past = tested.into_iter().find_map(|tested| tested.history);
    let detail = match &past {
        Some(PastQueries::Failed(reason)) => {
            format!("{id}: past queries cannot be read yet: {reason}")
        }
        Some(past) => format!("{id}: past queries are read: {}", past.detail()),
        None => format!("{id}: past queries are read"),
    };
    let dialect = compose::dialect(connection.driver);
    let fix = past
        .as_ref()
        .and_then(|past: &PastQueries| past.fix(dialect));
    let step = SetupStep::new("history", StepState::Done, detail);
    let step = fix.into_iter().fold(step, SetupStep::hint);
    Ok(step.hint("ktx.yaml has uncommitted changes"))
}
