//! Adds a context source with references to its secrets.

use ktx_config::{Driver, DriverKind};
use ktx_diagnostics::{Code, Failure};
use serde_json::json;

use super::{SetupStep, connect};
use crate::cli::{ConnectionAddArgs, ConnectionSettings, SetupArgs, SetupSourceArgs};
use crate::invocation::{Invocation, OpenProject};
use crate::report::Outcome;

pub(super) fn step(
    args: &SetupArgs,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<SetupStep>> {
    let Some(driver) = driver(&args.source)? else {
        return Ok(None);
    };
    let mut field = fields(&args.source, driver)?;
    field.extend(mapping(&args.source, project)?);
    let asked = args.source.source_connection_id.clone();
    let entry = ConnectionAddArgs {
        id: asked.clone().unwrap_or_else(|| format!("{driver}-main")),
        driver: driver.to_string(),
        settings: ConnectionSettings {
            field,
            ..ConnectionSettings::default()
        },
        ..ConnectionAddArgs::default()
    };
    let known = connect::existing_step("source", &entry, asked.as_deref(), invocation, project)?;
    if let Some((_, step)) = known {
        return Ok(Some(step));
    }
    let step = connect::added_step("source", &entry, invocation, project)?;
    Ok(Some(
        step.hint(format!("`ktx ingest {}` reads it", entry.id)),
    ))
}

/// Flags of other kinds must not be ignored.
pub(super) fn fitting(args: &SetupArgs) -> Outcome<()> {
    if let Some(driver) = driver(&args.source)? {
        fields(&args.source, driver)?;
    }
    Ok(())
}

fn driver(args: &SetupSourceArgs) -> Outcome<Option<Driver>> {
    let Some(name) = &args.source else {
        return Ok(None);
    };
    let kinds = || {
        let drivers = Driver::ALL.into_iter();
        drivers.filter(|driver| driver.kind() == DriverKind::ContextSource)
    };
    let found = kinds().find(|driver| driver.as_str() == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = kinds().map(Driver::as_str).collect();
        usage(format!("unknown kind of context source `{name}`"))
            .hint(format!("use one of {}", names.join(", ")))
    })
}

/// The format of `ktx connection add --field`.
fn fields(args: &SetupSourceArgs, driver: Driver) -> Outcome<Vec<String>> {
    let mut fields = Vec::new();
    let mut foreign = Vec::new();
    let given = given(args);
    for (flag, value) in &given {
        match field(flag, driver) {
            Some(_) if flag.ends_with("-ref") && !is_reference(value) => {
                return Err(usage(format!("`{flag}` takes `env:NAME` or `file:PATH`"))
                    .hint("keep the secret out of the command line, where others can see it"));
            }
            Some(field) => fields.push(format!("{field}={value}")),
            None => foreign.push(*flag),
        }
    }
    if args.metabase_database_id.is_some() && driver != Driver::Metabase {
        foreign.push("--metabase-database-id");
    }
    match foreign.first() {
        None => Ok(fields),
        Some(flag) => Err(
            usage(format!("`{flag}` does not belong to `--source {driver}`"))
                .hint(format!("its flags are {}", own(driver).join(", "))),
        ),
    }
}

fn given(args: &SetupSourceArgs) -> Vec<(&'static str, String)> {
    let roots = &args.notion_root_page_id;
    let roots = (!roots.is_empty()).then(|| json!(roots).to_string());
    let values = [
        &args.source_path,
        &args.source_git_url,
        &args.source_branch,
        &args.source_subpath,
        &args.source_auth_token_ref,
        &args.source_url,
        &args.source_api_key_ref,
        &args.source_client_id,
        &args.source_client_secret_ref,
        &args.source_project_name,
        &args.source_profiles_path,
        &args.source_target,
        &args.notion_crawl_mode,
        &roots,
    ];
    let given = FLAGS.into_iter().zip(values);
    given
        .filter_map(|(flag, value)| Some((flag, value.clone()?)))
        .collect()
}

