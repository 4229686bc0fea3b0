//! Which columns hold a value.

use std::sync::Arc;

use ktx_semantic_layer::Catalog;
use ktx_vocabulary::{ConnectionId, TableRef};

use crate::context::{ProjectContext, warehouses_of};
use crate::failure::{Failure, MAX_CANDIDATES};
use crate::scans::{Profile, ProfiledColumn, ScanSnapshot};
use crate::wire::{
    Coverage, CoverageStatus, DictionaryInput, DictionaryMatch, DictionaryMiss, DictionaryOutput,
    DictionaryResult, SearchedConnection,
};

struct Warehouse {
    id: ConnectionId,
    catalog: Arc<Catalog>,
    snapshot: Option<Arc<ScanSnapshot>>,
}

/// Looks for values among those that the last scans have kept.
pub async fn dictionary_search(
    context: &dyn ProjectContext,
    input: &DictionaryInput,
) -> Result<DictionaryOutput, Failure> {
    let mut warehouses = Vec::new();
    for connection in warehouses_of(context, input.connection_id.as_deref()).await? {
        warehouses.push(Warehouse {
            catalog: context.catalog(&connection.id).await?,
            snapshot: context.snapshot(&connection.id).await?,
            id: connection.id,
        });
    }
    let snapshots = warehouses
        .iter()
        .filter_map(|warehouse| warehouse.snapshot.as_deref());
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

impl Warehouse {
    fn profile(&self) -> Option<&Profile> {
        self.snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.profile.as_ref())
    }

    fn status(&self) -> CoverageStatus {
        match self.profile() {
            None => CoverageStatus::NoProfileArtifact,
            Some(profile)
                if profile
                    .columns
                    .iter()
                    .all(|column| column.values.is_empty()) =>
            {
                CoverageStatus::NoCandidateColumns
            }
            Some(_) => CoverageStatus::Ready,
        }
    }

    fn searched(&self) -> SearchedConnection {
        let coverage = self
            .snapshot
            .as_ref()
            .zip(self.profile())
            .map(|(snapshot, profile)| {
                let counts = || profile.columns.iter().map(|column| column.values.len());
                Coverage {
                    sampled_rows: profile.sampled_rows,
                    values_per_column: counts().max().unwrap_or_default(),
                    profiled_columns: counts().filter(|count| *count > 0).count(),
                    sync_id: snapshot.sync_id.clone(),
                    profiled_at: snapshot.extracted_at.clone(),
                }
            });
        SearchedConnection {
            connection_id: self.id.to_string(),
            coverage,
            status: self.status(),
        }
    }

    /// The name of the table's source, or of the table.
    fn source_name(&self, table: &TableRef) -> String {
        let places = self
            .snapshot
            .as_deref()
            .map(ScanSnapshot::places)
            .unwrap_or_default();
        let mut sources = self.catalog.sources().iter();
        sources
            .find(|source| {
                places
                    .read_by(source)
                    .is_some_and(|read| read.table == *table)
            })
            .map_or_else(|| table.to_string(), |source| source.name.clone())
    }
}

fn result(value: &str, warehouses: &[Warehouse]) -> DictionaryResult {
    let wanted = value.trim().to_lowercase();
    let mut ranked: Vec<(usize, usize, &Warehouse, &ProfiledColumn, &String)> = Vec::new();
    let mut misses = Vec::new();
    for (order, warehouse) in warehouses.iter().enumerate() {
        let before = ranked.len();
        for column in warehouse
            .profile()
            .iter()
            .flat_map(|profile| &profile.columns)
        {
            let best = column
                .values
                .iter()
                .filter_map(|known| {
                    closeness(&known.to_lowercase(), &wanted).map(|rank| (rank, known))
                })
                .min();
            ranked.extend(best.map(|(rank, known)| (rank, order, warehouse, column, known)));
        }
        if ranked.len() == before {
            misses.push(DictionaryMiss {
                connection_id: warehouse.id.to_string(),
                reason: match warehouse.status() {
                    CoverageStatus::Ready => "value_not_in_sample",
                    CoverageStatus::NoProfileArtifact => "no_profile_artifact",
                    CoverageStatus::NoCandidateColumns => "no_candidate_columns",
                }
                .to_owned(),
            });
        }
    }
    // The sort is stable: equal ranks stay in the order of warehouse, table and column.
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

/// 0 for the value itself, 1 for a beginning, 2 for a part; `None` when it does not occur.
fn closeness(known: &str, wanted: &str) -> Option<usize> {
    if known == wanted {
        Some(0)
    } else if known.starts_with(wanted) {
        Some(1)
    } else {
        known.contains(wanted).then_some(2)
    }
}
