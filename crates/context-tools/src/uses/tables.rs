//! Lists the tables of a scan.

use ktx_diagnostics::Failure;

use crate::context::{ProjectContext, warehouse_of};
use crate::scans::Shown;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSummary {
    pub table: String,
    pub columns: usize,
    pub comment: Option<String>,
}

/// Returns the scanned tables, ordered by place; `None` if the warehouse was never scanned.
pub async fn list_tables(
    context: &dyn ProjectContext,
    connection: &str,
) -> Result<Option<Vec<TableSummary>>, Failure> {
    let connection = warehouse_of(context, Some(connection)).await?;
    let Some(snapshot) = context.snapshot(&connection.id).await? else {
        return Ok(None);
    };
    let catalog = context.catalog(&connection.id).await?;
    let shown = Shown::of(&catalog, &snapshot);
    let tables = shown.tables().iter().map(|table| TableSummary {
        table: table.table.to_string(),
        columns: shown.columns(table).count(),
        comment: table.comment.clone(),
    });
    Ok(Some(tables.collect()))
}
