//! Adds a warehouse with secrets outside `ktx.yaml`.

use ktx_config::Driver;
use ktx_diagnostics::{Code, Failure};

use super::{SetupStep, StepState, connect};
use crate::cli::{ConnectionAddArgs, ConnectionSettings, SetupArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::report::Outcome;

pub(super) fn step(
    args: &SetupArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    if let Some(driver) = &args.database {
        return added(args, driver, invocation, project);
    }
    if args.skip_databases {
        return Ok(SetupStep::new(
            "database",
            StepState::Skipped,
            "nothing can be asked yet",
        ));
    }
    let warehouses: Vec<_> = project.config.warehouses().collect();
    if warehouses.is_empty() {
        let step = SetupStep::new(
            "database",
            StepState::Missing,
            "there is no warehouse connection",
        );
        return Ok(step
            .hint("`--database postgres --database-url env:DATABASE_URL` adds one")
            .hint("`--database sqlite --database-url data.sqlite` reads a file")
            .hint("`--skip-databases` skips this step"));
    }
    let reached = connect::reach(&warehouses, invocation, project)?;
    Ok(reached.step("database", StepState::Ready))
}

pub(super) fn fitting(args: &SetupArgs) -> Outcome<()> {
    match (&args.database, &args.database_url) {
        (Some(driver), None) => Err(Failure::new(
            Code::DatabaseUrlRequired,
            format!("`--database {driver}` needs `--database-url`"),
        )
        .hint("use `ktx connection add` to give host, user and password one by one")),
        _ => Ok(()),
    }
}

fn added(
    args: &SetupArgs,
    driver: &str,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<SetupStep> {
    let url = args.database_url.clone().unwrap_or_default();
    let is_file = matches!(Driver::parse(driver), Some(Driver::Sqlite | Driver::DuckDb));
    let (path, url) = if is_file {
        (Some(url), None)
    } else {
        (None, Some(url))
    };
    let id = args
        .database_connection_id
        .clone()
        .map_or_else(|| usual_id(driver, invocation, project), Ok)?;
    let entry = ConnectionAddArgs {
        id,
        driver: driver.to_owned(),
        settings: ConnectionSettings {
            url,
            path,
            schema: args.database_schema.clone(),
            ..ConnectionSettings::default()
        },
        ..ConnectionAddArgs::default()
    };
    let asked = args.database_connection_id.as_deref();
    let known = connect::existing_step("database", &entry, asked, invocation, project)?;
    let Some((known, step)) = known else {
        return connect::added_step("database", &entry, invocation, project);
    };
    if args.database_schema.is_empty() {
        return Ok(step);
    }
    Ok(step.hint(format!(
        "its schemas stay as they are; change them under connections.{} in ktx.yaml",
        known.id
    )))
}

/// `sqlite-local` or `postgres-warehouse`, with a number if taken by a connection that has worked.
fn usual_id(driver: &str, invocation: &Invocation, project: &OpenProject) -> Outcome<String> {
    let place = if driver == "sqlite" || driver == "duckdb" {
        "local"
    } else {
        "warehouse"
    };
    let first = format!("{driver}-{place}");
    let is_free = |id: &String| project.config.connection(id).is_none();
    if is_free(&first) || connect::never_worked(&first, invocation, project)? {
        return Ok(first);
    }
    // One of these names is free.
    Ok((2..project.config.connections.len() + 3)
        .map(|number| format!("{first}-{number}"))
        .find(is_free)
        .unwrap_or(first))
}
