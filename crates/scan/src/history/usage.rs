//! Summarizes how past queries use tables, without literals.

use std::collections::{BTreeMap, BTreeSet};

use ktx_relationships::links::joins::Group;
use ktx_relationships::types::ColumnId;
use ktx_vocabulary::TableRef;
use ktx_warehouse::Table;
use serde_yaml::{Mapping, Value};

const LISTED: usize = 8;
/// A column or join in less than one of this many runs is not common.
const RARE: u64 = 10;

#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) tables: BTreeSet<usize>,
    /// Columns compared with something other than another table's column.
    pub(crate) filters: BTreeSet<ColumnId>,
    pub(crate) grouped: BTreeSet<ColumnId>,
    pub(crate) joins: BTreeSet<Group>,
    /// Words of the text can mean these tables.
    pub(crate) named: BTreeSet<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// Holds the keys of `usage`.
    Used(Mapping),
    /// Named too rarely in a complete record.
    Unused,
}

pub(crate) type Usage = BTreeMap<TableRef, Seen>;

#[derive(Debug, Default)]
struct Counts {
    runs: u64,
    filters: BTreeMap<ColumnId, u64>,
    grouped: BTreeMap<ColumnId, u64>,
    joins: BTreeMap<Group, u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    total: u64,
    tables: BTreeMap<usize, Counts>,
    named: BTreeMap<usize, u64>,
}

impl Tally {
    /// A statement that reads no table in scope is not a use.
    pub(crate) fn add(&mut self, reading: &Reading, runs: u64, scope: &BTreeSet<usize>) {
        self.name(reading, runs);
        if reading.tables.is_disjoint(scope) {
            return;
        }
        self.total = self.total.saturating_add(runs);
        for table in &reading.tables {
            let counts = self.tables.entry(*table).or_default();
            counts.runs = counts.runs.saturating_add(runs);
            count(&mut counts.filters, &reading.filters, runs, |at| {
                at.table == *table
            });
            count(&mut counts.grouped, &reading.grouped, runs, |at| {
                at.table == *table
            });
            let is_of = |group: &Group| {
                let tables = || group.iter().flat_map(|(left, right)| [left, right]);
                tables().any(|at| at.table == *table)
                    && tables().all(|at| reading.tables.contains(&at.table))
            };
            count(&mut counts.joins, &reading.joins, runs, is_of);
        }
    }

    /// Named tables are not unused.
    pub(crate) fn name(&mut self, reading: &Reading, runs: u64) {
        for table in &reading.named {
            let known = self.named.entry(*table).or_default();
            *known = known.saturating_add(runs);
        }
    }

    /// A table in use is named by at least `least` runs; `None` if the record is incomplete.
    pub(crate) fn usage(
        &self,
        tables: &[Table],
        scope: &BTreeSet<usize>,
        least: Option<u64>,
    ) -> Usage {
        let seen = |at: &usize| {
            let table = tables.get(*at)?;
            let named = self.named.get(at).copied().unwrap_or(0);
            let seen = match self.tables.get(at) {
                Some(counts) => Seen::Used(self.used(*at, counts, tables)),
                None if least.is_some_and(|least| named < least) => Seen::Unused,
                None => return None,
            };
            Some((table.table.clone(), seen))
        };
        scope.iter().filter_map(seen).collect()
    }

    fn used(&self, own: usize, counts: &Counts, tables: &[Table]) -> Mapping {
        let tier = if counts.runs.saturating_mul(2) >= self.total {
            "high"
        } else if counts.runs.saturating_mul(10) >= self.total {
            "mid"
        } else {
            "low"
        };
        let name = |at: &ColumnId| -> Option<String> {
            let column = tables.get(at.table)?.columns.get(at.column)?;
            Some(column.name.clone())
        };
        let names = |counted: &BTreeMap<ColumnId, u64>| -> Value {
            let common = common(counted, counts.runs);
            let names = common.iter().filter_map(name).map(Value::String);
            Value::Sequence(names.collect())
        };
        let join = |group: &Group| -> Option<Value> {
            let (first, _) = group.first()?;
            let turned = first.table != own;
            let mut on = Vec::new();
            let mut other = own;
            for (left, right) in group {
                let (near, far) = if turned { (right, left) } else { (left, right) };
                other = far.table;
                on.push(Value::String(format!("{} = {}", name(near)?, name(far)?)));
            }
            let mut join = Mapping::new();
            let place = tables.get(other)?.table.to_string();
            join.insert("table".into(), place.into());
            join.insert("on".into(), Value::Sequence(on));
            Some(Value::Mapping(join))
        };
        let mut usage = Mapping::new();
        usage.insert("frequencyTier".into(), tier.into());
        usage.insert("commonFilters".into(), names(&counts.filters));
        usage.insert("commonGroupBys".into(), names(&counts.grouped));
        let joins = common(&counts.joins, counts.runs);
        let joins = joins.iter().filter_map(join).collect();
        usage.insert("commonJoins".into(), Value::Sequence(joins));
        usage
    }
}

fn count<K: Ord + Clone>(
    counted: &mut BTreeMap<K, u64>,
    keys: &BTreeSet<K>,
    runs: u64,
    is_of: impl Fn(&K) -> bool,
) {
    for key in keys.iter().filter(|key| is_of(key)) {
        let known = counted.entry(key.clone()).or_default();
        *known = known.saturating_add(runs);
    }
}

/// Returns frequent keys in key order, so that small shifts do not change a file.
fn common<K: Ord + Clone>(counted: &BTreeMap<K, u64>, of: u64) -> Vec<K> {
    let is_common = |(_, runs): &(&K, &u64)| runs.saturating_mul(RARE) >= of;
    let mut all: Vec<(&K, &u64)> = counted.iter().filter(is_common).collect();
    all.sort_by_key(|(key, runs)| (std::cmp::Reverse(**runs), *key));
    all.truncate(LISTED);
    let mut keys: Vec<K> = all.into_iter().map(|(key, _)| key.clone()).collect();
    keys.sort();
    keys
}
