//! Connections: a driver and its fields.

use ktx_vocabulary::ConnectionId;
use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverKind {
    Warehouse,
    ContextSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Driver {
    Postgres,
    Snowflake,
    BigQuery,
    ClickHouse,
    MySql,
    MariaDb,
    SqlServer,
    Sqlite,
    DuckDb,
    Redshift,
    Dbt,
    MetricFlow,
    LookMl,
    Cube,
    Looker,
    Metabase,
    Notion,
}

impl Driver {
    pub const ALL: [Self; 17] = [
        Self::Postgres,
        Self::Snowflake,
        Self::BigQuery,
        Self::ClickHouse,
        Self::MySql,
        Self::MariaDb,
        Self::SqlServer,
        Self::Sqlite,
        Self::DuckDb,
        Self::Redshift,
        Self::Dbt,
        Self::MetricFlow,
        Self::LookMl,
        Self::Cube,
        Self::Looker,
        Self::Metabase,
        Self::Notion,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Snowflake => "snowflake",
            Self::BigQuery => "bigquery",
            Self::ClickHouse => "clickhouse",
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
            Self::SqlServer => "sqlserver",
            Self::Sqlite => "sqlite",
            Self::DuckDb => "duckdb",
            Self::Redshift => "redshift",
            Self::Dbt => "dbt",
            Self::MetricFlow => "metricflow",
            Self::LookMl => "lookml",
            Self::Cube => "cube",
            Self::Looker => "looker",
            Self::Metabase => "metabase",
            Self::Notion => "notion",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|driver| driver.as_str() == text)
    }

    pub const fn kind(self) -> DriverKind {
        match self {
            Self::Postgres
            | Self::Snowflake
            | Self::BigQuery
            | Self::ClickHouse
            | Self::MySql
            | Self::MariaDb
            | Self::SqlServer
            | Self::Sqlite
            | Self::DuckDb
            | Self::Redshift => DriverKind::Warehouse,
            Self::Dbt
            | Self::MetricFlow
            | Self::LookMl
            | Self::Cube
            | Self::Looker
            | Self::Metabase
            | Self::Notion => DriverKind::ContextSource,
        }
    }
}

impl std::fmt::Display for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Keeps unknown fields; each connector reads the fields that it knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    pub id: ConnectionId,
    pub driver: Driver,
    /// Every field except `driver`, with unresolved references.
    pub fields: Map<String, Value>,
}

impl Connection {
    /// Accepts numbers and booleans.
    pub fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| match self.fields.get(*key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Bool(value)) => Some(value.to_string()),
            _ => None,
        })
    }

    /// Accepts a single text.
    pub fn texts(&self, keys: &[&str]) -> Vec<String> {
        let found = keys.iter().find_map(|key| self.fields.get(*key));
        match found {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        }
    }
}
