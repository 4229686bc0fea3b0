//! Listing the tables of a scan.

use ktx_diagnostics::Failure;

use crate::context::{ProjectContext, warehouse_of};
use crate::scans::Shown;

/// One table of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSummary {
    /// The full place, with dots.
    pub table: String,
    /// Columns that may be shown.
    pub columns: usize,
    /// The comment in the warehouse's catalog.
    pub comment: Option<String>,
}

/// The tables of a warehouse's last scan, ordered by place; `None` if it was never scanned.
///
/// # Errors
/// If there is no such warehouse, or its scan cannot be read.
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
