//! Finds the columns that hold a value.

use std::sync::Arc;

use ktx_diagnostics::{Failure, MAX_CANDIDATES};
use ktx_semantic_layer::Catalog;
use ktx_vocabulary::{ConnectionId, TableRef};

use crate::context::{ProjectContext, warehouses_of};
use crate::limits::check_text;
use crate::scans::{Profile, ProfiledColumn, ScanSnapshot, Shown};
use crate::wire::{
    Coverage, CoverageStatus, DictionaryInput, DictionaryMatch, DictionaryMiss, DictionaryOutput,
    DictionaryResult, SearchedConnection,
};

struct WarehouseFacts {
    id: ConnectionId,
    catalog: Arc<Catalog>,
    snapshot: Option<Arc<ScanSnapshot>>,
}

struct Warehouse<'a> {
    id: &'a ConnectionId,
    scan: Option<(&'a ScanSnapshot, Shown<'a>)>,
    columns: Vec<(&'a ProfiledColumn, &'a [String])>,
}

pub async fn dictionary_search(
    context: &dyn ProjectContext,
    input: &DictionaryInput,
) -> Result<DictionaryOutput, Failure> {
    for value in &input.values {
        check_text("values", value)?;
    }
    let mut facts = Vec::new();
    for connection in warehouses_of(context, input.connection_id.as_deref()).await? {
        facts.push(WarehouseFacts {
            catalog: context.catalog(&connection.id).await?,
            snapshot: context.snapshot(&connection.id).await?,
            id: connection.id,
        });
    }
    let warehouses: Vec<Warehouse<'_>> = facts.iter().map(Warehouse::of).collect();
    let snapshots = facts.iter().filter_map(|facts| facts.snapshot.as_deref());
    Ok(DictionaryOutput {
        searched: warehouses.iter().map(Warehouse::searched).collect(),
        results: input
            .values
            .iter()
            .map(|value| result(value, &warehouses))
            .collect(),
        warnings: snapshots
            .flat_map(|snapshot| snapshot.problems.iter().cloned())
            .collect(),
    })
}

impl<'a> Warehouse<'a> {
    fn of(facts: &'a WarehouseFacts) -> Self {
        let snapshot = facts.snapshot.as_deref();
        let scan = snapshot.map(|snapshot| (snapshot, Shown::of(&facts.catalog, snapshot)));
        let mut columns = Vec::new();
        if let Some((snapshot, shown)) = &scan {
            let profiled = snapshot.profile.iter().flat_map(|profile| &profile.columns);
            columns.extend(profiled.filter_map(|column| {
                let values = shown.values(&column.table, &column.column);
                (!values.is_empty()).then_some((column, values))
            }));
        }
        Self {
            id: &facts.id,
            scan,
            columns,
        }
    }

    fn profile(&self) -> Option<&'a Profile> {
        self.scan.as_ref()?.0.profile.as_ref()
    }

    fn status(&self) -> CoverageStatus {
        let unread = self
            .scan
            .as_ref()
            .is_some_and(|(scan, _)| scan.unread_profile);
        match self.profile() {
            None if unread => CoverageStatus::ProfileUnreadable,
            None => CoverageStatus::NoProfileArtifact,
            Some(_) if self.columns.is_empty() => CoverageStatus::NoCandidateColumns,
            Some(_) => CoverageStatus::Ready,
        }
    }

    fn searched(&self) -> SearchedConnection {
        let known = self.scan.as_ref().zip(self.profile());
        let coverage = known.map(|((snapshot, _), profile)| Coverage {
            sampled_rows: profile.sampled_rows,
            values_per_column: self
                .columns
                .iter()
                .map(|(_, values)| values.len())
                .max()
                .unwrap_or_default(),
            profiled_columns: self.columns.len(),
            sync_id: snapshot.sync_id.clone(),
            profiled_at: snapshot.extracted_at.clone(),
        });
        SearchedConnection {
            connection_id: self.id.to_string(),
            coverage,
            status: self.status(),
        }
    }

    fn source_name(&self, table: &TableRef) -> String {
        let scan = self.scan.as_ref();
        scan.and_then(|(_, shown)| shown.source(table))
            .map_or_else(|| table.to_string(), |source| source.name.clone())
    }
}

fn result(value: &str, warehouses: &[Warehouse<'_>]) -> DictionaryResult {
    let wanted = value.trim().to_lowercase();
    let mut ranked: Vec<(usize, usize, &Warehouse<'_>, &ProfiledColumn, &String)> = Vec::new();
    let mut misses = Vec::new();
    for (order, warehouse) in warehouses.iter().enumerate() {
        let before = ranked.len();
        for (column, values) in &warehouse.columns {
            let best = values
                .iter()
                .filter_map(|known| {
                    closeness(&known.to_lowercase(), &wanted).map(|rank| (rank, known))
                })
                .min();
            ranked.extend(best.map(|(rank, known)| (rank, order, warehouse, *column, known)));
        }
        if ranked.len() == before {
            misses.push(DictionaryMiss {
                connection_id: warehouse.id.to_string(),
                reason: match warehouse.status() {
                    CoverageStatus::Ready => "value_not_in_sample",
                    CoverageStatus::NoProfileArtifact => "no_profile_artifact",
                    CoverageStatus::ProfileUnreadable => "profile_unreadable",
                    CoverageStatus::NoCandidateColumns => "no_candidate_columns",
                }
                .to_owned(),
            });
        }
    }
    // The sort is stable: equal ranks keep the order of warehouse, table and column.
    ranked.sort_by_key(|(rank, order, ..)| (*rank, *order));
    let matches =
        ranked
            .into_iter()
            .take(MAX_CANDIDATES)
            .map(|(_, _, warehouse, column, known)| DictionaryMatch {
                connection_id: warehouse.id.to_string(),
                source_name: warehouse.source_name(&column.table),
                column_name: column.column.clone(),
                matched_value: known.clone(),
                cardinality: column.distinct,
            });
    DictionaryResult {
        value: value.to_owned(),
        matches: matches.collect(),
        misses,
    }
}

/// 0 for the whole value, 1 for a beginning, 2 for a part.
fn closeness(known: &str, wanted: &str) -> Option<usize> {
    if known == wanted {
        Some(0)
    } else if known.starts_with(wanted) {
        Some(1)
    } else {
        known.contains(wanted).then_some(2)
    }
}
