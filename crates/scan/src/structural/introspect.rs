//! Reads the structure of a warehouse.

use ktx_warehouse::{ErrorKind, SchemaSnapshot, WarehouseError};

use crate::event::{ScanEvent, ScanStage};
use crate::request::{ScanError, ScanRequest};

pub(crate) async fn introspect(request: &ScanRequest) -> Result<SchemaSnapshot, ScanError> {
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Structure,
        total: None,
    });
    let result = request
        .connector
        .introspect(&request.scope, &request.cancel)
        .await;
    let mut snapshot = result.map_err(|source| not_read(request, source))?;
    snapshot
        .tables
        .sort_by(|left, right| left.table.cmp(&right.table));
    snapshot
        .tables
        .dedup_by(|later, earlier| later.table == earlier.table);
    let columns = snapshot
        .tables
        .iter()
        .map(|table| table.columns.len())
        .sum();
    request.events.event(ScanEvent::SchemaRead {
        tables: snapshot.tables.len(),
        columns,
    });
    for warning in &snapshot.warnings {
        request.events.event(ScanEvent::Warning(warning.clone()));
    }
    Ok(snapshot)
}

fn not_read(request: &ScanRequest, source: WarehouseError) -> ScanError {
    if source.kind == ErrorKind::Cancelled {
        return ScanError::Cancelled;
    }
    ScanError::Introspect {
        connection: request.connection.clone(),
        source,
    }
}
