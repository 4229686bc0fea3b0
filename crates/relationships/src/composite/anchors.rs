//! Finds column groups that belong together by their values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::composite::{Proposal, density, likeness};
use crate::facts::{ColumnFacts, Facts};
use crate::names::entity::entity_match;
use crate::profile::ColumnProfile;
use crate::profile::sketch::ratio;
use crate::profile::value::sentinel_hashes;
use crate::types::ColumnId;
use crate::weights as w;

/// `lead` has the most values.
struct Key<'k> {
    table: usize,
    group: &'k [usize],
    lead: ColumnId,
}

/// Likeliest first, at most one per table of the schema.
pub(super) fn anchored(
    facts: &Facts<'_>,
    single: &BTreeMap<ColumnId, ColumnId>,
    keys: &[(usize, Vec<usize>)],
) -> Vec<Proposal> {
    let keys: Vec<Key<'_>> = keys
        .iter()
        .filter_map(|(table, group)| key(facts, *table, group))
        .collect();
    let mut found: BTreeSet<(usize, ColumnId)> = BTreeSet::new();
    by_links(facts, single, &keys, &mut found);
    by_values(facts, &keys, &mut found);
    by_range(facts, &keys, &mut found);
    let mut proposals: Vec<Proposal> = found
        .into_iter()
        .filter_map(|(at, child)| Some((keys.get(at)?, child)))
        .filter(|(key, child)| may_lead(facts, key, *child))
        .flat_map(|(key, child)| complete(facts, single, key, child))
        .collect();
    let order = |proposal: &Proposal| proposal.chance.unwrap_or(1.0);
    proposals.sort_by(|left, right| {
        order(left)
            .total_cmp(&order(right))
            .then_with(|| left.child.cmp(&right.child))
            .then_with(|| left.parent.cmp(&right.parent))
    });
    proposals.truncate(facts.tables.len());
    proposals
}

fn key<'k>(facts: &Facts<'_>, table: usize, group: &'k [usize]) -> Option<Key<'k>> {
    let distinct = |column: &usize| {
        let at = ColumnId {
            table,
            column: *column,
        };
        facts.column(at)?.profile.map(|profile| profile.distinct)
    };
    let lead = group.iter().max_by_key(|column| distinct(column))?;
    let lead = ColumnId {
        table,
        column: *lead,
    };
    facts.column(lead)?.profile?;
    Some(Key { table, group, lead })
}

fn by_links(
    facts: &Facts<'_>,
    single: &BTreeMap<ColumnId, ColumnId>,
    keys: &[Key<'_>],
    found: &mut BTreeSet<(usize, ColumnId)>,
) {
    let mut of_target: BTreeMap<ColumnId, Vec<ColumnId>> = BTreeMap::new();
    for (child, parent) in single {
        of_target.entry(*parent).or_default().push(*child);
    }
    let mut of_base: BTreeMap<&[String], Vec<ColumnId>> = BTreeMap::new();
    for (at, column) in facts.columns().filter(|(_, column)| column.name.telling) {
        of_base.entry(column.name.base()).or_default().push(at);
    }
    let mut known: BTreeMap<&[String], Vec<ColumnId>> = BTreeMap::new();
    for (at, key) in keys.iter().enumerate() {
        let near = |child: &&ColumnId| facts.layer(**child) == facts.layer(key.lead);
        let linked = single
            .get(&key.lead)
            .and_then(|target| of_target.get(target));
        let linked = linked
            .into_iter()
            .flatten()
            .filter(near)
            .take(w::GROUP_CHILDREN.size());
        found.extend(linked.map(|child| (at, *child)));
        let Some(lead) = facts.column(key.lead).filter(|lead| lead.name.telling) else {
            continue;
        };
        let alike = known
            .entry(lead.name.base())
            .or_insert_with(|| called_like(lead.name.base(), &of_base));
        let alike = alike.iter().filter(near).take(w::GROUP_CHILDREN.size());
        found.extend(alike.map(|child| (at, *child)));
    }
}

/// Same initial, similar meaning.
fn called_like(base: &[String], of_base: &BTreeMap<&[String], Vec<ColumnId>>) -> Vec<ColumnId> {
    let first = |base: &[String]| base.last().and_then(|word| word.chars().next());
    let alike = of_base.iter().filter(|(other, _)| {
        first(other) == first(base) && entity_match(other, base) >= w::ANCHOR_LIKE.get()
    });
    alike.flat_map(|(_, places)| places).copied().collect()
}

fn by_values(facts: &Facts<'_>, keys: &[Key<'_>], found: &mut BTreeSet<(usize, ColumnId)>) {
    let mut index: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut last: Vec<u64> = vec![0; keys.len()];
    for (at, key) in keys.iter().enumerate() {
        let profile = facts.column(key.lead).and_then(|column| column.profile);
        let Some(profile) = profile.filter(|profile| !profile.is_dense_from_one()) else {
            continue;
        };
        let all = profile
            .sketch
            .hashes()
            .nth(w::ANCHOR_PROBES.size())
            .is_none()
            && profile.sketch.complete;
        for hash in profile.sketch.hashes().take(w::ANCHOR_PROBES.size()) {
            index.entry(hash).or_default().push(at);
            if let Some(last) = last.get_mut(at) {
                *last = if all { u64::MAX } else { hash };
            }
        }
    }
    if index.is_empty() {
        return;
    }
    let ignored = sentinel_hashes();
    let mut hits: BTreeMap<usize, usize> = BTreeMap::new();
    for (child, column) in facts.columns() {
        let Some(profile) = column.profile else {
            continue;
        };
        hits.clear();
        let asked: Vec<u64> = profile
            .sketch
            .hashes()
            .filter(|hash| ignored.binary_search(hash).is_err())
            .take(w::ANCHOR_ASKED.size())
            .collect();
        for at in asked.iter().filter_map(|hash| index.get(hash)).flatten() {
            *hits.entry(*at).or_insert(0) += 1;
        }
        for (at, count) in &hits {
            let last = last.get(*at).copied().unwrap_or(0);
            let within = asked.iter().filter(|hash| **hash <= last).count();
            if *count >= w::ANCHOR_FOUND.size() && w::share(*count, within) >= w::ANCHOR_HELD.get()
            {
                found.insert((*at, child));
            }
        }
    }
}

