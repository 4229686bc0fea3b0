//! Links columns whose values are all keys of one table. The odds compare a reference with values
//! of another kind that happen to be keys.

use std::collections::BTreeMap;

use crate::facts::agents::{holds_humans, names_agent};
use crate::facts::fit::keys_in_range;
use crate::facts::{ColumnFacts, Facts};
use crate::names::entity::KeyMark;
use crate::names::lexicon::{ATTRIBUTES, LISTING_TAILS, are_opposite, is_pronoun, is_side};
use crate::profile::ColumnProfile;
use crate::profile::sketch::ratio;
use crate::score::{ScoredPair, is_count};
use crate::settings::RelationshipSettings;
use crate::types::{ColumnId, TypeFamily};
use crate::weights as w;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Role,
    Unknown,
}

pub(crate) fn favour_containers(
    facts: &Facts<'_>,
    by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>,
    settings: &RelationshipSettings,
) {
    let leads = leads(by_child, settings);
    let support: BTreeMap<ColumnId, BTreeMap<ColumnId, f64>> = by_child
        .iter()
        .map(|(child, rivals)| (*child, supports(facts, *child, rivals)))
        .collect();
    for rivals in by_child.values_mut() {
        favour_named(facts, rivals, settings);
    }
    let pooled: BTreeMap<ColumnId, BTreeMap<ColumnId, f64>> = support
        .iter()
        .map(|(child, own)| (*child, with_opposite(facts, *child, own, &support)))
        .collect();
    for (child, rivals) in by_child.iter_mut() {
        if rivals
            .iter()
            .any(|rival| rival.likelihood() >= settings.accept_threshold)
        {
            continue;
        }
        let Some(found) = pooled.get(child) else {
            continue;
        };
        let best = found
            .iter()
            .max_by(|left, right| left.1.total_cmp(right.1).then(right.0.cmp(left.0)));
        let Some((parent, nats)) = best else {
            continue;
        };
        let others: f64 = found.values().map(|other| (other - nats).exp()).sum();
        let share = -others.ln();
        for rival in rivals.iter_mut().filter(|rival| rival.parent == *parent) {
            let odds = prior(facts, *child, *parent, (found, &leads)) + nats + share;
            if odds > rival.odds {
                rival.odds = odds;
                rival.strain = 0.0;
                rival
                    .reasons
                    .push("no other table's keys explain all of its values as well".to_owned());
            }
        }
    }
}

/// In references to superiors, the first rows have none, and few rows lead many.
pub(crate) fn favour_own_rows(
    facts: &Facts<'_>,
    by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>,
) {
    for rival in by_child.values_mut().flatten() {
        let optional = facts
            .column(rival.child)
            .filter(|column| column.name.has_self_role() && !is_count(column))
            .and_then(|column| column.profile)
            .is_some_and(|profile| profile.null_rate() > 0.0);
        let complete = rival.evidence.coverage.is_some_and(|share| share >= 1.0);
        let itself = rival.child.table == rival.parent.table
            && rival.evidence.name >= w::OPTIONAL_NAME.get();
        if optional && complete && itself {
            rival.odds += w::OPTIONAL_ROW.get();
            rival
                .reasons
                .push("some rows have none, as the first of a line".to_owned());
        }
    }
}

/// A named table can have unused keys, which do not count against it.
fn favour_named(facts: &Facts<'_>, rivals: &mut [ScoredPair], settings: &RelationshipSettings) {
    let mut named = rivals
        .iter_mut()
        .filter(|rival| rival.evidence.name >= w::CLEARLY_NAMED.get());
    let (Some(rival), None) = (named.next(), named.next()) else {
        return;
    };
    let marked = facts.column(rival.child).is_some_and(|column| {
        let joined = column.name.words.len() == 1 && column.name.bases.len() > 1;
        column.name.mark == KeyMark::Strong || joined
    });
    let complete = rival.evidence.coverage.is_some_and(|share| share >= 1.0);
    let open =
        rival.odds >= w::ONLY_NAME_FROM.get() && rival.likelihood() < settings.accept_threshold;
    let exactly = (w::ONLY_EXACTLY.get()..=1.0).contains(&rival.evidence.name);
    if marked && complete && open && exactly {
        rival.odds += w::ONLY_NAME.get();
        rival
            .reasons
            .push("it names no other table, and none of its values is missing there".to_owned());
    }
}

fn leads(
    by_child: &BTreeMap<ColumnId, Vec<ScoredPair>>,
    settings: &RelationshipSettings,
) -> BTreeMap<ColumnId, ColumnId> {
    let best = by_child.values().filter_map(|rivals| {
        rivals
            .iter()
            .max_by(|left, right| left.rank().total_cmp(&right.rank()))
    });
    best.filter(|best| best.likelihood() >= settings.accept_threshold)
        .map(|best| (best.child, best.parent))
        .collect()
}

