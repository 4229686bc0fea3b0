//! Links columns without a telling name to the only dense key that fits their numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::agents::{ends_with_keys, names_agent};
use crate::facts::fit::Fit;
use crate::facts::{ColumnFacts, Facts};
use crate::names::entity::{ColumnName, KeyMark};
use crate::profile::sketch::ratio;
use crate::score::ScoredPair;
use crate::types::ColumnId;
use crate::weights as w;

/// Columns of one name in parts of one table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    /// Without numbers.
    table: Vec<String>,
    width: usize,
    column: Vec<String>,
}

type SeriesFits = BTreeMap<(Series, ColumnId), Fit>;

type ParentNames = BTreeMap<ColumnId, Vec<Vec<String>>>;

struct Claim {
    child: ColumnId,
    parent: ColumnId,
    bonus: f64,
    common: bool,
    role: bool,
    series: Option<Series>,
    /// Set if the table is named after the column's entity: `movie_id` in `movie_note`.
    family: Option<Vec<String>>,
}

pub(crate) fn favour_sole_fits(
    facts: &Facts<'_>,
    by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>,
) {
    favour_fitting_people(facts, by_child);
    let named = named_parents(facts, by_child);
    let pooled = pool(facts, by_child);
    let mut claims: Vec<Claim> = Vec::new();
    for (child, rivals) in by_child.iter() {
        let series = series_of(facts, *child);
        let fit = |rival: &ScoredPair| {
            let pooled = series
                .as_ref()
                .and_then(|series| pooled.get(&(series.clone(), rival.parent)));
            rival.fit.map(|own| pooled.copied().unwrap_or(own))
        };
        let fits: Vec<Option<Fit>> = rivals.iter().map(fit).collect();
        claims.extend(claims_of(facts, rivals, &fits, &named, series.as_ref()));
    }
    let mut by_parent: BTreeMap<ColumnId, Vec<&Claim>> = BTreeMap::new();
    for claim in &claims {
        by_parent.entry(claim.parent).or_default().push(claim);
    }
    for claim in &claims {
        let others = by_parent.get(&claim.parent).into_iter().flatten();
        if claim.common && !claim.role && !others.copied().any(|other| corroborates(other, claim)) {
            continue;
        }
        let rivals = by_child.get_mut(&claim.child).into_iter().flatten();
        for rival in rivals.filter(|rival| rival.parent == claim.parent) {
            rival.odds += claim.bonus;
            rival
                .reasons
                .push("no other table has keys of this size".to_owned());
        }
    }
}

fn favour_fitting_people(facts: &Facts<'_>, by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>) {
    for (child, rivals) in by_child.iter_mut() {
        if !facts.column(*child).is_some_and(|column| column.part) {
            continue;
        }
        let people = |rival: &ScoredPair| {
            facts.layer(*child) == facts.layer(rival.parent)
                && facts
                    .table(rival.parent.table)
                    .is_some_and(|table| table.people)
        };
        let weight = |rival: &ScoredPair| {
            rival
                .fit
                .map_or(0.0, |fit| fit.sharp_log_likelihood().exp())
        };
        let total: f64 = rivals
            .iter()
            .filter(|rival| people(rival))
            .map(weight)
            .sum();
        let named = |rival: &ScoredPair| {
            (w::SOLE_PERSON.get()..w::NAMED.get()).contains(&rival.evidence.name)
        };
        let fits = |rival: &&mut ScoredPair| {
            let exact = rival
                .fit
                .is_some_and(|fit| is_exact(facts, rival.parent, fit));
            people(rival) && named(rival) && exact && weight(rival) >= w::SOLE.get() * total
        };
        if let Some(rival) = rivals.iter_mut().find(fits) {
            rival.odds += w::SOLE_PEOPLE.get();
            rival
                .reasons
                .push("of the tables of people only this one has keys of this size".to_owned());
        }
    }
}

/// One column proves nothing: numbers of another system can fill a range as well. Two roles in one
/// table, the next part of a table, or tables named after the column support each other.
fn corroborates(other: &Claim, claim: &Claim) -> bool {
    let role = other.child.table == claim.child.table && other.child != claim.child;
    let elsewhere = other.child.table != claim.child.table;
    let part = other.series.is_some() && other.series == claim.series;
    let family = other.family.is_some() && other.family == claim.family;
    role || (elsewhere && (part || family))
}

fn has_own_key_word(column: &ColumnFacts<'_>) -> bool {
    let untaught = ColumnName::read(&column.column.name, None, &BTreeSet::new());
    column.name.mark == KeyMark::Strong && untaught.mark == KeyMark::None
}

fn family_of(facts: &Facts<'_>, at: ColumnId) -> Option<Vec<String>> {
    let (table, column) = (facts.table(at.table)?, facts.column(at)?);
    let base = column.name.base();
    let begins = !base.is_empty() && table.name.words.starts_with(base);
    begins.then(|| column.name.words.clone())
}

/// Only for table names with a number.
fn series_of(facts: &Facts<'_>, at: ColumnId) -> Option<Series> {
    let table = facts.table(at.table)?;
    let is_number = |word: &&String| word.bytes().all(|byte| byte.is_ascii_digit());
    if !table.name.whole.iter().any(|word| is_number(&word)) {
        return None;
    }
    let words = table.name.whole.iter().filter(|word| !is_number(word));
    let column = facts.column(at)?;
    Some(Series {
        table: words.cloned().collect(),
        width: table.columns.len(),
        column: column.name.words.clone(),
    })
}

