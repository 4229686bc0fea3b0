//! Selects the pairs worth comparing.

mod name_index;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::candidates::name_index::NameIndex;
use crate::facts::fit::{Fit, robust_range, spread};
use crate::facts::{ColumnFacts, Facts};
use crate::profile::ColumnProfile;
use crate::profile::sketch::ratio;
use crate::profile::value::sentinel_hashes;
use crate::types::ColumnId;
use crate::weights as w;

#[derive(Debug, Clone, Copy)]
struct Hit {
    values: u32,
    key: ColumnId,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    pub of: BTreeMap<ColumnId, BTreeSet<ColumnId>>,
    /// Tables whose distinctive key holds the column's values, without borrowed keys.
    pub containers: BTreeMap<ColumnId, usize>,
    /// Keys whose values are a subset of a larger key's.
    pub borrowed: BTreeMap<ColumnId, ColumnId>,
}

pub(crate) fn collect(facts: &Facts<'_>, per_column: usize) -> Candidates {
    let mut candidates = Candidates::default();
    let children: Vec<(ColumnId, &ColumnFacts<'_>)> = facts
        .all_columns()
        .filter(|(_, column)| column.can_be_child())
        .collect();
    by_values(facts, &children, per_column, &mut candidates);
    by_size(facts, &children, &mut candidates);
    let mut index = NameIndex::of(facts);
    for (at, column) in &children {
        by_names(facts, &mut index, *at, column, per_column, &mut candidates);
    }
    by_calendar(facts, &mut candidates);
    by_queries(facts, &mut candidates);
    by_statement(facts, &mut candidates);
    by_repeated_column(facts, &mut candidates);
    for (child, parents) in &mut candidates.of {
        parents.retain(|parent| {
            let backed =
                || facts.joins.runs(*child, *parent) > 0 || facts.joins.is_stated(*child, *parent);
            parent != child
                && may_compare(facts, *child, *parent)
                && (!facts.has_nearer_copy(*child, *parent) || backed())
                && (facts.is_included(*parent) || backed())
        });
    }
    candidates.of.retain(|_, parents| !parents.is_empty());
    candidates
}

fn by_queries(facts: &Facts<'_>, candidates: &mut Candidates) {
    for (left, right) in facts.joins.pairs() {
        for (child, parent) in [(left, right), (right, left)] {
            let is_key = facts.column(parent).is_some_and(|column| column.key > 0.0);
            if is_key && facts.column(child).is_some_and(ColumnFacts::can_be_child) {
                candidates.of.entry(child).or_default().insert(parent);
            }
        }
    }
}

fn by_statement(facts: &Facts<'_>, candidates: &mut Candidates) {
    for (child, parent) in facts.joins.stated() {
        let is_key = facts.column(parent).is_some_and(|column| column.key > 0.0);
        if is_key && facts.column(child).is_some_and(ColumnFacts::can_be_child) {
            candidates.of.entry(child).or_default().insert(parent);
        }
    }
}

fn by_repeated_column(facts: &Facts<'_>, candidates: &mut Candidates) {
    let mut named: BTreeMap<String, BTreeSet<ColumnId>> = BTreeMap::new();
    for (child, parents) in &candidates.of {
        if let Some(column) = facts.column(*child).filter(|_| facts.is_included(*child)) {
            let name = column.column.name.to_lowercase();
            named.entry(name).or_default().extend(parents);
        }
    }
    let views = facts
        .all_columns()
        .filter(|(at, column)| !facts.is_included(*at) && column.can_be_child());
    for (at, column) in views {
        if let Some(parents) = named.get(&column.column.name.to_lowercase()) {
            candidates.of.entry(at).or_default().extend(parents);
        }
    }
}

fn may_compare(facts: &Facts<'_>, child: ColumnId, parent: ColumnId) -> bool {
    match (facts.column(child), facts.column(parent)) {
        (Some(child), Some(parent)) => {
            let floats =
                child.family == crate::types::TypeFamily::Float && parent.family.can_be_key();
            let days = child.holds_days() && parent.holds_days() && child.family == parent.family;
            floats || days || child.family.comparable(parent.family)
        }
        _ => false,
    }
}

fn by_calendar(facts: &Facts<'_>, candidates: &mut Candidates) {
    let lists: Vec<ColumnId> = facts
        .columns()
        .filter(|(_, column)| column.lists_days())
        .map(|(at, _)| at)
        .collect();
    if lists.is_empty() {
        return;
    }
    for (at, _) in facts
        .all_columns()
        .filter(|(_, column)| column.holds_days())
    {
        let (near, far): (Vec<ColumnId>, Vec<ColumnId>) = lists
            .iter()
            .copied()
            .filter(|list| list.table != at.table)
            .partition(|list| facts.stand_together(at, *list));
        let found = candidates.of.entry(at).or_default();
        found.extend(near.into_iter().chain(far).take(w::CALENDARS.size()));
    }
}

fn by_values(
    facts: &Facts<'_>,
    children: &[(ColumnId, &ColumnFacts<'_>)],
    per_column: usize,
    candidates: &mut Candidates,
) {
    let ignored = sentinel_hashes();
    let mut probes: HashMap<u64, Vec<u32>> = HashMap::new();
    let mut asked: Vec<u32> = Vec::with_capacity(children.len());
    for (number, (_, column)) in children.iter().enumerate() {
        let mut count = 0;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        if let Some(profile) = column
            .profile
            .filter(|profile| !profile.is_dense_from_one())
        {
            let hashes = profile
                .loose()
                .hashes()
                .filter(|hash| ignored.binary_search(hash).is_err());
            for hash in hashes.take(w::VALUES_ASKED.size()) {
                probes.entry(hash).or_default().push(number);
                count += 1;
            }
        }
        asked.push(count);
    }
    let mut best: Vec<Vec<Hit>> = vec![Vec::new(); children.len()];
    let mut hits: HashMap<u32, u32> = HashMap::new();
    for (parent, key) in facts.all_keys() {
        let Some(profile) = key.profile.filter(|profile| !profile.is_dense_from_one()) else {
            continue;
        };
        hits.clear();
        for hash in profile.loose().hashes() {
            for number in probes.get(&hash).into_iter().flatten() {
                *hits.entry(*number).or_insert(0) += 1;
            }
        }
        let mut found: Vec<(u32, u32)> = hits
            .iter()
            .map(|(number, count)| (*number, *count))
            .collect();
        found.sort_unstable();
        for (number, count) in found {
            let at = number as usize;
            let enough = asked
                .get(at)
                .is_some_and(|asked| ratio(count.into(), (*asked).into()) >= w::VALUES_HELD.get());
            let own = children.get(at).is_some_and(|(child, _)| *child == parent);
            if let Some(list) = best.get_mut(at).filter(|_| enough && !own) {
                list.push(Hit {
                    values: count,
                    key: parent,
                });
            }
        }
    }
    candidates.borrowed = borrowed(facts, children, (&best, &asked));
    for ((child, _), mut list) in children.iter().zip(best) {
        list.sort_by_key(|hit| {
            let far = !facts.stand_together(*child, hit.key);
            (far, std::cmp::Reverse(hit.values), hit.key)
        });
        let tables = holders(facts, *child, &list, &candidates.borrowed);
        candidates.containers.insert(*child, tables.len());
        list.truncate(per_column);
        candidates
            .of
            .entry(*child)
            .or_default()
            .extend(list.into_iter().map(|hit| hit.key));
    }
}

/// Of copies, counts only those in the column's own layer, schema and module.
fn holders(
    facts: &Facts<'_>,
    child: ColumnId,
    list: &[Hit],
    borrowed: &BTreeMap<ColumnId, ColumnId>,
) -> BTreeSet<usize> {
    let most = list.iter().map(|hit| hit.values).max().unwrap_or(0);
    let whole = || {
        let whole = list
            .iter()
            .filter(|hit| ratio(hit.values.into(), most.into()) >= w::VALUES_MOST.get());
        whole.map(|hit| hit.key)
    };
    let beside = whole().any(|parent| facts.stand_together(child, parent));
    let fit = |parent: ColumnId| range_fit(facts, child, parent);
    let likeliest = whole().map(fit).fold(f64::MIN, f64::max);
    whole()
        .filter(|parent| !beside || facts.stand_together(child, *parent))
        .filter(|parent| fit(*parent) >= likeliest - w::RULED_OUT.get())
        .filter(|parent| {
            let owner = borrowed.get(parent);
            owner.is_none_or(|owner| list.iter().all(|hit| hit.key != *owner))
        })
        .map(|parent| parent.table)
        .collect()
}

/// Returns the log likelihood that evenly drawn numbers cover no more of the range.
fn range_fit(facts: &Facts<'_>, child: ColumnId, parent: ColumnId) -> f64 {
    let fit = || {
        let (child, parent) = (facts.column(child)?, facts.column(parent)?);
        parent.profile.filter(|profile| profile.is_dense())?;
        spread(child, parent)
    };
    fit().map_or(0.0, Fit::log_likelihood)
}

/// Such as the unique `invoices.order_id` within `orders.id`.
fn borrowed(
    facts: &Facts<'_>,
    children: &[(ColumnId, &ColumnFacts<'_>)],
    (best, asked): (&[Vec<Hit>], &[u32]),
) -> BTreeMap<ColumnId, ColumnId> {
    let size = |at: ColumnId| {
        let profile = facts.column(at).and_then(|column| column.profile);
        profile.map_or(0, |profile| profile.population)
    };
    let owner =
        |((child, column), (list, asked)): (&(ColumnId, &ColumnFacts<'_>), (&Vec<Hit>, &u32))| {
            let own = size(*child);
            let whole = list.iter().filter(|hit| {
                hit.values == *asked
                    && hit.key.table != child.table
                    && size(hit.key) > own
                    && facts.layer(*child) == facts.layer(hit.key)
            });
            let largest = whole.max_by_key(|hit| (size(hit.key), std::cmp::Reverse(hit.key)));
            (column.key > 0.0)
                .then_some(largest)
                .flatten()
                .map(|hit| (*child, hit.key))
        };
    children
        .iter()
        .zip(best.iter().zip(asked))
        .filter_map(owner)
        .collect()
}

fn by_size(
    facts: &Facts<'_>,
    children: &[(ColumnId, &ColumnFacts<'_>)],
    candidates: &mut Candidates,
) {
    let mut all: Vec<(i64, ColumnId)> = Vec::new();
    let mut of_layer: BTreeMap<Option<&str>, Vec<(i64, ColumnId)>> = BTreeMap::new();
    for (at, key) in facts.keys() {
        let dense = key.profile.filter(|profile| profile.is_dense_from_one());
        if let Some((_, high)) = dense.and_then(ColumnProfile::key_range) {
            all.push((high, at));
            of_layer
                .entry(facts.layer(at))
                .or_default()
                .push((high, at));
        }
    }
    all.sort_unstable();
    for keys in of_layer.values_mut() {
        keys.sort_unstable();
    }
    for (at, column) in children {
        let Some((low, high)) = robust_range(column) else {
            continue;
        };
        let distinct = column.profile.map_or(0, |profile| profile.distinct);
        if low < w::SIZE_START.signed() || distinct < w::SIZE_DISTINCT.count() {
            continue;
        }
        // The end of the range can be an estimate, so try smaller keys as well.
        let middle = column.profile.and_then(|profile| profile.middle);
        let least = match (middle, column.profile.and_then(|profile| profile.range)) {
            (Some((_, to)), Some((_, end))) if end > high => to.min(high),
            _ => high,
        };
        let found = candidates.of.entry(*at).or_default();
        for keys in of_layer.get(&facts.layer(*at)).into_iter().chain([&all]) {
            found.extend(fitting(keys, least, high));
        }
    }
}

fn fitting(keys: &[(i64, ColumnId)], least: i64, high: i64) -> impl Iterator<Item = ColumnId> {
    let from = keys.partition_point(|(size, _)| *size < least);
    let guessed = keys.partition_point(|(size, _)| *size < high);
    keys.iter()
        .take(guessed + w::KEYS_OF_SIZE.size())
        .skip(from.max(guessed.saturating_sub(w::KEYS_OF_SIZE.size())))
        .map(|(_, parent)| *parent)
}

fn by_names(
    facts: &Facts<'_>,
    index: &mut NameIndex,
    at: ColumnId,
    column: &ColumnFacts<'_>,
    per_column: usize,
    candidates: &mut Candidates,
) {
    let found = candidates.of.entry(at).or_default();
    for (table, _) in index.tables(facts, &column.name.bases, per_column) {
        let Some(parent) = facts.table(table) else {
            continue;
        };
        let keys = parent
            .columns
            .iter()
            .enumerate()
            .filter(|(_, key)| key.key > 0.0);
        found.extend(keys.map(|(column, _)| ColumnId { table, column }));
    }
    found.extend(index.keys(&column.name.bases, per_column * w::KEYS_OF_NAME.size()));
    let Some(own) = facts.table(at.table) else {
        return;
    };
    // A table that extends another shares its key.
    if column.name.is_bare_key() && own.primary == Some(at.column) {
        for (table, _) in index.tables(facts, std::slice::from_ref(&own.name.words), per_column) {
            let primary = facts.table(table).and_then(|parent| parent.primary);
            found.extend(primary.map(|column| ColumnId { table, column }));
        }
    }
    if column.name.has_self_role() {
        found.extend(own.primary.map(|primary| ColumnId {
            table: at.table,
            column: primary,
        }));
    }
    if column.part {
        let people = facts
            .tables
            .iter()
            .enumerate()
            .filter(|(_, table)| table.people);
        let keys = people
            .filter_map(|(table, facts)| facts.primary.map(|column| ColumnId { table, column }));
        found.extend(keys.take(per_column));
    }
}
