//! Reads the samples of all tables: one statement per table or per hundred columns.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Caps, Cell, ErrorKind, RowSink, ScanWarning, Table, TableKind, WarehouseError, collect, gate,
};
use serde::{Deserialize, Serialize};

use crate::event::{ScanEvent, ScanStage};
use crate::profile::sample::{Rows, count_sql, ends_sql, has_blocks, sample_sql, slice_key};
use crate::profile::table::TableCollector;
use crate::profile::{Extent, TableProfile};
use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::{StageRows, table_unit};
use crate::structural::hash::structure_hash;
use crate::types::TypeFamily;

/// Raised whenever a stored profile of an earlier version would be wrong.
const VERSION: &str = "profile-1";
/// Columns of one statement.
const COLUMNS_PER_STATEMENT: usize = 100;
/// Bytes of one statement's cells.
const BYTES: usize = 64 << 20;
/// Bytes of one cell: longer texts are no keys and no dictionary values.
const CELL_BYTES: usize = 512;

/// What profiling gave.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    /// By table.
    pub tables: BTreeMap<TableRef, TableProfile>,
    /// Tables that could not be read.
    pub warnings: Vec<ScanWarning>,
    /// Statements sent in this run.
    pub statements: usize,
}

/// A stage row: a profile and what the catalog said when it was made.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredProfile {
    estimated_rows: Option<u64>,
    profile: TableProfile,
}

/// Reads every table, a few at a time. A table that cannot be read becomes a warning.
pub(crate) async fn read_all(
    request: &ScanRequest,
    tables: &[Table],
    rows: &StageRows,
) -> Result<Profiles, ScanError> {
    let total = tables.len();
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Profile,
        total: Some(total),
    });
    let width = request.settings.relationships.profile_concurrency.max(1);
    let mut done = 0;
    let mut profiles = Profiles::default();
    let mut results = stream::iter(
        tables
            .iter()
            .map(|table| read_or_reuse(request, table, rows)),
    )
    .buffer_unordered(width);
    while let Some((table, result)) = results.try_next().await? {
        done += 1;
        let mut reused = false;
        match result {
            Ok((profile, origin)) => {
                reused = origin == Origin::Stored;
                if !reused {
                    profiles.statements += profile.statements;
                }
                profiles.tables.insert(table.table.clone(), profile);
            }
            Err(error) => {
                let warning = failed(&table.table, &error);
                request.events.event(ScanEvent::Warning(warning.clone()));
                profiles.warnings.push(warning);
            }
        }
        let unit = table.table.to_string();
        request.events.event(ScanEvent::UnitDone {
            stage: ScanStage::Profile,
            unit,
            done,
            total,
            reused,
        });
    }
    drop(results);
    profiles
        .warnings
        .sort_by(|left, right| left.table.cmp(&right.table));
    Ok(profiles)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Stored,
    Read,
}

type ReadResult = Result<(TableProfile, Origin), WarehouseError>;

async fn read_or_reuse<'a>(
    request: &ScanRequest,
    table: &'a Table,
    rows: &StageRows,
) -> Result<(&'a Table, ReadResult), ScanError> {
    if request.cancel.is_cancelled() {
        return Err(ScanError::Cancelled);
    }
    let settings = &request.settings;
    let sample = settings.relationships.profile_sample_rows;
    let input = format!(
        "{VERSION}/{}/{}/{sample}",
        structure_hash(table),
        settings.whole_table_rows
    );
    let unit = table_unit(&table.table);
    let stored: Option<StoredProfile> = rows.get("profile", &unit, &input)?;
    if let Some(stored) =
        stored.filter(|stored| is_alike(stored.estimated_rows, table.estimated_rows))
    {
        return Ok((table, Ok((stored.profile, Origin::Stored))));
    }
    let profile = match read_table(request, table).await {
        Ok(profile) => profile,
        Err(error) if error.kind == ErrorKind::Cancelled => return Err(ScanError::Cancelled),
        Err(error) => return Ok((table, Err(error))),
    };
    let stored = StoredProfile {
        estimated_rows: table.estimated_rows,
        profile,
    };
    rows.put("profile", &unit, &input, &stored)?;
    Ok((table, Ok((stored.profile, Origin::Read))))
}

/// Whether the catalog still tells about the same size: within a factor of two, or a hundred rows.
fn is_alike(before: Option<u64>, now: Option<u64>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => {
            let (small, large) = (before.min(now), before.max(now));
            large <= small.saturating_mul(2) || (small > 0 && large - small <= 100)
        }
        (None, None) => true,
        _ => false,
    }
}

async fn read_table(request: &ScanRequest, table: &Table) -> Result<TableProfile, WarehouseError> {
    let columns: Vec<(String, TypeFamily)> = table
        .columns
        .iter()
        .map(|column| (column.name.clone(), TypeFamily::of(column)))
        .collect();
    let mut whole: Option<TableProfile> = None;
    for group in columns.chunks(COLUMNS_PER_STATEMENT) {
        let part = read_columns(request, table, group).await?;
        match &mut whole {
            None => whole = Some(part),
            Some(profile) => profile.widen(part),
        }
    }
    whole.ok_or_else(|| {
        WarehouseError::new(
            ErrorKind::Other,
            format!("`{}` has no columns", table.table),
        )
    })
}

