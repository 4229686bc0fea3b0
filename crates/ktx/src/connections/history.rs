//! Checks access to past queries.

use std::time::Duration;

use ktx_config::Connection;
use ktx_sql::Dialect;
use ktx_warehouse::{Caps, Connector, QueryResult};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::scanning::{days_of_history, reads_history};

const PATIENCE: Duration = Duration::from_secs(30);

/// Enough to recognize hidden text.
const TEXT_BYTES: usize = 256;

/// PostgreSQL's text for statements of other logins.
const HIDDEN: &str = "<insufficient privilege>";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PastQueries {
    /// No readable history.
    None,
    Seen {
        texts: usize,
        hidden: usize,
    },
    Failed(String),
}

pub(crate) async fn inspect(
    connector: &dyn Connector,
    connection: &Connection,
    cancel: &CancellationToken,
) -> Option<PastQueries> {
    if !reads_history(connection) {
        return None;
    }
    let Some(text) = connector.query_history(days_of_history(connection)) else {
        return Some(PastQueries::None);
    };
    let caps = Caps {
        rows: 5000,
        cell_bytes: TEXT_BYTES,
        timeout: PATIENCE,
        ..Caps::default()
    };
    let sql = match ktx_read_only_sql::check(&text, connector.dialect()) {
        Ok(sql) => sql,
        Err(refusal) => return Some(PastQueries::Failed(refusal.reason)),
    };
    let mut answer = QueryResult::default();
    if let Err(error) = connector.query(&sql, &caps, &mut answer, cancel).await {
        return Some(PastQueries::Failed(error.to_string()));
    }
    let is_hidden = |row: &&Vec<ktx_warehouse::Cell>| {
        let text = row.first().and_then(ktx_warehouse::Cell::to_text);
        text.is_some_and(|text| text == HIDDEN)
    };
    Some(PastQueries::Seen {
        texts: answer.rows.len(),
        hidden: answer.rows.iter().filter(is_hidden).count(),
    })
}

impl PastQueries {
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::None => "this connection keeps no record of queries that ktx can read".to_owned(),
            Self::Seen { texts, hidden: 0 } => format!("{texts} statements"),
            Self::Seen { texts, hidden } => {
                format!("{texts} statements, {hidden} of them hidden from this login")
            }
            Self::Failed(reason) => format!("cannot be read: {reason}"),
        }
    }

    pub(crate) const fn fix(&self, dialect: Option<Dialect>) -> Option<&'static str> {
        match (self, dialect) {
            (Self::None, _) => Some("name a file of queries with `context.queryHistory.file`"),
            (Self::Seen { hidden: 0, .. }, _) => None,
            (Self::Seen { .. }, _) => {
                Some("let the login see them: `GRANT pg_read_all_stats TO` it")
            }
            (Self::Failed(_), Some(Dialect::Postgres)) => Some(
                "load `pg_stat_statements` with `shared_preload_libraries`, then run `CREATE EXTENSION pg_stat_statements` in this database",
            ),
            (Self::Failed(_), Some(Dialect::Snowflake)) => Some(
                "let the role see the account's usage: `GRANT IMPORTED PRIVILEGES ON DATABASE SNOWFLAKE TO ROLE` it",
            ),
            (Self::Failed(_), Some(Dialect::BigQuery)) => {
                Some("give the account `roles/bigquery.resourceViewer` on the project")
            }
            (Self::Failed(_), Some(Dialect::ClickHouse)) => Some(
                "let the login read `system.query_log`, and keep it on in the server's settings",
            ),
            (Self::Failed(_), _) => None,
        }
    }

    pub(crate) fn to_json(&self, dialect: Option<Dialect>) -> Value {
        let status = match self {
            Self::None | Self::Failed(_) => "fail",
            Self::Seen { hidden: 0, .. } => "ok",
            Self::Seen { .. } => "warn",
        };
        let mut item = json!({ "status": status, "detail": self.detail() });
        if let (Some(fix), Some(item)) = (self.fix(dialect), item.as_object_mut()) {
            item.insert("fix".to_owned(), json!(fix));
        }
        item
    }
}
