//! Finds things of all kinds.

mod entries;
mod named;
mod quantities;

use std::collections::BTreeSet;
use std::sync::Arc;

use ktx_diagnostics::{Failure, Severity};
use ktx_search::{Confidence, Hit, Kind, Query, Ranking, fuse, normalized};
use ktx_semantic_layer::{Catalog, Visibility};
use ktx_vocabulary::ConnectionId;

use crate::context::{ProjectContext, connection_of};
use crate::documents::source_list;
use crate::limits::check_text;
use crate::scans::ScanSnapshot;
use crate::wire::{DiscoverInput, DiscoverKind, DiscoverOutput, DiscoverRef};

use super::hits;
use entries::{add_ranges, entries};
use named::{best_pages, with_named};
use quantities::{asks_for_quantity, measures_first, named_things};

/// In bytes, about 300 tokens; a longer catalog is not listed.
const SHORT_CATALOG: usize = 900;

const MOST_MEASURES: usize = 15;

/// The weight of weak references.
const WEAK: f64 = 0.5;

/// Kinds compete within a group; the best of each group are equal.
const GROUPS: [&[Kind]; 3] = [
    &[Kind::Wiki],
    &[Kind::SemanticSource, Kind::Measure, Kind::Dimension],
    &[Kind::Table, Kind::Column],
];

struct ConnectionData {
    id: ConnectionId,
    catalog: Arc<Catalog>,
    snapshot: Option<Arc<ScanSnapshot>>,
}

pub async fn discover(
    context: &dyn ProjectContext,
    input: &DiscoverInput,
) -> Result<DiscoverOutput, Failure> {
    check_text("query", &input.query)?;
    let connection = match &input.connection_id {
        Some(text) => Some(connection_of(context, text).await?.id),
        None => None,
    };
    let wanted: Vec<Kind> = match input.kinds.as_deref() {
        None | Some([]) => Kind::ALL.to_vec(),
        Some(kinds) => kinds.iter().map(|kind| kind.indexed()).collect(),
    };
    let limit = hits(input.limit);
    let mut warnings = Vec::new();
    let connection_id = connection.as_ref();
    let mut found = search(context, input, (&wanted, connection_id), &mut warnings).await?;
    if found.is_empty()
        && let Some(query) = named_things(&input.query)
    {
        // Words such as `average` and `rate` name nothing, and a short layer has few words.
        let less = DiscoverInput {
            query,
            ..input.clone()
        };
        found = search(context, &less, (&wanted, connection_id), &mut warnings).await?;
        for (hit, _) in &mut found {
            hit.confidence = Confidence::Weak;
        }
    }
    let pages = best_pages(&found);
    let mut known = Vec::new();
    if wanted.iter().any(|kind| *kind != Kind::Wiki) {
        let (all, unread) = read(context, connection).await?;
        known = all;
        add_new(&mut warnings, unread);
    }
    let mut refs = entries(found, &known);
    if wanted.contains(&Kind::Measure) {
        let with_named = with_named(context, &pages, refs, &known).await?;
        refs = measures_first(&input.query, with_named, &known);
    }
    add_ranges(&mut refs, &known);
    let has_more = (refs.len() > limit).then_some(true);
    refs.truncate(limit);
    let is_open = input.kinds.as_deref().unwrap_or_default().is_empty();
    let notes = nothing_fits(&input.query, &refs, &known);
    let notes = notes.into_iter().collect();
    let catalog = if is_open {
        short_catalog(&known)
    } else {
        Vec::new()
    };
    Ok(DiscoverOutput {
        refs,
        catalog,
        notes,
        has_more,
        warnings,
    })
}