fn by_range(facts: &Facts<'_>, keys: &[Key<'_>], found: &mut BTreeSet<(usize, ColumnId)>) {
    let end = |profile: &ColumnProfile| profile.range.map(|(_, high)| high);
    let mut ends: Vec<(i64, usize)> = keys
        .iter()
        .enumerate()
        .filter_map(|(at, key)| Some((end(facts.column(key.lead)?.profile?)?, at)))
        .collect();
    ends.sort_unstable();
    for (child, column) in facts.columns() {
        let Some(high) = column.profile.and_then(end) else {
            continue;
        };
        let from = ends.partition_point(|(end, _)| *end < high);
        let near = ends.iter().skip(from).take(w::ANCHOR_KEYS.size());
        let near = near.filter(|(end, _)| w::reaches(high, *end, w::ANCHOR_END));
        found.extend(near.map(|(_, at)| (*at, child)));
    }
}

fn may_lead(facts: &Facts<'_>, key: &Key<'_>, child: ColumnId) -> bool {
    let Some(column) = facts.column(child) else {
        return false;
    };
    let same_entity = match (facts.table(child.table), facts.table(key.table)) {
        (Some(own), Some(other)) => {
            entity_match(&own.name.words, &other.name.words) >= w::SAME_ENTITY.get()
                && own.name.telling
        }
        _ => true,
    };
    child.table != key.table
        && !same_entity
        && facts.layer(child) == facts.layer(key.lead)
        && is_repeated(column)
        && holds(facts, child, key.lead)
}

fn is_repeated(column: &ColumnFacts<'_>) -> bool {
    let repeated =
        |profile: &ColumnProfile| profile.values > 0 && profile.uniqueness() < w::KEY_REPEATS.get();
    !column.holds_days() && column.profile.is_some_and(repeated)
}

fn holds(facts: &Facts<'_>, child: ColumnId, key: ColumnId) -> bool {
    let (Some(left), Some(right)) = (facts.column(child), facts.column(key)) else {
        return false;
    };
    let (Some(values), Some(keys)) = (left.profile, right.profile) else {
        return false;
    };
    if left.family != right.family || values.distinct > keys.distinct {
        return false;
    }
    if let (Some((low, high)), Some((from, to))) = (values.range, keys.range)
        && (low < from || high > to)
    {
        return false;
    }
    let contained = values.sketch.estimate_in(&keys.sketch, &sentinel_hashes());
    contained.is_some_and(|contained| contained.distinct >= w::ANCHOR_CONTAINED.get())
}

