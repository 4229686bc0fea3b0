//! Ranks parts for a query.

use std::cmp::Reverse;

use ktx_search::{Kind, Query, QueryVector, Ranking, SearchError, fuse, normalized};

use super::{DocumentFolder, DocumentLane, State};

pub(super) type Spot = (String, usize);

pub(super) fn hits(
    state: &State,
    folder: &DocumentFolder,
    query: &str,
    vector: Option<&QueryVector>,
) -> Result<Vec<(Spot, f64)>, SearchError> {
    let mut hits = match (folder.lane, vector) {
        (DocumentLane::Meaning, Some(vector)) => by_meaning(state, vector)?,
        (DocumentLane::Words | DocumentLane::Meaning, _) => by_words(state, query)?,
        (DocumentLane::Exact, _) => by_text(state, query),
        (DocumentLane::All(weights), vector) => {
            let near = vector.map(|vector| by_meaning(state, vector)).transpose()?;
            fused(&[
                ranking(weights.meaning, near.unwrap_or_default()),
                ranking(weights.words, by_words(state, query)?),
                ranking(weights.exact, by_text(state, query)),
            ])
        }
    };
    hits.retain(|(spot, score)| {
        state.part(spot).is_some() && folder.least_score.is_none_or(|least| *score >= least)
    });
    hits.truncate(folder.most);
    Ok(hits)
}

fn ranking(weight: f64, hits: Vec<(Spot, f64)>) -> Ranking<Spot> {
    Ranking {
        weight,
        items: hits.into_iter().map(|(spot, _)| spot).collect(),
    }
}

fn fused(rankings: &[Ranking<Spot>]) -> Vec<(Spot, f64)> {
    let fused = fuse(rankings);
    let best = fused.first().map_or(0.0, |(_, score)| *score);
    let scored = fused.into_iter();
    scored
        .map(|(spot, score)| (spot, normalized(score, best)))
        .collect()
}

/// The cosine is the score.
fn by_meaning(state: &State, vector: &QueryVector) -> Result<Vec<(Spot, f64)>, SearchError> {
    let near = state.index.nearest(vector, Kind::Wiki)?.into_iter();
    let scored = near.filter_map(|near| Some((spot_of(&near.payload)?, rounded(near.cosine))));
    Ok(scored.collect())
}

fn by_words(state: &State, query: &str) -> Result<Vec<(Spot, f64)>, SearchError> {
    let all = state.parts.values().map(Vec::len).sum();
    let hits = state
        .index
        .search(&Query::new(query, all))?
        .hits
        .into_iter();
    let scored = hits.filter_map(|hit| Some((spot_of(&hit.payload)?, rounded(hit.covered))));
    Ok(scored.collect())
}

fn by_text(state: &State, query: &str) -> Vec<(Spot, f64)> {
    let wanted = query.trim().to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, Spot)> = Vec::new();
    for (file, parts) in &state.parts {
        for (place, part) in parts.iter().enumerate() {
            let times = part.text.to_lowercase().matches(&wanted).count();
            if times > 0 {
                found.push((times, (file.clone(), place)));
            }
        }
    }
    // The sort is stable: equals stay in the order of files.
    found.sort_by_key(|(times, _)| Reverse(*times));
    found.into_iter().map(|(_, spot)| (spot, 1.0)).collect()
}

pub(super) fn payload(file: &str, place: usize) -> String {
    format!("{place} {file}")
}

fn spot_of(payload: &str) -> Option<Spot> {
    let (place, file) = payload.split_once(' ')?;
    Some((file.to_owned(), place.parse().ok()?))
}

fn rounded(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}
