//! Expected rows, read from the warehouse.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_agent_eval::{Extent, Gold, GoldRows, Oracle, OracleError, RowOrder, Table};
use ktx_context_tools::wire::{OrderInput, SlQueryInput};
use ktx_context_tools::{
    Execution, ProjectContext, QueryRequest, SqlRequest, execute_sql, query, query_of, warehouse_of,
};
use ktx_diagnostics::Failure;
use ktx_read_only_sql::SortKey;
use ktx_tool_descriptors::CallContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::as_of::dated;
use super::rows;
use crate::compose;

const MOST_ROWS: usize = 10_000;

/// Runs references through the usual gate.
pub(super) struct Warehouse {
    pub(super) context: Arc<dyn ProjectContext>,
    pub(super) cancel: CancellationToken,
}

#[async_trait]
impl Oracle for Warehouse {
    async fn rows(&self, gold: &Gold) -> Result<GoldRows, OracleError> {
        let rows = match gold {
            Gold::Sql { sql, connection } => self.sql(sql, connection.clone()).await,
            Gold::Semantic {
                query,
                connection,
                as_of,
            } => {
                self.semantic(query, connection.clone(), as_of.as_deref())
                    .await
            }
        };
        rows.map_err(|failure| OracleError(told(&failure)))
    }
}

pub(super) fn told(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    for cause in &failure.causes {
        text = format!("{text}: {cause}");
    }
    text
}

impl Warehouse {
    fn call(&self) -> CallContext {
        let mut call = CallContext::detached("gold");
        call.cancel = self.cancel.child_token();
        call
    }

    async fn sql(&self, sql: &str, connection: Option<String>) -> Result<GoldRows, Failure> {
        let request = SqlRequest {
            connection,
            sql: sql.to_owned(),
            max_rows: Some(MOST_ROWS),
            timeout: None,
        };
        let answer = execute_sql(self.context.as_ref(), &request, &self.call()).await?;
        let result = answer.to_wire();
        let extent = extent(result.truncated);
        let table = rows::table(result.headers, &result.rows, extent);
        let order = order_of(&answer.order, &table);
        Ok(GoldRows { table, order })
    }

    pub(super) async fn semantic(
        &self,
        written: &Value,
        connection: Option<String>,
        as_of: Option<&str>,
    ) -> Result<GoldRows, Failure> {
        let mut written = written.clone();
        if let Some(day) = as_of {
            let named = written.get("connectionId").and_then(Value::as_str);
            let id = connection.as_deref().or(named);
            let warehouse = warehouse_of(self.context.as_ref(), id).await?;
            if let Some(dialect) = compose::dialect(warehouse.driver) {
                written = dated(&written, day, dialect);
            }
        }
        let input: SlQueryInput = serde_json::from_value(written).map_err(|error| {
            Failure::new(
                ktx_diagnostics::Code::InvalidArguments,
                format!("`semantic` is not a semantic query: {error}"),
            )
        })?;
        let request = QueryRequest {
            connection: connection.or_else(|| input.connection_id.clone()),
            query: query_of(&input)?,
            execution: Execution::Run {
                max_rows: Some(MOST_ROWS),
            },
        };
        let answer = query(self.context.as_ref(), &request, &self.call()).await?;
        if answer.result.is_none() {
            let reason = answer.notes.first().cloned().unwrap_or_default();
            return Err(Failure::new(ktx_diagnostics::Code::NotExecutable, reason));
        }
        let result = answer.to_wire(&[]);
        let table = rows::table(result.headers, &result.rows, extent(answer.is_truncated()));
        let keys: Vec<SortKey> = input.order_by.iter().flatten().map(key_of).collect();
        let order = order_of(&keys, &table);
        Ok(GoldRows { table, order })
    }
}

const fn extent(is_truncated: bool) -> Extent {
    if is_truncated {
        Extent::Truncated
    } else {
        Extent::Whole
    }
}

/// `orders.revenue:desc` becomes `revenue`.
fn key_of(key: &OrderInput) -> SortKey {
    let field = match key {
        OrderInput::Text(text) => text.split(':').next().unwrap_or(text),
        OrderInput::Field { field, .. } => field,
    };
    let name = field.rsplit('.').next().unwrap_or(field);
    SortKey::Column(name.trim().to_owned())
}

/// Rows with equal keys can swap if the result has the key columns.
fn order_of(keys: &[SortKey], table: &Table) -> RowOrder {
    if keys.is_empty() {
        return RowOrder::Any;
    }
    let mut columns = Vec::new();
    for key in keys {
        match key {
            SortKey::All => columns.extend(0..table.columns.len()),
            SortKey::Place(place) if (1..=table.columns.len()).contains(place) => {
                columns.push(place - 1);
            }
            SortKey::Column(name) => {
                let found = table.columns.iter();
                match found.clone().position(|it| it.eq_ignore_ascii_case(name)) {
                    Some(column) => columns.push(column),
                    None => return RowOrder::Listed,
                }
            }
            SortKey::Place(_) | SortKey::Expression => return RowOrder::Listed,
        }
    }
    RowOrder::SortedBy(columns)
}