fn complete(
    facts: &Facts<'_>,
    single: &BTreeMap<ColumnId, ColumnId>,
    key: &Key<'_>,
    child: ColumnId,
) -> Vec<Proposal> {
    let (Some(from), Some(to)) = (facts.table(child.table), facts.table(key.table)) else {
        return Vec::new();
    };
    let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
    for column in key.group {
        let part = ColumnId {
            table: key.table,
            column: *column,
        };
        let fitting = if part == key.lead {
            vec![child.column]
        } else {
            further(facts, single, child, part)
        };
        let mut longer = Vec::new();
        for used in &ways {
            let free = fitting.iter().filter(|column| !used.contains(column));
            longer.extend(free.map(|column| [used.as_slice(), &[*column]].concat()));
        }
        longer.truncate(w::ANCHOR_KEYS.size());
        ways = longer;
    }
    let counts_own = |columns: &Vec<usize>| {
        from.profile.is_none_or(|profile| {
            let mut groups = profile.groups.iter();
            groups.any(|group| group.iter().all(|column| columns.contains(column)))
        })
    };
    ways.retain(|columns| columns.len() == key.group.len() && !counts_own(columns));
    let proposals = ways.into_iter().map(|columns| {
        let chance = chance(facts, key, (child.table, &columns));
        Proposal {
            child: (child.table, columns),
            parent: (key.table, key.group.to_vec()),
            name: 0.0,
            density: density(to, key.group),
            chance: Some(chance),
            queries: 0,
        }
    });
    let tells = |proposal: &Proposal| {
        proposal
            .chance
            .is_some_and(|chance| chance < w::ANCHOR_NOTHING.get())
    };
    proposals.filter(tells).collect()
}

/// Best first.
fn further(
    facts: &Facts<'_>,
    single: &BTreeMap<ColumnId, ColumnId>,
    child: ColumnId,
    part: ColumnId,
) -> Vec<usize> {
    let Some(table) = facts.table(child.table) else {
        return Vec::new();
    };
    let distinct = |at: ColumnId| {
        let profile = facts.column(at).and_then(|column| column.profile);
        profile.map_or(0, |profile| profile.distinct)
    };
    let mut fitting: Vec<(f64, f64, usize)> = Vec::new();
    for (column, facts_of) in table.columns.iter().enumerate() {
        let at = ColumnId {
            table: child.table,
            column,
        };
        // A reference to another table is not a number within a group.
        let elsewhere = single
            .get(&at)
            .is_some_and(|target| single.get(&part) != Some(target));
        if at == child || elsewhere || !is_repeated(facts_of) || !holds(facts, at, part) {
            continue;
        }
        let name = likeness(facts, single, at, part);
        let name = if name > w::GROUP_UNNAMED.get() {
            name
        } else {
            0.0
        };
        fitting.push((name, ratio(distinct(at), distinct(part)), column));
    }
    fitting.sort_by(|left, right| {
        right
            .0
            .total_cmp(&left.0)
            .then(right.1.total_cmp(&left.1))
            .then(left.2.cmp(&right.2))
    });
    fitting
        .into_iter()
        .map(|(_, _, column)| column)
        .take(w::ANCHOR_FURTHER.size())
        .collect()
}

/// Assumes that the columns are independent.
fn chance(facts: &Facts<'_>, key: &Key<'_>, (table, columns): (usize, &[usize])) -> f64 {
    let whole = || {
        facts
            .table(key.table)
            .map_or(1.0, |to| density(to, key.group))
    };
    let pair = || -> Option<f64> {
        let place = key
            .group
            .iter()
            .position(|column| *column != key.lead.column)?;
        if key.group.len() != 2 {
            return None;
        }
        let part = ColumnId {
            table: key.table,
            column: *key.group.get(place)?,
        };
        let own = ColumnId {
            table,
            column: *columns.get(place)?,
        };
        let (parts, values) = (facts.column(part)?.profile?, facts.column(own)?.profile?);
        if !parts.listed_all || !values.listed_all {
            return None;
        }
        let groups = facts.column(key.lead)?.profile?.distinct.max(1);
        let having: HashMap<&str, f64> = parts
            .frequent
            .iter()
            .map(|(text, rows)| (text.as_str(), ratio(*rows, groups).min(1.0)))
            .collect();
        let shares = values.frequent.iter().map(|(text, rows)| {
            let having = having.get(text.as_str()).copied().unwrap_or(0.0);
            ratio(*rows, values.values) * having
        });
        Some(shares.sum())
    };
    pair().unwrap_or_else(whole).min(1.0)
}