fn reading(facts: &Facts<'_>, column: &ColumnFacts<'_>, parent: ColumnId) -> Reading {
    let mut words = column.name.words.iter();
    // `source_id` can be a number of another system.
    let told = |word: &String| is_side(word) || is_pronoun(word);
    // `location_type` is a kind of location, not a location.
    let is_kind = column.name.words.len() > 1
        && column
            .name
            .words
            .last()
            .is_some_and(|last| LISTING_TAILS.contains(&last.as_str()));
    let side = column.name.mark == KeyMark::None && !is_kind && words.any(told);
    if side || column.part || names_agent(facts, column, parent) {
        Reading::Role
    } else {
        Reading::Unknown
    }
}

pub(crate) fn may_refer(column: &ColumnFacts<'_>) -> bool {
    let name = &column.name;
    let last = name.words.last();
    let attribute = last.is_some_and(|word| ATTRIBUTES.contains(&word.as_str()));
    let someone = name.words.iter().any(|word| is_pronoun(word));
    let counted = is_count(column) && !someone;
    name.telling
        && !(name.measure || name.is_bare_key() || attribute || counted)
        && !(column.holds_days() || column.many_parents)
        && (column.own < w::REFERS_OWN.get() || column.part || someone)
        && column.key <= 0.0
}

fn supports(facts: &Facts<'_>, child: ColumnId, rivals: &[ScoredPair]) -> BTreeMap<ColumnId, f64> {
    let Some((column, profile)) = facts
        .column(child)
        .filter(|column| may_refer(column))
        .and_then(|column| Some((column, column.profile?)))
    else {
        return BTreeMap::new();
    };
    let complete = |rival: &&ScoredPair| {
        let primary = facts.table(rival.parent.table).is_some_and(|table| {
            let key = facts.column(rival.parent).map_or(0.0, |column| column.key);
            table.primary == Some(rival.parent.column)
                && (key >= w::ONLY_KEY.get() || column.is_worded())
        });
        rival.evidence.coverage.is_some_and(|share| share >= 1.0)
            && facts.layer(child) == facts.layer(rival.parent)
            && (primary || rival.evidence.name >= w::ONLY_NAMED.get())
    };
    rivals
        .iter()
        .filter(complete)
        .filter_map(|rival| {
            let key = facts.column(rival.parent)?;
            let keys = key.profile?;
            let role = reading(facts, column, rival.parent);
            let nats = match (profile.range, keys.range) {
                (Some(range), Some(_)) => of_numbers(profile, range, keys, role)?,
                _ => of_texts(column, profile),
            };
            Some((rival.parent, nats))
        })
        .collect()
}

/// A reference uses the keys up to the last; other numbers can end anywhere.
fn of_numbers(
    profile: &ColumnProfile,
    (_, high): (i64, i64),
    keys: &ColumnProfile,
    role: Reading,
) -> Option<f64> {
    let (first, last) = keys.key_range()?;
    let size = last.saturating_sub(first).saturating_add(1).unsigned_abs();
    let used = high.saturating_sub(first).saturating_add(1).unsigned_abs();
    let draws = ratio(
        profile
            .values
            .min(profile.distinct.saturating_mul(2))
            .max(1),
        1,
    );
    let unused = draws * ratio(used.clamp(1, size), size.max(1)).ln();
    if keys.is_dense_from_one() {
        let rated = size <= w::RATINGS.count() && role == Reading::Unknown;
        return Some(
            (draws * w::SCALES.get()).ln() + unused + if rated { w::RATED.get() } else { 0.0 },
        );
    }
    let scale = last.saturating_add(1).unsigned_abs();
    // That numbers lie where keys begin far from zero is telling, however close these stand.
    let near = keys_in_range(profile, keys).filter(|_| first <= 1);
    let near = near.unwrap_or_default();
    let told = -ratio(keys.population.max(1), scale.max(1)).max(near).ln();
    let distinct = ratio(profile.distinct, 1);
    Some((told.max(0.0) * distinct).min(w::ONLY_MOST.get()) + unused.max(w::ONLY_UNUSED.get()))
}

/// The odds depend on how rarely such a text is a key by chance.
fn of_texts(column: &ColumnFacts<'_>, profile: &ColumnProfile) -> f64 {
    let longest = profile.lengths.map_or(0, |(_, long)| long);
    let each = match longest {
        _ if column.family == TypeFamily::Uuid || profile.shape.uuid > w::UUIDS.get() => {
            w::ONLY_UUID.get()
        }
        0 | 1 => w::ONLY_LETTER.get(),
        letters if letters >= w::ONLY_CODE_LETTERS.count() && column.looks_identifying() => {
            w::ONLY_CODE.get()
        }
        2 => w::ONLY_PAIR.get(),
        _ => w::ONLY_TEXT.get(),
    };
    (ratio(profile.distinct, 1) * each).min(w::ONLY_MOST.get())
}

