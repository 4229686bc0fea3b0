//! Finds another column of the parent's table with the child's name.

use crate::facts::ColumnFacts;
use crate::score::Pair;
use crate::weights as w;

/// For tables with several versions of each row, whose version numbers match by chance.
pub(super) fn column_beside<'f>(
    pair: &Pair<'f>,
    coverage: Option<f64>,
    ignored: &[u64],
) -> Option<&'f ColumnFacts<'f>> {
    let child = pair.child;
    if pair.is_self || child.name.is_bare_key() || !child.name.telling {
        return None;
    }
    let holds = |column: &&ColumnFacts<'f>| {
        let (Some(values), Some(all)) = (child.profile, column.profile) else {
            return false;
        };
        let repeats = all.values > 0 && all.uniqueness() < w::KEY_REPEATS.get();
        // A sample does not show what it omits.
        let held = if all.sketch.complete {
            values.sketch.containment_in(&all.sketch, ignored)
        } else {
            None
        };
        repeats
            && (!all.sketch.complete
                || held.is_some_and(|held| {
                    held.distinct >= w::BESIDE.get()
                        && coverage.is_none_or(|found| held.distinct >= found)
                }))
    };
    let called = |column: &&ColumnFacts<'f>| {
        let (words, own) = (&child.name.words, &column.name.words);
        let longer =
            own.len() > pair.parent.name.words.len() || !words.ends_with(&pair.parent.name.words);
        column.column.name != pair.parent.column.name
            && column.key <= 0.0
            && column.own >= w::OWN_NAME.get()
            && !column.name.is_bare_key()
            && column.family == child.family
            && words.ends_with(own)
            && longer
    };
    let mut columns = pair.to.columns.iter();
    columns.find(|column| called(column) && holds(column))
}