const FLAGS: [&str; 14] = [
    "--source-path",
    "--source-git-url",
    "--source-branch",
    "--source-subpath",
    "--source-auth-token-ref",
    "--source-url",
    "--source-api-key-ref",
    "--source-client-id",
    "--source-client-secret-ref",
    "--source-project-name",
    "--source-profiles-path",
    "--source-target",
    "--notion-crawl-mode",
    "--notion-root-page-id",
];

fn own(driver: Driver) -> Vec<&'static str> {
    let flags = FLAGS.into_iter();
    let mut own: Vec<_> = flags.filter(|flag| field(flag, driver).is_some()).collect();
    if driver == Driver::Metabase {
        own.extend(["--metabase-database-id", "--source-warehouse-connection-id"]);
    }
    own
}

fn field(flag: &str, driver: Driver) -> Option<&'static str> {
    Some(match (driver, flag) {
        (Driver::Dbt | Driver::LookMl | Driver::Cube, "--source-path") => "source_dir",
        (Driver::Dbt, "--source-git-url") => "repo_url",
        (Driver::LookMl | Driver::Cube, "--source-git-url") => "repoUrl",
        (Driver::Dbt | Driver::LookMl | Driver::Cube, "--source-branch") => "branch",
        (Driver::Dbt | Driver::LookMl | Driver::Cube, "--source-subpath") => "path",
        (
            Driver::Dbt | Driver::LookMl | Driver::Cube | Driver::Notion,
            "--source-auth-token-ref",
        ) => "auth_token_ref",
        (Driver::MetricFlow, "--source-path") => "metricflow.source_dir",
        (Driver::MetricFlow, "--source-git-url") => "metricflow.repoUrl",
        (Driver::MetricFlow, "--source-branch") => "metricflow.branch",
        (Driver::MetricFlow, "--source-subpath") => "metricflow.path",
        (Driver::MetricFlow, "--source-auth-token-ref") => "metricflow.auth_token_ref",
        (Driver::Metabase, "--source-url") => "api_url",
        (Driver::Metabase, "--source-api-key-ref") => "api_key_ref",
        (Driver::Looker, "--source-url") => "base_url",
        (Driver::Looker, "--source-client-id") => "client_id",
        (Driver::Looker, "--source-client-secret-ref") => "client_secret_ref",
        (Driver::Dbt, "--source-project-name") => "project_name",
        (Driver::Dbt, "--source-profiles-path") => "profiles_path",
        (Driver::Dbt, "--source-target") => "target",
        (Driver::Notion, "--notion-crawl-mode") => "crawl_mode",
        (Driver::Notion, "--notion-root-page-id") => "root_page_ids",
        _ => return None,
    })
}

fn mapping(args: &SetupSourceArgs, project: &OpenProject) -> Outcome<Option<String>> {
    let Some(database) = args.metabase_database_id else {
        return Ok(None);
    };
    let mut known = project.config.warehouses();
    let warehouse = match (
        &args.source_warehouse_connection_id,
        known.next(),
        known.next(),
    ) {
        (Some(id), _, _) => id.clone(),
        (None, Some(only), None) => only.id.to_string(),
        (None, _, _) => {
            return Err(usage(
                "`--metabase-database-id` needs `--source-warehouse-connection-id`: \
                 there is not exactly one warehouse",
            )
            .hint("`ktx connection list` shows the connections"));
        }
    };
    let mut known = project.config.warehouses();
    if !known.any(|known| known.id.as_str() == warehouse) {
        return Err(Failure::new(
            Code::NotAWarehouse,
            format!("there is no warehouse `{warehouse}`"),
        )
        .hint("`ktx connection list` shows the connections"));
    }
    let path = "mappings.databaseMappings";
    Ok(Some(format!("{path}.{database}={warehouse}")))
}

fn is_reference(value: &str) -> bool {
    value.starts_with("env:") || value.starts_with("file:")
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::new(Code::Usage, message)
}
