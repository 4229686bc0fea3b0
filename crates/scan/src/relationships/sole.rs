//! Where no name tells to which table a column refers, the one dense key whose size fits its numbers does.

use std::collections::BTreeMap;

use crate::relationships::entity::KeyMark;
use crate::relationships::facts::{At, ColumnFacts, Facts};
use crate::relationships::score::{Fit, Scored};

/// The share of all fitting that the best key must have.
const SOLE: f64 = 0.9;
/// Distinct values below which a fit says nothing.
const FEWEST: u64 = 15;

/// Columns of one name in tables that are parts of one: the words of both.
type Series = (Vec<String>, usize, Vec<String>);

/// How a column of all parts of a table lies in the keys.
type Pooled = BTreeMap<(Series, At), Fit>;

/// The key words of the columns that name a key.
type Named = BTreeMap<At, Vec<Vec<String>>>;

/// Favours, for each column that no name explains, the one key of the fitting size.
pub(crate) fn favour_sole_fits(facts: &Facts<'_>, by_child: &mut BTreeMap<At, Vec<Scored>>) {
    let named = named_parents(facts, by_child);
    let pooled = pool(facts, by_child);
    for (child, rivals) in by_child {
        let series = series_of(facts, *child);
        let fit = |rival: &Scored| {
            let pooled = series
                .as_ref()
                .and_then(|series| pooled.get(&(series.clone(), rival.parent)));
            rival.fit.map(|own| pooled.copied().unwrap_or(own))
        };
        let fits: Vec<Option<Fit>> = rivals.iter().map(fit).collect();
        favour(facts, rivals, &fits, &named);
    }
}

/// Numbers and layers left out, the words of a column's table, its width, and the column's words; only
/// where the table's name holds a number.
fn series_of(facts: &Facts<'_>, at: At) -> Option<Series> {
    let table = facts.table(at.table)?;
    let is_number = |word: &&String| word.bytes().all(|byte| byte.is_ascii_digit());
    if !table.name.whole.iter().any(|word| is_number(&word)) {
        return None;
    }
    let words = table.name.whole.iter().filter(|word| !is_number(word));
    let column = facts.column(at)?;
    Some((
        words.cloned().collect(),
        table.columns.len(),
        column.name.words.clone(),
    ))
}

/// The fits of columns that go on from table to table, taken together.
fn pool(facts: &Facts<'_>, by_child: &BTreeMap<At, Vec<Scored>>) -> Pooled {
    let mut pooled = Pooled::new();
    for (child, rivals) in by_child {
        let Some(series) = series_of(facts, *child) else {
            continue;
        };
        for rival in rivals {
            let Some(fit) = rival.fit else { continue };
            pooled
                .entry((series.clone(), rival.parent))
                .and_modify(|all| {
                    all.span = all.span.max(fit.span);
                    all.start = all.start.min(fit.start);
                    all.distinct = all.distinct.saturating_add(fit.distinct);
                })
                .or_insert(fit);
        }
    }
    pooled
}

/// The key words of the columns that name each key, by parent.
fn named_parents(facts: &Facts<'_>, by_child: &BTreeMap<At, Vec<Scored>>) -> Named {
    let mut named = Named::new();
    for (child, rivals) in by_child {
        let best = rivals
            .iter()
            .max_by(|left, right| left.rank().total_cmp(&right.rank()));
        if let Some(best) = best.filter(|best| best.evidence.name >= 0.85 && best.odds > 0.0) {
            let words = facts.column(*child).map(key_words).unwrap_or_default();
            named.entry(best.parent).or_default().push(words);
        }
    }
    named
}

/// When nothing is named and exactly one dense key has the size that the column's numbers ask for,
/// that says a lot for a column that is marked as a reference or whose name says nothing.
fn favour(facts: &Facts<'_>, rivals: &mut [Scored], fits: &[Option<Fit>], named: &Named) {
    if rivals.iter().any(|rival| {
        let name = rival.evidence.name;
        (name >= 0.5 && rival.rank() > 0.0) || (name >= 0.85 && rival.odds > 0.0)
    }) {
        return;
    }
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    let weight = |fit: &Option<Fit>| fit.map_or(0.0, |fit| fit.log_likelihood().exp());
    for (rival, fit) in rivals.iter().zip(fits) {
        // Two keys of one table are no rivals here.
        let best = weights.entry(rival.parent.table).or_insert(0.0);
        *best = best.max(weight(fit));
    }
    let total: f64 = weights.values().sum();
    for (rival, fit) in rivals.iter_mut().zip(fits) {
        let (Some(fit), Some(column)) = (fit, facts.column(rival.child)) else {
            continue;
        };
        let share = fit.log_likelihood().exp() / total;
        if total <= 0.0 || share < SOLE || fit.distinct < FEWEST {
            continue;
        }
        let exact = is_exact(facts, rival.parent, *fit);
        let naming = named.get(&rival.parent).filter(|naming| naming.len() > 1);
        let alike = naming.is_none_or(|naming| naming.contains(&key_words(column)));
        let bonus = bonus(column, exact && alike, naming.is_some());
        if bonus > 0.0 {
            rival.odds += bonus;
            rival
                .reasons
                .push("no other table has keys of this size".to_owned());
        }
    }
}

/// Whether the numbers reach from the first key to the last, and are many or nearly all of them.
fn is_exact(facts: &Facts<'_>, parent: At, fit: Fit) -> bool {
    let profile = facts.column(parent).and_then(|column| column.profile);
    let keys = profile.map_or(0, |profile| profile.distinct);
    fit.span >= 0.97 && (fit.distinct >= 30 || fit.distinct * 10 >= keys * 9)
}

/// The words of a name beside what they are the key of.
fn key_words(column: &ColumnFacts<'_>) -> Vec<String> {
    let base = column.name.base();
    let words = column.name.words.iter();
    words.filter(|word| !base.contains(word)).cloned().collect()
}

/// What a sole fit is worth. `known`: other columns call the table by its name, so that one which means
/// it without saying so must fit exactly and be marked as those are.
fn bonus(column: &ColumnFacts<'_>, exact: bool, known: bool) -> f64 {
    let name = &column.name;
    match (name.mark, name.telling, exact) {
        (KeyMark::Strong, true, true) => 2.4,
        (_, true, _) if known => 0.0,
        (KeyMark::Strong, ..) => 1.9,
        (_, false, true) => 2.4,
        (_, false, false) => 1.2,
        (KeyMark::Weak, true, _) => 0.8,
        (KeyMark::None, true, _) => 0.0,
    }
}
