//! Connections: a driver and its fields.

use ktx_vocabulary::ConnectionId;
use serde_json::{Map, Value};

/// What a driver connects to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverKind {
    /// A database that can be scanned and queried.
    Warehouse,
    /// A tool or document store that context is read from.
    ContextSource,
}

/// The value of `driver:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Driver {
    /// PostgreSQL.
    Postgres,
    /// Snowflake.
    Snowflake,
    /// BigQuery.
    BigQuery,
    /// ClickHouse.
    ClickHouse,
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
    /// SQL Server.
    SqlServer,
    /// SQLite.
    Sqlite,
    /// DuckDB.
    DuckDb,
    /// Amazon Redshift.
    Redshift,
    /// dbt.
    Dbt,
    /// MetricFlow.
    MetricFlow,
    /// LookML.
    LookMl,
    /// Looker.
    Looker,
    /// Metabase.
    Metabase,
    /// Notion.
    Notion,
}

impl Driver {
    /// All drivers, in the order in which they are listed to people.
    pub const ALL: [Self; 16] = [
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
        Self::Looker,
        Self::Metabase,
        Self::Notion,
    ];

    /// The spelling in `ktx.yaml`.
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
            Self::Looker => "looker",
            Self::Metabase => "metabase",
            Self::Notion => "notion",
        }
    }

    /// Finds the driver with this spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|driver| driver.as_str() == text)
    }

    /// What the driver connects to.
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

/// One entry of `connections:`. Connection objects are open: unknown fields are kept, and each
/// connector reads the fields that it knows.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// The key of the entry.
    pub id: ConnectionId,
    /// Its driver.
    pub driver: Driver,
    /// Every field of the entry except `driver`, as written (references unresolved).
    pub fields: Map<String, Value>,
}

impl Connection {
    /// The text of the first of `keys` that is present; numbers and booleans are given as text.
    pub fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| match self.fields.get(*key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Bool(value)) => Some(value.to_string()),
            _ => None,
        })
    }

    /// The texts of the first of `keys` that is present: a list, or one text as a list of one.
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
