//! Reciprocal rank fusion.

use std::collections::BTreeMap;

/// Flattens the head of each list.
const K: f64 = 60.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Ranking<T> {
    pub weight: f64,
    pub items: Vec<T>,
}

/// Fuses ranked lists: `Σ weight / (60 + rank)`. Best first; ties are ordered by the number of
/// lists that contain the item, then by the item.
pub fn fuse<T: Ord + Clone>(rankings: &[Ranking<T>]) -> Vec<(T, f64)> {
    let mut scores: BTreeMap<T, (f64, usize)> = BTreeMap::new();
    for ranking in rankings {
        let mut rank = 0.0;
        for item in &ranking.items {
            rank += 1.0;
            let entry = scores.entry(item.clone()).or_insert((0.0, 0));
            entry.0 += ranking.weight / (K + rank);
            entry.1 += 1;
        }
    }
    let mut fused: Vec<(T, (f64, usize))> = scores.into_iter().collect();
    // The sort is stable and the map is ordered by item.
    fused.sort_by(|(_, left), (_, right)| {
        right
            .0
            .total_cmp(&left.0)
            .then_with(|| right.1.cmp(&left.1))
    });
    fused
        .into_iter()
        .map(|(item, (score, _))| (item, score))
        .collect()
}

/// Returns a score relative to the best one (1), with three decimals.
pub fn normalized(score: f64, best: f64) -> f64 {
    if best > 0.0 {
        (score / best * 1000.0).round() / 1000.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests;
