//! Estimates the cost of a scan without reading values.

use ktx_relationships::settings::Switch;
use ktx_warehouse::{Table, TableKind};

use crate::event::ScanEstimate;
use crate::profile::read::stored;
use crate::profile::sample::{Rows, has_blocks, sample_sql, slice_key};
use crate::profile::table_read::{COLUMNS_PER_STATEMENT, columns};
use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::StageRows;
use crate::structural::introspect::introspect;

/// Reads only the structure. If the warehouse bills by bytes, asks for the price of each sample,
/// which is free.
pub async fn estimate(request: &ScanRequest) -> Result<ScanEstimate, ScanError> {
    let rows = StageRows::new(
        request.stages.clone(),
        request.connection.clone(),
        request.reuse,
    );
    let snapshot = introspect(request).await?;
    let mut estimate = foresee(request, &snapshot.tables, &rows)?;
    for table in &snapshot.tables {
        if stored(request, table, &rows)?.is_some() {
            continue;
        }
        match price(request, table).await? {
            Some(bytes) => estimate.bytes = Some(estimate.bytes.unwrap_or(0) + bytes),
            None => break,
        }
    }
    Ok(estimate)
}

pub(crate) fn foresee(
    request: &ScanRequest,
    tables: &[Table],
    rows: &StageRows,
) -> Result<ScanEstimate, ScanError> {
    let settings = &request.settings.relationships;
    let mut estimate = ScanEstimate {
        tables: tables.len(),
        columns: tables.iter().map(|table| table.columns.len()).sum(),
        ..ScanEstimate::default()
    };
    if settings.discovery == Switch::On {
        let checks = settings.validation_budget.statements(tables.len());
        // At most three parents of each column are checked.
        estimate.checks_at_most = checks.min(estimate.columns.saturating_mul(3));
    }
    for table in tables {
        match table.estimated_rows {
            Some(known) => estimate.rows = estimate.rows.saturating_add(known),
            None => estimate.unknown_sizes += 1,
        }
        if stored(request, table, rows)?.is_some() {
            estimate.reused += 1;
            continue;
        }
        let (least, most) = statements(request, table);
        let groups = table.columns.len().div_ceil(COLUMNS_PER_STATEMENT);
        estimate.statements += least * groups;
        estimate.statements_at_most += most * groups;
        let read = match table.estimated_rows {
            Some(known) if known <= request.settings.whole_table_rows => known,
            Some(_) => settings.profile_sample_rows as u64,
            None => 0,
        };
        estimate.rows_read = estimate.rows_read.saturating_add(read);
    }
    Ok(estimate)
}

fn statements(request: &ScanRequest, table: &Table) -> (usize, usize) {
    let dialect = request.connector.dialect();
    let stored = table.kind == TableKind::Table;
    // The ends of the key, the sample, a second sample if the first is empty, the distinct counts.
    let sliced = stored && !has_blocks(dialect) && slice_key(dialect, table).is_some();
    let sampled = 1 + usize::from(sliced);
    let extra = 1 + usize::from(stored);
    match table.estimated_rows {
        Some(rows) if rows <= request.settings.whole_table_rows => (1, 1),
        Some(_) => (sampled, sampled + extra),
        None => (1, 1 + usize::from(stored) + sampled + extra),
    }
}

async fn price(request: &ScanRequest, table: &Table) -> Result<Option<u64>, ScanError> {
    let dialect = request.connector.dialect();
    let bound = request.settings.whole_table_rows;
    let wanted = request.settings.relationships.profile_sample_rows as u64;
    let rows = match table.estimated_rows {
        Some(of) if of > bound && has_blocks(dialect) => Rows::Blocks { wanted, of },
        Some(of) if of > bound => Rows::First { wanted },
        _ => Rows::Whole { at_most: bound + 1 },
    };
    let mut bytes = None;
    for group in columns(table).chunks(COLUMNS_PER_STATEMENT) {
        // A refused statement is never sent and costs nothing.
        let Ok(checked) =
            ktx_read_only_sql::check(&sample_sql(dialect, table, group, rows), dialect)
        else {
            continue;
        };
        let estimate = request.connector.estimate(&checked, &request.cancel).await;
        let estimate = estimate.map_err(|source| ScanError::Introspect {
            connection: request.connection.clone(),
            source,
        })?;
        let Some(estimate) = estimate else {
            return Ok(None);
        };
        bytes = Some(bytes.unwrap_or(0) + estimate.bytes);
    }
    Ok(bytes)
}