/// Best first. Each group has extra hits, because two hits can be one thing.
async fn search(
    context: &dyn ProjectContext,
    input: &DiscoverInput,
    (wanted, connection): (&[Kind], Option<&ConnectionId>),
    warnings: &mut Vec<String>,
) -> Result<Vec<(Hit, f64)>, Failure> {
    let limit = 2 * hits(input.limit) + 1;
    let groups = GROUPS.iter().map(|group| {
        let kinds = group.iter().copied();
        kinds.filter(|kind| wanted.contains(kind)).collect()
    });
    let groups = groups.filter(|kinds: &Vec<Kind>| !kinds.is_empty());
    let queries = groups.map(|kinds| {
        Query::new(&input.query, limit)
            .of_kinds(&kinds)
            .in_connection(connection)
    });
    let mut found: Vec<Option<Hit>> = Vec::new();
    let mut rankings = Vec::new();
    for outcome in context.search(queries.collect()).await? {
        add_new(warnings, outcome.warnings);
        let start = found.len();
        found.extend(outcome.hits.into_iter().map(Some));
        rankings.push(Ranking {
            weight: 1.0,
            items: (start..found.len()).collect(),
        });
    }
    let mut fused = fuse(&rankings);
    for (at, score) in &mut fused {
        if found
            .get(*at)
            .and_then(Option::as_ref)
            .is_some_and(|hit: &Hit| hit.confidence == Confidence::Weak)
        {
            *score *= WEAK;
        }
    }
    // The best of a group can be weak: weak hits follow those that fit.
    fused.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    let best = fused.first().map_or(0.0, |(_, score)| *score);
    let hits = fused.into_iter().filter_map(|(at, score)| {
        let hit = found.get_mut(at)?.take()?;
        Some((hit, normalized(score, best)))
    });
    Ok(hits.collect())
}

fn add_new(warnings: &mut Vec<String>, more: Vec<String>) {
    for warning in more {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// Also returns what is unreadable, and so cannot be found.
async fn read(
    context: &dyn ProjectContext,
    only: Option<ConnectionId>,
) -> Result<(Vec<ConnectionData>, Vec<String>), Failure> {
    let ids: BTreeSet<ConnectionId> = if let Some(id) = only {
        [id].into()
    } else {
        let connections = context.connections().await?.into_iter();
        let ids = connections.map(|connection| connection.id);
        ids.chain(context.source_folders().await.unwrap_or_default())
            .collect()
    };
    let mut known = Vec::new();
    let mut warnings = Vec::new();
    for id in ids {
        let catalog = match context.catalog(&id).await {
            Ok(catalog) => {
                let found = source_list(&id, &catalog).diagnostics.into_iter();
                let errors = found.filter(|found| found.severity == Severity::Error);
                warnings.extend(errors.map(|found| found.to_string()));
                Some(catalog)
            }
            Err(failure) => {
                warnings.push(failure.message);
                None
            }
        };
        let snapshot = match context.snapshot(&id).await {
            Ok(snapshot) => {
                warnings.extend(snapshot.iter().flat_map(|scan| scan.problems.clone()));
                snapshot
            }
            Err(failure) => {
                warnings.push(failure.message);
                None
            }
        };
        known.extend(catalog.map(|catalog| ConnectionData {
            id,
            catalog,
            snapshot,
        }));
    }
    Ok((known, warnings))
}

fn nothing_fits(query: &str, refs: &[DiscoverRef], known: &[ConnectionData]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    let fits = |entry: &&DiscoverRef| entry.confidence.is_none();
    let is_measure = |entry: &DiscoverRef| entry.kind == DiscoverKind::SlMeasure;
    let what = if refs.is_empty() {
        "nothing fits"
    } else if !refs.iter().any(|entry| fits(&entry)) {
        "nothing fits well: each of these has only a part of the words"
    } else if asks_for_quantity(query) && !refs.iter().filter(fits).any(is_measure) {
        "no measure fits"
    } else {
        return None;
    };
    let sources = known.iter().flat_map(|known| known.catalog.sources());
    let measures: Vec<String> = sources
        .flat_map(|source| {
            let of = source.measures.iter();
            of.map(|measure| format!("`{}.{}`", source.name, measure.name))
        })
        .collect();
    let shown = measures.get(..MOST_MEASURES).unwrap_or(&measures);
    Some(match (shown.is_empty(), measures.len() - shown.len()) {
        (true, _) => format!("{what}, and no measures are defined; try other words"),
        (false, 0) => format!("{what}; these measures exist: {}", shown.join(", ")),
        (false, more) => format!(
            "{what}; these measures exist: {} and {more} more",
            shown.join(", ")
        ),
    })
}

fn short_catalog(known: &[ConnectionData]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for known in known {
        for source in known.catalog.sources() {
            let public = source.columns.iter();
            let public = public.filter(|column| column.visibility == Visibility::Public);
            let columns: Vec<&str> = public.map(|column| column.name.as_str()).collect();
            let measures = source.measures.iter().map(|measure| measure.name.as_str());
            let measures: Vec<&str> = measures.collect();
            let mut line = format!("{}: {}", source.name, columns.join(", "));
            if !measures.is_empty() {
                line.push_str("; measures ");
                line.push_str(&measures.join(", "));
            }
            bytes += line.len() + 1;
            if bytes > SHORT_CATALOG {
                return Vec::new();
            }
            lines.push(line);
        }
    }
    lines
}
