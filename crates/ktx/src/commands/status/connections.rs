//! Judges connections by their settings.

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretRef;

use super::checks::Checks;
use super::report::{ConnectionStatus, Health, HistoryStatus};
use crate::compose;
use crate::invocation::{Invocation, OpenProject};
use crate::scanning::reads_history;

pub(super) fn connections(
    invocation: &Invocation,
    project: &OpenProject,
    checks: &Checks,
) -> Vec<ConnectionStatus> {
    let mut connections: Vec<&Connection> = project.config.connections.values().collect();
    connections.sort_by(|left, right| left.id.cmp(&right.id));
    connections
        .into_iter()
        .map(|connection| ConnectionStatus {
            scope: checks.scope(&connection.id),
            ..connection_status(invocation, project, connection)
        })
        .collect()
}

fn connection_status(
    invocation: &Invocation,
    project: &OpenProject,
    connection: &Connection,
) -> ConnectionStatus {
    let secrets = invocation.secrets(&project.dir);
    let unresolved = connection.fields.iter().find_map(|(field, value)| {
        let reference = value.as_str().map(SecretRef::parse)?;
        match reference {
            SecretRef::Literal(_) => None,
            // SQLite URLs also start with `file:`.
            SecretRef::File(_) if connection.driver == Driver::Sqlite => None,
            SecretRef::Env(_) | SecretRef::File(_) => reference
                .resolve(&secrets)
                .err()
                .map(|error| format!("{field}: {error}")),
        }
    });
    let required: &[&str] = match connection.driver {
        Driver::Postgres
        | Driver::Redshift
        | Driver::MySql
        | Driver::MariaDb
        | Driver::ClickHouse
        | Driver::SqlServer => &["url", "host"],
        Driver::Sqlite | Driver::DuckDb => &["path", "url"],
        Driver::Snowflake => &["account"],
        Driver::BigQuery => &["credentials_json", "credentials", "project_id"],
        Driver::Dbt => &["repo_url", "repoUrl", "source_dir"],
        Driver::MetricFlow => &["metricflow", "repoUrl"],
        Driver::LookMl | Driver::Cube => &["repoUrl", "repo_url", "source_dir"],
        Driver::Looker => &["base_url"],
        Driver::Metabase => &["api_url"],
        Driver::Notion => &["auth_token", "auth_token_ref"],
    };
    let missing = !required
        .iter()
        .any(|field| connection.fields.contains_key(*field));
    let (status, detail, fix) = if let Some(problem) = unresolved {
        (
            Health::Warn,
            problem,
            Some("set it in the shell that runs ktx, or use a `file:` reference".to_owned()),
        )
    } else if missing {
        let fields = required.join("` or `");
        (
            Health::Warn,
            format!("`{fields}` is missing"),
            Some(format!("add it under connections.{}", connection.id)),
        )
    } else if let Err(error) = compose::look_at_file(connection, &secrets) {
        (Health::Fail, error.message, error.hint)
    } else {
        (Health::Ok, "configured".to_owned(), None)
    };
    ConnectionStatus {
        name: connection.id.to_string(),
        driver: connection.driver.as_str(),
        status,
        detail,
        fix,
        scope: None,
    }
}

pub(super) fn query_history(project: &OpenProject) -> Vec<HistoryStatus> {
    let mut connections: Vec<&Connection> = project.config.warehouses().collect();
    connections.retain(|connection| reads_history(connection));
    connections.sort_by(|left, right| left.id.cmp(&right.id));
    let item = |connection: &Connection| {
        let keeps = matches!(
            connection.driver,
            Driver::Postgres | Driver::BigQuery | Driver::ClickHouse | Driver::Snowflake
        );
        let id = &connection.id;
        let (status, detail, fix) = if keeps {
            let detail = "read by the next scan".to_owned();
            (
                Health::Ok,
                detail,
                format!("run `ktx connection test {id}` to try it"),
            )
        } else {
            let detail = format!(
                "{} keeps no record of queries that ktx can read",
                connection.driver
            );
            let path = format!("connections.{id}.context.queryHistory");
            (
                Health::Fail,
                detail,
                format!(
                    "set `{path}.enabled` to false, or name a file of queries with `{path}.file`"
                ),
            )
        };
        let dialect = compose::dialect(connection.driver);
        HistoryStatus {
            connection: id.to_string(),
            driver: connection.driver.as_str(),
            dialect: dialect.map(ktx_sql::Dialect::name),
            status,
            detail,
            fix,
        }
    };
    connections.into_iter().map(item).collect()
}