fn pool(facts: &Facts<'_>, by_child: &BTreeMap<ColumnId, Vec<ScoredPair>>) -> SeriesFits {
    let mut pooled = SeriesFits::new();
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

fn named_parents(facts: &Facts<'_>, by_child: &BTreeMap<ColumnId, Vec<ScoredPair>>) -> ParentNames {
    let mut named = ParentNames::new();
    for (child, rivals) in by_child {
        let best = rivals
            .iter()
            .max_by(|left, right| left.rank().total_cmp(&right.rank()));
        if let Some(best) =
            best.filter(|best| best.evidence.name >= w::CLEARLY_NAMED.get() && best.odds > 0.0)
        {
            let words = facts.column(*child).map(key_words).unwrap_or_default();
            named.entry(best.parent).or_default().push(words);
        }
    }
    named
}

/// Requires that no rival is named.
fn claims_of(
    facts: &Facts<'_>,
    rivals: &[ScoredPair],
    fits: &[Option<Fit>],
    named: &ParentNames,
    series: Option<&Series>,
) -> Vec<Claim> {
    let mut claims = Vec::new();
    if rivals.iter().any(|rival| {
        let name = rival.evidence.name;
        (name >= w::SOLE_RIVAL.get() && rival.rank() > 0.0)
            || (name >= w::CLEARLY_NAMED.get() && rival.odds > 0.0)
    }) {
        return claims;
    }
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    // Copies in other layers are not rivals.
    let is_near = |rival: &ScoredPair| facts.layer(rival.child) == facts.layer(rival.parent);
    let near = rivals
        .iter()
        .zip(fits)
        .any(|(rival, fit)| fit.is_some() && is_near(rival));
    let full = rivals
        .iter()
        .zip(fits)
        .any(|(rival, fit)| is_near(rival) && fit.is_some_and(Fit::is_full));
    let likelihood = |fit: Fit| {
        if full {
            fit.sharp_log_likelihood().exp()
        } else {
            fit.log_likelihood().exp()
        }
    };
    for (rival, fit) in rivals
        .iter()
        .zip(fits)
        .filter(|(rival, _)| !near || is_near(rival))
    {
        let best = weights.entry(rival.parent.table).or_insert(0.0);
        *best = best.max(fit.map_or(0.0, likelihood));
    }
    let total: f64 = weights.values().sum();
    for (rival, fit) in rivals
        .iter()
        .zip(fits)
        .filter(|(rival, _)| !near || is_near(rival))
    {
        let (Some(fit), Some(column)) = (fit, facts.column(rival.child)) else {
            continue;
        };
        let share = likelihood(*fit) / total;
        if total <= 0.0 || share < w::SOLE.get() || fit.distinct < w::SOLE_NUMBERS.count() {
            continue;
        }
        let exact = is_exact(facts, rival.parent, *fit);
        let naming = named.get(&rival.parent).filter(|naming| naming.len() > 1);
        let alike = naming.is_none_or(|naming| naming.contains(&key_words(column)));
        let key = facts.column(rival.parent).and_then(|key| key.profile);
        let role = exact && names_agent(facts, column, rival.parent);
        let bonus = if exact && ends_with_keys(column, key) {
            w::SOLE_UNMARKED.get()
        } else if role && column.name.mark != KeyMark::None && alike {
            w::SOLE_AGENT.get()
        } else {
            bonus(column, exact && alike, naming.is_some())
        };
        if bonus > 0.0 {
            claims.push(Claim {
                child: rival.child,
                parent: rival.parent,
                bonus,
                role,
                common: column.name.telling && !has_own_key_word(column),
                series: series.cloned(),
                family: family_of(facts, rival.child),
            });
        }
    }
    claims
}

/// The numbers must be many or nearly all.
fn is_exact(facts: &Facts<'_>, parent: ColumnId, fit: Fit) -> bool {
    let profile = facts.column(parent).and_then(|column| column.profile);
    let keys = profile.map_or(0, |profile| profile.distinct);
    let near = fit.is_full() || fit.distinct < w::FULL_NUMBERS.count();
    near && fit.span >= w::SOLE_SPAN.get()
        && (fit.distinct >= w::SOLE_MANY.count() || ratio(fit.distinct, keys) >= w::SOLE_ALL.get())
}

fn key_words(column: &ColumnFacts<'_>) -> Vec<String> {
    let base = column.name.base();
    let words = column.name.words.iter();
    words.filter(|word| !base.contains(word)).cloned().collect()
}

/// If `known`, the fit must be exact and the key words the same.
fn bonus(column: &ColumnFacts<'_>, exact: bool, known: bool) -> f64 {
    let name = &column.name;
    match (name.mark, name.telling, exact) {
        (KeyMark::Strong, true, true) => w::SOLE_MARKED.get(),
        (_, true, _) if known => 0.0,
        (KeyMark::Strong, ..) => w::SOLE_LOOSE.get(),
        (_, false, true) => w::SOLE_NAMELESS.get(),
        (_, false, false) => w::SOLE_NAMELESS_LOOSE.get(),
        (KeyMark::Weak, true, _) => w::SOLE_WEAK.get(),
        (KeyMark::None, true, _) => 0.0,
    }
}
