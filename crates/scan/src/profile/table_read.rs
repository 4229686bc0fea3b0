//! Reads the sample of one table, a hundred columns per statement.

use std::time::Duration;

use ktx_relationships::profile::table::TableCollector;
use ktx_relationships::profile::{Extent, TableProfile};
use ktx_relationships::types::TypeFamily;
use ktx_sql::Dialect;
use ktx_warehouse::{Caps, Cell, ErrorKind, Table, TableKind, WarehouseError};

use crate::profile::counts::{counts_sql, note_counts};
use crate::profile::sample::{Rows, count_sql, ends_sql, has_blocks, sample_sql, slice_key};
use crate::request::ScanRequest;
use crate::spending::Spending;

pub(crate) const COLUMNS_PER_STATEMENT: usize = 100;
const BYTES: usize = 64 << 20;
/// Longer texts are neither keys nor dictionary values.
const CELL_BYTES: usize = 512;

struct Reading<'r> {
    request: &'r ScanRequest,
    table: &'r Table,
    spending: &'r Spending<'r>,
}

pub(crate) async fn read_table(
    request: &ScanRequest,
    table: &Table,
    spending: &Spending<'_>,
) -> Result<TableProfile, WarehouseError> {
    let reading = Reading {
        request,
        table,
        spending,
    };
    let columns: Vec<(String, TypeFamily)> = columns(table);
    let mut whole: Option<TableProfile> = None;
    for group in columns.chunks(COLUMNS_PER_STATEMENT) {
        let part = reading.columns(group).await?;
        match &mut whole {
            None => whole = Some(part),
            Some(profile) => profile.widen(part),
        }
    }
    Ok(whole.unwrap_or_else(|| TableCollector::new(&[]).finish(Extent::Sample, None)))
}

/// The gate refuses control characters.
pub(crate) fn is_readable(name: &str) -> bool {
    !name.chars().any(char::is_control)
}

pub(crate) fn columns(table: &Table) -> Vec<(String, TypeFamily)> {
    table
        .columns
        .iter()
        .filter(|column| is_readable(&column.name))
        .map(|column| (column.name.clone(), TypeFamily::of(column)))
        .collect()
}

