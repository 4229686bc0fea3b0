//! Tests which documents count as near.

use super::*;

fn near(cosines: &[f64]) -> Vec<usize> {
    let rows = cosines.iter().zip(1..);
    let rows = rows
        .map(|(cosine, row)| (DocumentRow(row), *cosine))
        .collect();
    let found = blend(Vec::new(), rows);
    let place = |one: ScoredDocument| usize::try_from(one.row.0 - 1).expect("a place");
    found.into_iter().map(place).collect()
}

#[test]
fn the_nearest_document_is_not_near_if_it_is_unrelated() {
    assert_eq!(near(&[0.9, 0.1, 0.05]), [0]);
    assert_eq!(near(&[0.2, 0.1, 0.05]), [0_usize; 0]);
}

#[test]
fn a_document_is_near_only_if_it_stands_out() {
    assert_eq!(near(&[0.86, 0.72, 0.7, 0.71]), [0]);
    assert_eq!(near(&[0.75, 0.72, 0.7, 0.71]), [0_usize; 0]);
}
