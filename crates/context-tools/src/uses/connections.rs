//! Lists connections.

use ktx_config::Driver;
use ktx_diagnostics::Failure;

use crate::context::ProjectContext;
use crate::wire::{ConnectionItem, ConnectionListOutput};

pub async fn list_connections(
    context: &dyn ProjectContext,
) -> Result<ConnectionListOutput, Failure> {
    let connections = context.connections().await?;
    let items = connections.iter().map(|connection| ConnectionItem {
        id: connection.id.to_string(),
        name: connection.id.to_string(),
        connection_type: connection_type(connection.driver).to_owned(),
    });
    Ok(ConnectionListOutput {
        connections: items.collect(),
    })
}

fn connection_type(driver: Driver) -> &'static str {
    match driver {
        Driver::Postgres => "POSTGRESQL",
        Driver::Snowflake => "SNOWFLAKE",
        Driver::BigQuery => "BIGQUERY",
        Driver::ClickHouse => "CLICKHOUSE",
        Driver::MySql => "MYSQL",
        Driver::MariaDb => "MARIADB",
        Driver::SqlServer => "SQLSERVER",
        Driver::Sqlite => "SQLITE",
        Driver::DuckDb => "DUCKDB",
        Driver::Redshift => "REDSHIFT",
        Driver::Dbt
        | Driver::MetricFlow
        | Driver::LookMl
        | Driver::Cube
        | Driver::Looker
        | Driver::Metabase
        | Driver::Notion => driver.as_str(),
    }
}
