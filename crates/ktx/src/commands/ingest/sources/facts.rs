//! What the metadata of sources says about tables, taken over without a model.

use ktx_context_sources::{Pruning, apply};
use ktx_vocabulary::ConnectionId;

use super::{Facts, Source};
use crate::commands::ingest::Around;
use crate::commands::ingest::kept::Keeper;
use crate::exit::Exit;
use crate::report::{Failure, Outcome};

/// What became of the facts of each source, in their order; none for one that was not read.
pub(in crate::commands::ingest) type Taken = Vec<Option<Outcome<Facts>>>;

/// Takes over the facts of all sources, each as a commit of its own. `before` is what an earlier call in the same
/// run has made: what it committed is told.
pub(in crate::commands::ingest) fn take(
    sources: &[(ConnectionId, Outcome<Source>)],
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
        let mut taken = one(source.as_ref().ok()?, &keeper, around);
        if let (Ok(taken), Some(before)) = (&mut taken, before) {
            taken.commit = taken.commit.take().or(before.commit);
        }
        Some(taken)
    });
    Ok(taken.collect())
}

fn one(source: &Source, keeper: &Keeper<'_>, (_, opened, _): Around<'_>) -> Outcome<Facts> {
    let warehouse = source.warehouse.as_ref();
    let Some((warehouse, _)) = warehouse.filter(|_| source.has_facts) else {
        return Ok(Facts::default());
    };
    // Two sources of one kind write under the same key; those of other kinds do not.
    let kind = opened.config.connection(source.id.as_str());
    let kind = kind.map(|connection| connection.driver);
    let others = opened.config.context_sources();
    let mut others = others.filter(|other| other.id != source.id);
    let pruning = if others.all(|other| Some(other.driver) != kind) {
        Pruning::Remove
    } else {
        Pruning::Keep
    };
    let base = keeper.begin()?;
    let shards = keeper.shards(&base, warehouse)?;
    let applied = apply(&source.facts, &shards, pruning).map_err(|error| {
        Failure::from_error(Exit::Failure, "facts_failed", &error).context(format!(
            "what `{}` says about tables cannot be written",
            source.id
        ))
    })?;
    let title = format!("ktx ingest: what {} says about tables", source.id);
    let published = keeper.publish(&base, &applied.changes, &title)?;
    Ok(Facts {
        tables: applied.tables,
        unknown: applied.unknown,
        commit: published.commit,
    })
}
