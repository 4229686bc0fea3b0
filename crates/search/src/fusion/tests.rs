//! Tests of fused rankings.

use super::{Ranking, fuse, normalized};

fn check(lists: &[(f64, &[&'static str])], expected: &[(&str, f64)]) {
    let rankings: Vec<Ranking<&str>> = lists
        .iter()
        .map(|(weight, items)| Ranking {
            weight: *weight,
            items: items.to_vec(),
        })
        .collect();
    let fused = fuse(&rankings);
    let best = fused.first().map_or(0.0, |(_, score)| *score);
    let shown: Vec<(&str, f64)> = fused
        .iter()
        .map(|(item, score)| (*item, normalized(*score, best)))
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn an_item_of_two_lists_beats_the_best_of_one() {
    check(
        &[(1.0, &["a", "b"]), (1.0, &["c", "b"])],
        &[("b", 1.0), ("a", 0.508), ("c", 0.508)],
    );
}

#[test]
fn weights_count_and_ties_go_by_item() {
    check(
        &[(1.0, &["z"]), (1.5, &["y"]), (1.0, &["x"])],
        &[("y", 1.0), ("x", 0.667), ("z", 0.667)],
    );
    check(&[], &[]);
}
