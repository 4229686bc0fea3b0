//! Facts about tables from the metadata of sources, copied without a model.

use ktx_context_sources::{Facts as Said, Pruning, apply};
use ktx_diagnostics::Code;
use ktx_project_store::StageRow;
use ktx_vocabulary::ConnectionId;

use super::{Facts, Source};
use crate::commands::ingest::Around;
use crate::commands::ingest::kept::Keeper;
use crate::report::{Failure, Outcome};
use crate::scanning::state_failure;

/// The stage under which a source's facts about a warehouse are remembered.
const SAID: &str = "facts";

type Sources = [(ConnectionId, Outcome<Source>)];

/// The results for the facts of each source, in order; `None` for one that was not read.
pub(in crate::commands::ingest) type Taken = Vec<Option<Outcome<Facts>>>;

/// Copies the facts of all sources, each in its own commit. `before` is the result of an earlier
/// call in the same run, whose commits are reported.
pub(in crate::commands::ingest) fn take(
    sources: &Sources,
    before: Taken,
    around: Around<'_>,
) -> Outcome<Taken> {
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    let (session, opened, _) = around;
    let keeper = Keeper::open(session, opened)?;
    let mut before = before.into_iter();
    let taken = sources.iter().map(|(_, source)| {
        let before = before.next().flatten().and_then(Result::ok);
        let mut taken = one(source.as_ref().ok()?, sources, &keeper, around);
        if let (Ok(taken), Some(before)) = (&mut taken, before) {
            taken.commit = taken.commit.take().or(before.commit);
        }
        Some(taken)
    });
    Ok(taken.collect())
}

fn one(
    source: &Source,
    sources: &Sources,
    keeper: &Keeper<'_>,
    around: Around<'_>,
) -> Outcome<Facts> {
    let warehouse = source.warehouse.as_ref();
    let Some((warehouse, _)) = warehouse.filter(|_| source.has_facts) else {
        return Ok(Facts::default());
    };
    let others = others(source, warehouse, sources, keeper, around)?;
    let pruning = others
        .as_deref()
        .map_or(Pruning::Keep, Pruning::RemoveUnlessSaid);
    let base = keeper.begin()?;
    let shards = keeper.shards(&base, warehouse)?;
    let applied = apply(&source.facts, &shards, pruning).map_err(|error| {
        Failure::from_error(Code::FactsFailed, &error).context(format!(
            "what `{}` says about tables cannot be written",
            source.id
        ))
    })?;
    let title = format!("ktx ingest: what {} says about tables", source.id);
    let published = keeper.publish(&base, &applied.changes, &title)?;
    remember(source, warehouse, keeper, around)?;
    Ok(Facts {
        tables: applied.tables,
        unknown: applied.unknown,
        commit: published.commit,
    })
}

/// Returns the facts of other connections of the same kind about the tables of a warehouse, because
/// they write under the same key. They were read in this run or remembered from an earlier one;
/// `None` if one is unknown.
fn others(
    source: &Source,
    warehouse: &ConnectionId,
    sources: &Sources,
    keeper: &Keeper<'_>,
    (_, opened, _): Around<'_>,
) -> Outcome<Option<Vec<Said>>> {
    let kind = opened.config.connection(source.id.as_str());
    let kind = kind.map(|connection| connection.driver);
    let mut all = Vec::new();
    for other in opened.config.context_sources() {
        if other.id == source.id || Some(other.driver) != kind {
            continue;
        }
        let read: Vec<&Outcome<Source>> = sources
            .iter()
            .filter(|(id, _)| *id == other.id)
            .map(|(_, read)| read)
            .collect();
        if read.is_empty() || read.iter().any(|read| read.is_err()) {
            match remembered(&other.id, warehouse, keeper)? {
                Some(said) if said.is_complete => all.push(said),
                _ => return Ok(None),
            }
            continue;
        }
        for read in read.into_iter().flatten() {
            let about = read.warehouse.as_ref().map(|(id, _)| id);
            match &read.facts {
                _ if about != Some(warehouse) => {}
                said if said.is_complete => all.push(said.clone()),
                _ => return Ok(None),
            }
        }
    }
    Ok(Some(all))
}

/// Remembers the facts of a source, for runs that read other sources of its kind alone.
fn remember(
    source: &Source,
    warehouse: &ConnectionId,
    keeper: &Keeper<'_>,
    (session, _, _): Around<'_>,
) -> Outcome<()> {
    let said = Said {
        warnings: Vec::new(),
        ..source.facts.clone()
    };
    let output =
        serde_json::to_value(said).map_err(|error| Failure::from_error(Code::Internal, &error))?;
    let row = StageRow {
        table_key: warehouse.to_string(),
        stage: SAID.to_owned(),
        structure_hash: String::new(),
        input_hash: String::new(),
        output,
        updated: session.now,
    };
    let put = keeper.state().put_stage(&source.id, &row);
    put.map_err(|error| state_failure(&error))
}

/// Returns the facts of a source about a warehouse from its last reading.
fn remembered(
    source: &ConnectionId,
    warehouse: &ConnectionId,
    keeper: &Keeper<'_>,
) -> Outcome<Option<Said>> {
    let row = keeper.state().stage(source, warehouse.as_str(), SAID);
    let row = row.map_err(|error| state_failure(&error))?;
    // Facts of an incompatible version of ktx count as missing.
    Ok(row.and_then(|row| serde_json::from_value(row.output).ok()))
}