impl Reading<'_> {
    fn dialect(&self) -> Dialect {
        self.request.connector.dialect()
    }

    async fn columns(
        &self,
        columns: &[(String, TypeFamily)],
    ) -> Result<TableProfile, WarehouseError> {
        let settings = &self.request.settings;
        let bound = settings.whole_table_rows;
        let wanted = settings.relationships.profile_sample_rows as u64;
        let mut statements = 0;
        if self.table.estimated_rows.is_none_or(|rows| rows <= bound) {
            statements += 1;
            let (collector, truncated) = self
                .sample(columns, Rows::Whole { at_most: bound + 1 })
                .await?;
            if !truncated && collector.rows() <= bound {
                let rows = Some(collector.rows());
                let mut profile = collector.finish(Extent::Whole, rows);
                profile.statements = statements;
                return Ok(profile);
            }
        }
        let (rows, sent) = self.row_count().await?;
        statements += sent;
        let (how, sent) = self.sample_rows(wanted, rows).await?;
        statements += 1 + sent;
        let (mut collector, _) = self.sample(columns, how).await?;
        if collector.rows() < wanted.min(bound) / 20 && how != (Rows::First { wanted }) {
            // Blocks and slices can be empty if the catalog's size is too large.
            statements += 1;
            (collector, _) = self.sample(columns, Rows::First { wanted }).await?;
        }
        let mut profile = collector.finish(Extent::Sample, rows);
        statements += self.counts(&mut profile).await?;
        profile.statements = statements;
        Ok(profile)
    }

    /// Also returns the number of statements sent.
    async fn row_count(&self) -> Result<(Option<u64>, usize), WarehouseError> {
        if let Some(rows) = self.table.estimated_rows.filter(|rows| *rows > 0) {
            return Ok((Some(rows), 0));
        }
        if self.table.kind != TableKind::Table {
            return Ok((None, 0));
        }
        let sql = count_sql(self.dialect(), &self.table.table);
        match self.first_row(&sql).await {
            Ok(cells) => {
                let count = cells.first().and_then(Cell::to_text);
                Ok((count.and_then(|text| text.parse().ok()), 1))
            }
            // A sample is enough if counting exceeds the statement timeout.
            Err(error) if error.kind == ErrorKind::Timeout => Ok((None, 1)),
            Err(error) => Err(error),
        }
    }

    /// Also returns the number of statements sent.
    async fn sample_rows(
        &self,
        wanted: u64,
        rows: Option<u64>,
    ) -> Result<(Rows, usize), WarehouseError> {
        let dialect = self.dialect();
        let first = Rows::First { wanted };
        if has_blocks(dialect) {
            return Ok(match (rows, self.table.kind) {
                (Some(of), TableKind::Table) => (Rows::Blocks { wanted, of }, 0),
                _ => (first, 0),
            });
        }
        let Some(key) = slice_key(dialect, self.table) else {
            return Ok((first, 0));
        };
        let ends = match self
            .first_row(&ends_sql(dialect, &self.table.table, key))
            .await
        {
            Ok(ends) => ends,
            // Without an index, this takes as long as a count.
            Err(error) if matches!(error.kind, ErrorKind::Timeout | ErrorKind::Sql) => {
                return Ok((first, 1));
            }
            Err(error) => return Err(error),
        };
        let number = |at: usize| match ends.get(at) {
            Some(Cell::Int(value)) => Some(*value),
            _ => None,
        };
        Ok(match (number(0), number(1)) {
            (Some(low), Some(high)) if high > low => {
                let ends = (low, high);
                (
                    Rows::Slices {
                        wanted,
                        ends,
                        of: rows,
                    },
                    1,
                )
            }
            _ => (first, 1),
        })
    }

    async fn sample(
        &self,
        columns: &[(String, TypeFamily)],
        rows: Rows,
    ) -> Result<(TableCollector, bool), WarehouseError> {
        let dialect = self.dialect();
        let sql = sample_sql(dialect, self.table, columns, rows);
        let checked = ktx_read_only_sql::check(&sql, dialect).or_else(|refusal| match rows {
            // If the gate does not know the sampling clause, use a plain statement.
            Rows::Blocks { wanted, .. } => ktx_read_only_sql::check(
                &sample_sql(dialect, self.table, columns, Rows::First { wanted }),
                dialect,
            ),
            Rows::Whole { .. } | Rows::First { .. } | Rows::Slices { .. } => Err(refusal),
        });
        let checked = checked.map_err(|refusal| {
            WarehouseError::new(
                ErrorKind::Sql,
                format!("the read-only gate refused the statement: {refusal}"),
            )
        })?;
        let mut collector = TableCollector::new(columns);
        let caps = self.caps(usize::try_from(rows.limit()).unwrap_or(usize::MAX));
        let end = self
            .spending
            .run_checked(&checked, &caps, &mut collector)
            .await?;
        Ok((collector, end.truncated))
    }

    /// Returns the number of statements sent. Columns without an answer keep the sample's count.
    async fn counts(&self, profile: &mut TableProfile) -> Result<usize, WarehouseError> {
        if self.table.kind != TableKind::Table || profile.rows.is_none() {
            return Ok(0);
        }
        let Some(sql) = counts_sql(self.dialect(), &self.table.table, profile) else {
            return Ok(0);
        };
        let mut answer = ktx_warehouse::QueryResult::default();
        let caps = self.caps(10_000);
        match self.spending.run(&sql, &caps, &mut answer).await {
            Ok(_) => {
                note_counts(self.dialect(), profile, &answer);
                Ok(1)
            }
            Err(error) if error.kind == ErrorKind::Cancelled => Err(error),
            // The sample is usable without it.
            Err(_) => Ok(1),
        }
    }

    async fn first_row(&self, sql: &str) -> Result<Vec<Cell>, WarehouseError> {
        self.spending.first_row(sql, &self.caps(1)).await
    }

    fn caps(&self, rows: usize) -> Caps {
        Caps {
            rows,
            bytes: BYTES,
            cell_bytes: CELL_BYTES,
            timeout: Duration::from_secs(self.request.settings.statement_seconds),
        }
    }
}
