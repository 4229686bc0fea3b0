//! Options about query history.

use clap::Args;

/// What one run reads of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct QueryHistoryArgs {
    /// Read the query history of the warehouse, whatever `ktx.yaml` says
    #[arg(long, conflicts_with = "no_query_history")]
    pub query_history: bool,
    /// Do not read the query history
    #[arg(long)]
    pub no_query_history: bool,
    /// Read the last N days of the query history (BigQuery, ClickHouse, Snowflake) [default: `windowDays` in
    /// `ktx.yaml`]
    #[arg(long, value_name = "N", conflicts_with = "no_query_history", value_parser = clap::value_parser!(u32).range(1..))]
    pub query_history_window_days: Option<u32>,
}

impl QueryHistoryArgs {
    /// Whether the run is about it at all.
    pub(crate) const fn is_given(self) -> bool {
        self.query_history || self.no_query_history || self.query_history_window_days.is_some()
    }
}

/// What `ktx setup` writes into `context.queryHistory` of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct SetupHistoryArgs {
    /// Let scans read the query history of the warehouse
    #[arg(long, conflicts_with = "disable_query_history")]
    pub enable_query_history: bool,
    /// Do not let scans read the query history
    #[arg(long)]
    pub disable_query_history: bool,
    /// Read the last N days of the query history (BigQuery, ClickHouse, Snowflake) [default: 90]
    #[arg(long, value_name = "N", requires = "enable_query_history", value_parser = clap::value_parser!(u32).range(1..))]
    pub query_history_window_days: Option<u32>,
    /// Ignore queries that ran fewer than N times [default: 5]
    #[arg(long, value_name = "N", requires = "enable_query_history", value_parser = clap::value_parser!(u32).range(1..))]
    pub query_history_min_executions: Option<u32>,
    /// A regular expression for users whose queries do not count, such as service accounts (can be repeated)
    #[arg(long, value_name = "PATTERN", requires = "enable_query_history")]
    pub query_history_service_account_pattern: Vec<String>,
    /// A pattern to hide in queries, for KTX 0.12; ktx stores only pairs of columns (can be repeated)
    #[arg(long, value_name = "PATTERN", requires = "enable_query_history")]
    pub query_history_redaction_pattern: Vec<String>,
}
