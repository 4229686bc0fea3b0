//! Blends full-text scores with vector scores.

use std::collections::BTreeMap;

use crate::lanes::LaneSet;
use crate::query::Lane;
use crate::ranking::ScoredDocument;
use crate::schema::DocumentRow;

const MEANING: f64 = 0.4;

/// Minimum nearness, as a fraction of the distance from the mean to the nearest document.
const NEAR: f64 = 0.5;

/// Minimum cosine: unrelated texts have cosines up to 0.2.
pub(crate) const FLOOR: f64 = 0.25;

/// Minimum distance between the mean and the nearest document. Models that give all texts large
/// cosines differ less between unrelated texts.
const LEAST_WAY: f64 = 0.15;

/// Scales both scores to 0 to 1, where 0 is a document without any match, or of mean nearness.
pub(crate) fn blend(
    ranked: Vec<ScoredDocument>,
    cosines: Vec<(DocumentRow, f64)>,
) -> Vec<ScoredDocument> {
    let Some(nearness) = nearness(cosines) else {
        return ranked;
    };
    let best = ranked.iter().map(|one| one.score).fold(0.0, f64::max);
    let scale = if best > 0.0 { best } else { 1.0 };
    let mut nearness = nearness;
    let mut blended = ranked;
    for one in &mut blended {
        let near = nearness.remove(&one.row).unwrap_or_default();
        one.score = (1.0 - MEANING) * one.score + MEANING * near * scale;
        if near >= NEAR {
            one.lanes = one.lanes.with(LaneSet::of(Lane::Semantic));
        }
    }
    let found = nearness.into_iter().filter(|(_, near)| *near >= NEAR);
    blended.extend(found.map(|(row, near)| ScoredDocument {
        row,
        score: MEANING * near * scale,
        covered: 0.0,
        lanes: LaneSet::of(Lane::Semantic),
        best: None,
    }));
    blended
}

fn nearness(cosines: Vec<(DocumentRow, f64)>) -> Option<BTreeMap<DocumentRow, f64>> {
    let count = u32::try_from(cosines.len())
        .ok()
        .filter(|count| *count > 0)?;
    let mean = cosines.iter().map(|(_, cosine)| cosine).sum::<f64>() / f64::from(count);
    let most = cosines
        .iter()
        .map(|(_, cosine)| *cosine)
        .fold(mean, f64::max);
    if most <= mean {
        return None;
    }
    let way = (most - mean).max(LEAST_WAY);
    let near = |cosine: f64| {
        if cosine < FLOOR {
            0.0
        } else {
            ((cosine - mean) / way).clamp(0.0, 1.0)
        }
    };
    let near = cosines.into_iter().map(|(row, cosine)| (row, near(cosine)));
    Some(near.collect())
}

#[cfg(test)]
mod tests;