/// A key that fits both sides is likelier.
fn with_opposite(
    facts: &Facts<'_>,
    child: ColumnId,
    own: &BTreeMap<ColumnId, f64>,
    support: &BTreeMap<ColumnId, BTreeMap<ColumnId, f64>>,
) -> BTreeMap<ColumnId, f64> {
    let Some(column) = facts.column(child) else {
        return own.clone();
    };
    let beside = support.iter().find(|(other, found)| {
        let sided = |other: &ColumnFacts<'_>| differ_by_side(&column.name.words, &other.name.words);
        other.table == child.table && !found.is_empty() && facts.column(**other).is_some_and(sided)
    });
    let Some((_, beside)) = beside else {
        return own.clone();
    };
    let both = own
        .iter()
        .filter_map(|(parent, nats)| Some((*parent, nats + beside.get(parent)?)));
    both.collect()
}

/// Includes joined words: `fromcur` and `tocur`.
fn differ_by_side(left: &[String], right: &[String]) -> bool {
    if let ([left], [right]) = (left, right) {
        let shared: usize = left
            .chars()
            .rev()
            .zip(right.chars().rev())
            .take_while(|(left, right)| left == right)
            .map(|(letter, _)| letter.len_utf8())
            .sum();
        let heads = left
            .get(..left.len() - shared)
            .zip(right.get(..right.len() - shared));
        return are_opposite(left, right)
            || (shared >= w::ONLY_STEM.size()
                && heads.is_some_and(|(left, right)| are_opposite(left, right)));
    }
    let mut different = left.iter().zip(right).filter(|(left, right)| left != right);
    left.len() == right.len()
        && different
            .next()
            .is_some_and(|(left, right)| are_opposite(left, right))
        && different.next().is_none()
}

fn prior(
    facts: &Facts<'_>,
    child: ColumnId,
    parent: ColumnId,
    (found, leads): (&BTreeMap<ColumnId, f64>, &BTreeMap<ColumnId, ColumnId>),
) -> f64 {
    let (Some(column), Some(key), Some(to)) = (
        facts.column(child),
        facts.column(parent),
        facts.table(parent.table),
    ) else {
        return f64::MIN;
    };
    let role = reading(facts, column, parent);
    let dense = key.profile.is_some_and(ColumnProfile::is_dense_from_one);
    let marked = column.name.mark != KeyMark::None;
    let itself = child.table == parent.table;
    let mut odds = match role {
        Reading::Role if column.part && !holds_humans(to) => {
            if may_mean_other_people(facts, (child, parent), found, leads) {
                w::ROLE_PEOPLE.get()
            } else {
                w::ROLE_THINGS.get()
            }
        }
        Reading::Role => w::ROLE.get(),
        // Numbers of another system are marked like references.
        Reading::Unknown if marked && (dense || itself) => return f64::MIN,
        Reading::Unknown if dense => w::ROLE_NONE_DENSE.get(),
        Reading::Unknown if marked => w::ROLE_NONE_MARKED.get(),
        Reading::Unknown => w::ROLE_NONE.get(),
    };
    let led = column.name.has_self_role() || (column.part && holds_humans(to));
    if itself && !led {
        odds += w::ONLY_SELF.get();
    }
    let claimed = || {
        let mut others = leads.iter();
        others.any(|(other, key)| other.table == child.table && *key == parent)
    };
    if role == Reading::Unknown && claimed() {
        odds += w::ONLY_CLAIMED.get();
    }
    odds
}

/// Returns whether a person's role can mean another table of people. Rows that extend `parent` are
/// the same people.
fn may_mean_other_people(
    facts: &Facts<'_>,
    (child, parent): (ColumnId, ColumnId),
    found: &BTreeMap<ColumnId, f64>,
    leads: &BTreeMap<ColumnId, ColumnId>,
) -> bool {
    let kind = |at: ColumnId| facts.column(at).map(|column| column.family);
    let mut tables = facts.tables.iter().enumerate();
    tables.any(|(at, table)| {
        if at == parent.table || !table.people || facts.layer(child) != table.name.layer {
            return false;
        }
        table.primary.is_none_or(|column| {
            let key = ColumnId { table: at, column };
            let extends = leads.get(&key) == Some(&parent);
            !extends && (found.contains_key(&key) || kind(key) != kind(child))
        })
    })
}
