//! Suggests similar names.

const COMPARED: usize = 64;

/// Returns up to three similar candidates, nearest first, ties by name.
///
/// Similar: one contains the other, or the edit distance is at most a third of the longer word.
/// Ignores case; swapped neighbors count as one edit.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lowered = wanted.to_lowercase();
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let longest = lowered.chars().count().max(other.chars().count());
            let longest = longest.min(COMPARED);
            let distance = distance(&lowered, &other);
            let contained = lowered.len() >= 3
                && other.len() >= 3
                && (other.contains(&lowered) || lowered.contains(&other));
            (distance * 3 <= longest.max(3) || contained).then_some((distance, candidate))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().take(COMPARED).collect();
    let right: Vec<char> = right.chars().take(COMPARED).collect();
    let width = right.len() + 1;
    let mut rows: Vec<Vec<usize>> = vec![(0..width).collect()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1; width];
        for (j, b) in right.iter().enumerate() {
            let at = |rows: &[Vec<usize>], i: usize, j: usize| {
                rows.get(i)
                    .and_then(|row| row.get(j))
                    .copied()
                    .unwrap_or(usize::MAX - 1)
            };
            let left_cell = row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&rows, i, j) + usize::from(a != b))
                .min(at(&rows, i, j + 1) + 1)
                .min(left_cell + 1);
            let swapped =
                i > 0 && j > 0 && left.get(i - 1) == Some(b) && right.get(j - 1) == Some(a);
            if swapped {
                best = best.min(at(&rows, i - 1, j - 1) + 1);
            }
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = best;
            }
        }
        rows.push(row);
    }
    rows.last()
        .and_then(|row| row.last())
        .copied()
        .unwrap_or_default()
}
