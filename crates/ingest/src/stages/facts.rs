//! Copies facts about tables from the metadata of sources, without a model.

use std::collections::BTreeSet;

use ktx_context_sources::{Facts, Pruning, Source, apply};
use ktx_vocabulary::ConnectionId;

use crate::error::{Failed, IngestError};
use crate::imports::{Coverage, ImportReport, ImportTarget, import, orphans};
use crate::journal::{KnownFacts, Row};
use crate::report::FactsReport;
use crate::run_store::RunStore;
use crate::stages::manifest::{self, ManifestState};

#[derive(Debug, Clone, Copy)]
pub struct FactsSource<'a> {
    pub source: &'a Source,
    pub siblings: &'a [ConnectionId],
}

pub type FactsReports = Vec<Result<FactsReport, Failed>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imports {
    /// A following scan may find the missing tables.
    AfterScan,
    Now,
}

/// Copies the facts of sources, each in its own commit. `unread` are the connections that could not
/// be read; `earlier` are the results of an earlier call in the same run, whose commits are
/// reported.
pub fn copy_facts(
    sources: &[FactsSource<'_>],
    unread: &BTreeSet<ConnectionId>,
    earlier: FactsReports,
    imports: Imports,
    run_store: &RunStore,
) -> FactsReports {
    let mut earlier = earlier.into_iter();
    let copied = sources.iter().map(|source| {
        let earlier = earlier.next().and_then(Result::ok);
        let mut copied = copy(*source, sources, unread, imports, run_store)?;
        let earlier = earlier.and_then(|earlier| earlier.commit);
        copied.commit = copied.commit.or(earlier);
        Ok(copied)
    });
    copied.collect()
}

/// Removes the imports of sources that the project no longer has, in one commit for each warehouse.
pub fn remove_orphans(
    warehouses: &[&ConnectionId],
    known: &[&ConnectionId],
    run_store: &RunStore,
) -> Result<(), IngestError> {
    let known: BTreeSet<&ConnectionId> = known.iter().copied().collect();
    for warehouse in warehouses {
        let base = run_store.begin()?;
        let files = run_store.files(&base, Some(warehouse))?;
        let changes = orphans(warehouse, &files, &known);
        if !changes.is_empty() {
            let title = "ktx ingest: definitions of context sources that are gone";
            run_store.publish(&base, &changes, title)?;
        }
    }
    Ok(())
}

fn copy(
    FactsSource { source, siblings }: FactsSource<'_>,
    sources: &[FactsSource<'_>],
    unread: &BTreeSet<ConnectionId>,
    imports: Imports,
    run_store: &RunStore,
) -> Result<FactsReport, IngestError> {
    let warehouse = source.warehouse.as_ref();
    let Some((warehouse, dialect)) = warehouse.filter(|_| source.has_facts) else {
        return Ok(FactsReport::default());
    };
    let others = others(siblings, warehouse, sources, unread, run_store)?;
    let pruning = others
        .as_deref()
        .map_or(Pruning::Keep, Pruning::RemoveUnlessSaid);
    let base = run_store.begin()?;
    let ManifestState { note, missing } = manifest::compare(source, &base, run_store)?;
    let facts = Facts {
        is_complete: source.facts.is_complete && missing.is_none(),
        ..source.facts.clone()
    };
    let shards = run_store.shards(&base, warehouse)?;
    let applied = apply(&facts, &shards, pruning).map_err(|error| IngestError::Facts {
        source_id: source.id.clone(),
        error,
    })?;
    let files = run_store.files(&base, Some(warehouse))?;
    let target = ImportTarget {
        warehouse,
        dialect: *dialect,
        files: &files,
    };
    let coverage = Coverage::of(&facts);
    let (imported, imports) = match imports {
        Imports::AfterScan => (Vec::new(), ImportReport::default()),
        Imports::Now => import(&source.definitions, &source.id, target, coverage),
    };
    let note = note.into_iter().collect();
    let changes = [applied.changes, imported, note].concat();
    let title = format!("ktx ingest: what {} says about tables", source.id);
    let published = run_store.publish(&base, &changes, &title)?;
    // For runs that read only other sources of this kind.
    run_store.journal(&source.id).put(&Row {
        key: warehouse.to_string(),
        input: String::new(),
        record: KnownFacts(Facts {
            warnings: Vec::new(),
            ..facts
        }),
    })?;
    Ok(FactsReport {
        tables: applied.tables,
        unknown: applied.unknown,
        imports,
        warnings: missing.into_iter().collect(),
        commit: published.commit,
    })
}

/// From this run or an earlier one; `None` if the facts of one sibling are unknown.
fn others(
    siblings: &[ConnectionId],
    warehouse: &ConnectionId,
    sources: &[FactsSource<'_>],
    unread: &BTreeSet<ConnectionId>,
    run_store: &RunStore,
) -> Result<Option<Vec<Facts>>, IngestError> {
    let mut all = Vec::new();
    for sibling in siblings {
        let read = sources.iter().map(|other| other.source);
        let read: Vec<&Source> = read.filter(|other| other.id == *sibling).collect();
        if read.is_empty() || unread.contains(sibling) {
            let journal = run_store.journal(sibling);
            match journal.get::<KnownFacts>(warehouse.as_str())? {
                Some(row) if row.record.0.is_complete => all.push(row.record.0),
                _ => return Ok(None),
            }
            continue;
        }
        for read in read {
            let about = read.warehouse.as_ref().map(|(id, _)| id);
            if about != Some(warehouse) {
                continue;
            }
            if !read.facts.is_complete {
                return Ok(None);
            }
            all.push(read.facts.clone());
        }
    }
    Ok(Some(all))
}
