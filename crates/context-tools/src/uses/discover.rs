//! Finding things of all kinds.

use std::collections::BTreeSet;

use ktx_diagnostics::{Failure, Severity};
use ktx_search::{Confidence, Hit, Kind, Query, Ranking, fuse, normalized};
use ktx_vocabulary::ConnectionId;

use crate::context::{ProjectContext, connection_of};
use crate::documents::source_list;
use crate::limits::check_text;
use crate::wire::{DiscoverInput, DiscoverKind, DiscoverOutput, DiscoverRef, Payload, TablePlace};

use super::{hits, shown_confidence};

/// Letters of a snippet.
const SNIPPET_LETTERS: usize = 200;

/// What a weak reference counts beside one that fits.
const WEAK: f64 = 0.5;

/// Kinds that compete with each other; the best of each group stands side by side.
const GROUPS: [&[Kind]; 3] = [
    &[Kind::Wiki],
    &[Kind::SemanticSource, Kind::Measure, Kind::Dimension],
    &[Kind::Table, Kind::Column],
];

/// Finds pages, sources, measures, dimensions, tables and columns.
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
    let queries: Vec<Query> = GROUPS
        .iter()
        .map(|group| {
            group
                .iter()
                .copied()
                .filter(|kind| wanted.contains(kind))
                .collect()
        })
        .filter(|kinds: &Vec<Kind>| !kinds.is_empty())
        .map(|kinds| {
            Query::new(&input.query, limit)
                .of_kinds(&kinds)
                .in_connection(connection.as_ref())
        })
        .collect();
    let mut found: Vec<Hit> = Vec::new();
    let mut rankings = Vec::new();
    let mut warnings = Vec::new();
    for outcome in context.search(queries).await? {
        add_new(&mut warnings, outcome.warnings);
        let start = found.len();
        found.extend(outcome.hits);
        rankings.push(Ranking {
            weight: 1.0,
            items: (start..found.len()).collect(),
        });
    }
    let mut fused = fuse(&rankings);
    for (at, score) in &mut fused {
        if found
            .get(*at)
            .is_some_and(|hit| hit.confidence == Confidence::Weak)
        {
            *score *= WEAK;
        }
    }
    // The best of a group is not good because it is the best: weak ones go behind those that fit.
    fused.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    let best = fused.first().map_or(0.0, |(_, score)| *score);
    let refs = fused.into_iter().take(limit).filter_map(|(at, score)| {
        found
            .get(at)
            .map(|hit| reference(hit, normalized(score, best)))
    });
    let refs = refs.collect();
    if wanted.iter().any(|kind| *kind != Kind::Wiki) {
        let unread = unread(context, connection).await?;
        add_new(&mut warnings, unread);
    }
    Ok(DiscoverOutput { refs, warnings })
}

fn add_new(warnings: &mut Vec<String>, more: Vec<String>) {
    for warning in more {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// What of sources and scans cannot be read: nothing of it can be found.
async fn unread(
    context: &dyn ProjectContext,
    only: Option<ConnectionId>,
) -> Result<Vec<String>, Failure> {
    let ids: BTreeSet<ConnectionId> = if let Some(id) = only {
        [id].into()
    } else {
        let connections = context.connections().await?.into_iter();
        let ids = connections.map(|connection| connection.id);
        // A folder that cannot be listed was told of by the search.
        ids.chain(context.source_folders().await.unwrap_or_default())
            .collect()
    };
    let mut warnings = Vec::new();
    for id in ids {
        match context.catalog(&id).await {
            Ok(catalog) => {
                let found = source_list(&id, &catalog).diagnostics.into_iter();
                let errors = found.filter(|found| found.severity == Severity::Error);
                warnings.extend(errors.map(|found| found.to_string()));
            }
            Err(failure) => warnings.push(failure.message),
        }
        match context.snapshot(&id).await {
            Ok(snapshot) => {
                warnings.extend(snapshot.iter().flat_map(|scan| scan.problems.clone()));
            }
            Err(failure) => warnings.push(failure.message),
        }
    }
    Ok(warnings)
}

fn reference(hit: &Hit, score: f64) -> DiscoverRef {
    // A payload of another version of the index tells nothing; the reference stands without it.
    let payload: Payload = serde_json::from_str(&hit.payload).unwrap_or_default();
    DiscoverRef {
        kind: DiscoverKind::of(hit.kind),
        id: hit.id.clone(),
        score,
        confidence: shown_confidence(hit.confidence),
        summary: hit.summary.clone(),
        snippet: hit.snippet.as_deref().map(plain_snippet),
        matched_on: hit.matched_on.as_str().to_owned(),
        connection_id: hit.connection.clone(),
        table_ref: payload.table.as_ref().map(TablePlace::from),
        column_name: payload.column,
    }
}

/// A snippet without marks, cut to its bound.
fn plain_snippet(snippet: &str) -> String {
    let plain = snippet.replace("<mark>", "").replace("</mark>", "");
    if plain.chars().count() <= SNIPPET_LETTERS {
        return plain;
    }
    let cut: String = plain.chars().take(SNIPPET_LETTERS - 1).collect();
    format!("{cut}…")
}
