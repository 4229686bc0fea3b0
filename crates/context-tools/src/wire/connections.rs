//! `connection_list`.

use schemars::JsonSchema;
use serde::Serialize;

/// The connections of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConnectionListOutput {
    /// In the order of `ktx.yaml`.
    pub connections: Vec<ConnectionItem>,
}

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionItem {
    /// The id that other tools take as `connectionId`.
    pub id: String,
    /// The display name.
    pub name: String,
    /// `POSTGRESQL`, `SQLITE`, `DUCKDB`, `SQLSERVER`, `BIGQUERY`, `SNOWFLAKE`, `MYSQL`, `MARIADB`, `CLICKHOUSE`,
    /// `REDSHIFT`, or the driver of a context source such as `dbt`.
    pub connection_type: String,
}
