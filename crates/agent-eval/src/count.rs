//! Counts as floats.

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of cases, rows and tokens stay far below 2^53"
)]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// Returns `part` / `whole`, and 0 for an empty whole.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        float(part) / float(whole)
    }
}