async fn read_columns(
    request: &ScanRequest,
    table: &Table,
    columns: &[(String, TypeFamily)],
) -> Result<TableProfile, WarehouseError> {
    let settings = &request.settings;
    let bound = settings.whole_table_rows;
    let wanted = settings.relationships.profile_sample_rows as u64;
    let mut statements = 0;
    if table.estimated_rows.is_none_or(|rows| rows <= bound) {
        statements += 1;
        let (collector, truncated) =
            sample(request, table, columns, Rows::Whole { at_most: bound + 1 }).await?;
        if !truncated && collector.rows() <= bound {
            let rows = Some(collector.rows());
            let mut profile = collector.finish(Extent::Whole, rows);
            profile.statements = statements;
            return Ok(profile);
        }
    }
    let (rows, sent) = row_count(request, table).await?;
    statements += sent;
    let how = sample_rows(request, table, wanted, rows).await?;
    statements += 1 + usize::from(matches!(how, Rows::Slices { .. }));
    let (mut collector, _) = sample(request, table, columns, how).await?;
    if collector.rows() == 0 && how != (Rows::First { wanted }) {
        // Blocks of a table that is smaller than the catalog says can be empty.
        statements += 1;
        (collector, _) = sample(request, table, columns, Rows::First { wanted }).await?;
    }
    let mut profile = collector.finish(Extent::Sample, rows);
    profile.statements = statements;
    Ok(profile)
}

/// The catalog's row count, else the warehouse's own; the second part counts statements.
async fn row_count(
    request: &ScanRequest,
    table: &Table,
) -> Result<(Option<u64>, usize), WarehouseError> {
    if let Some(rows) = table.estimated_rows.filter(|rows| *rows > 0) {
        return Ok((Some(rows), 0));
    }
    if table.kind != TableKind::Table {
        return Ok((None, 0));
    }
    let dialect = request.connector.dialect();
    let cells = first_row(request, &count_sql(dialect, &table.table)).await?;
    let count = cells.first().and_then(Cell::to_text);
    // A count that is no number is no count.
    Ok((count.and_then(|text| text.parse().ok()), 1))
}

async fn sample_rows(
    request: &ScanRequest,
    table: &Table,
    wanted: u64,
    rows: Option<u64>,
) -> Result<Rows, WarehouseError> {
    let dialect = request.connector.dialect();
    if let (Some(of), true, TableKind::Table) = (rows, has_blocks(dialect), table.kind) {
        return Ok(Rows::Blocks { wanted, of });
    }
    let Some(key) = slice_key(table).filter(|_| !has_blocks(dialect)) else {
        return Ok(Rows::First { wanted });
    };
    let ends = first_row(request, &ends_sql(dialect, &table.table, key)).await?;
    let number = |at: usize| match ends.get(at) {
        Some(Cell::Int(value)) => Some(*value),
        _ => None,
    };
    Ok(match (number(0), number(1)) {
        (Some(low), Some(high)) if high > low => Rows::Slices {
            wanted,
            ends: (low, high),
        },
        _ => Rows::First { wanted },
    })
}

async fn sample(
    request: &ScanRequest,
    table: &Table,
    columns: &[(String, TypeFamily)],
    rows: Rows,
) -> Result<(TableCollector, bool), WarehouseError> {
    let dialect = request.connector.dialect();
    let sql = sample_sql(dialect, table, columns, rows);
    let checked = gate::check(&sql, dialect).or_else(|refusal| match rows {
        // A gate or parser without the dialect's sampling clause still lets the plain statement pass.
        Rows::Blocks { wanted, .. } => gate::check(
            &sample_sql(dialect, table, columns, Rows::First { wanted }),
            dialect,
        ),
        Rows::Whole { .. } | Rows::First { .. } | Rows::Slices { .. } => Err(refusal),
    });
    let checked = checked.map_err(|refusal| refused(&refusal))?;
    let limit = match rows {
        Rows::Whole { at_most } => at_most,
        Rows::Blocks { wanted, .. } | Rows::First { wanted } | Rows::Slices { wanted, .. } => {
            wanted
        }
    };
    let mut collector = TableCollector::new(columns);
    let caps = caps(request, usize::try_from(limit).unwrap_or(usize::MAX));
    let sink: &mut dyn RowSink = &mut collector;
    let end = request
        .connector
        .query(&checked, &caps, sink, &request.cancel)
        .await?;
    Ok((collector, end.truncated))
}

async fn first_row(request: &ScanRequest, sql: &str) -> Result<Vec<Cell>, WarehouseError> {
    let checked =
        gate::check(sql, request.connector.dialect()).map_err(|refusal| refused(&refusal))?;
    let result = collect(
        request.connector.as_ref(),
        &checked,
        &caps(request, 1),
        &request.cancel,
    )
    .await?;
    Ok(result.rows.into_iter().next().unwrap_or_default())
}

fn caps(request: &ScanRequest, rows: usize) -> Caps {
    Caps {
        rows,
        bytes: BYTES,
        cell_bytes: CELL_BYTES,
        timeout: Duration::from_secs(request.settings.statement_seconds),
    }
}

fn refused(refusal: &gate::Refusal) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Sql,
        format!("the read-only gate refused the statement: {refusal}"),
    )
}

fn failed(table: &TableRef, error: &WarehouseError) -> ScanWarning {
    ScanWarning {
        code: "statistics_failed".to_owned(),
        message: format!("could not read a sample of `{table}`: {error}"),
        table: Some(table.to_string()),
        column: None,
        recoverable: true,
    }
}
