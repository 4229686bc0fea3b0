//! Counts as numbers with a fraction.

/// `count` as a float.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of cases, rows and tokens stay far below 2^53"
)]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// `part` of `whole`, and 0 of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        float(part) / float(whole)
    }
}
