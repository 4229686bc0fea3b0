//! Links over several columns, to composite keys.

mod anchors;
mod index;
mod judge;
mod own;
pub(crate) mod settle;

pub use judge::judge;
pub(crate) use own::names_own_rows;

use std::collections::{BTreeMap, BTreeSet};

use crate::composite::anchors::anchored;
use crate::composite::index::Index;
use crate::composite::own::{numbers_own_rows, role_likeness};
use crate::facts::{ColumnFacts, Facts, TableFacts};
use crate::names::entity::{KeyMark, entity_match};
use crate::profile::sketch::ratio;
use crate::profile::value::sentinel_hashes;
use crate::types::ColumnId;
use crate::weights as w;

/// `(found, rows)` for values, `(compared, found)` for groups.
pub type Counts = (u64, u64);

/// Counters that can be part of a key.
const ORDINALS: &[&str] = &[
    "line",
    "position",
    "pos",
    "seq",
    "sequence",
    "version",
    "revision",
    "rank",
    "level",
    "item",
    "row",
    "zeile",
    "ligne",
    "linea",
    "linha",
    "reihenfolge",
    "ordering",
    "ordinal",
    "orden",
    "posicion",
    "year",
    "month",
    "jahr",
    "semester",
];

/// Column groups to check in the warehouse.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    pub child: (usize, Vec<usize>),
    pub parent: (usize, Vec<usize>),
    pub name: f64,
    /// The share of possible combinations that exist. Near 1, containment is not evidence.
    pub density: f64,
    /// The share of rows that match by chance. `None` if names show which columns belong together.
    pub chance: Option<f64>,
    /// Past query runs.
    pub queries: u64,
}

/// `single` are the links found so far.
pub fn propose(facts: &Facts<'_>, single: &BTreeMap<ColumnId, ColumnId>) -> Vec<Proposal> {
    let index = Index::of(facts, single);
    let mut proposals = from_queries(facts);
    let mut keys: Vec<(usize, Vec<usize>)> = Vec::new();
    for table in 0..facts.tables.len() {
        for group in keys_of(facts, table, single, &index) {
            let itself = facts.table(table).filter(|own| {
                let role = |column: &ColumnFacts<'_>| {
                    column.name.has_self_role() || (own.people && column.part)
                };
                own.columns.iter().any(role)
            });
            let itself = itself.map(|_| table);
            let others = index.children(facts, single, table, &group);
            for child in others.into_iter().chain(itself) {
                proposals.extend(match_columns(facts, single, child, (table, &group)));
            }
            keys.push((table, group));
        }
    }
    let by_values = anchored(facts, single, &keys);
    let chances: BTreeMap<Vec<(ColumnId, ColumnId)>, Option<f64>> = by_values
        .iter()
        .map(|proposal| (proposal.pairs(), proposal.chance))
        .collect();
    let unnamed =
        |proposal: &&mut Proposal| proposal.queries == 0 && proposal.name < w::GROUP_NAMED.get();
    for proposal in proposals.iter_mut().filter(unnamed) {
        proposal.chance = chances.get(&proposal.pairs()).copied().flatten();
    }
    proposals.extend(by_values);
    let mut seen: BTreeSet<Vec<(ColumnId, ColumnId)>> = BTreeSet::new();
    proposals.retain(|proposal| seen.insert(proposal.pairs()));
    // The checks are limited, so the best names go first.
    proposals.sort_by(|left, right| {
        let order = |proposal: &Proposal| (proposal.queries > 0, proposal.name);
        order(right)
            .partial_cmp(&order(left))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    proposals
}

impl Proposal {
    pub fn of_columns(child: ColumnId, parent: ColumnId) -> Self {
        Self {
            child: (child.table, vec![child.column]),
            parent: (parent.table, vec![parent.column]),
            name: 0.0,
            density: 0.0,
            chance: None,
            queries: 0,
        }
    }

    /// Sorted: the order has no meaning.
    fn pairs(&self) -> Vec<(ColumnId, ColumnId)> {
        let side = |(table, columns): &(usize, Vec<usize>)| {
            let table = *table;
            columns
                .iter()
                .map(move |column| ColumnId {
                    table,
                    column: *column,
                })
                .collect::<Vec<_>>()
        };
        let mut pairs: Vec<(ColumnId, ColumnId)> = side(&self.child)
            .into_iter()
            .zip(side(&self.parent))
            .collect();
        pairs.sort_unstable();
        pairs
    }
}

/// A list numbered per tenant can have unique codes, but is referenced by the number.
fn has_good_key(table: &TableFacts<'_>) -> bool {
    let primary = table.primary.and_then(|at| table.columns.get(at));
    let inside = |column: &ColumnFacts<'_>| {
        column.own >= w::OWN_NAME.get() && column.name.mark == KeyMark::Strong && column.key <= 0.0
    };
    primary.is_some_and(|column| column.key >= w::GROUP_SINGLE.get())
        && !table.columns.iter().any(inside)
}

fn keys_of(
    facts: &Facts<'_>,
    at: usize,
    single: &BTreeMap<ColumnId, ColumnId>,
    index: &Index,
) -> Vec<Vec<usize>> {
    let Some(table) = facts.table(at).filter(|table| table.included) else {
        return Vec::new();
    };
    let place = |name: &String| {
        table
            .columns
            .iter()
            .position(|column| column.column.name == *name)
    };
    let declared: Vec<usize> = table.table.primary_key.iter().filter_map(place).collect();
    if declared.len() > 1 {
        return vec![declared];
    }
    let Some(profile) = table.profile.filter(|_| !has_good_key(table)) else {
        return Vec::new();
    };
    let weight = |column: usize, used_up: bool, again: bool| {
        let Some(facts) = table.columns.get(column) else {
            return 0.0;
        };
        let linked = single.contains_key(&ColumnId { table: at, column });
        let ordinal = facts
            .name
            .bases
            .iter()
            .chain([&facts.name.words])
            .flatten()
            .any(|word| ORDINALS.contains(&word.as_str()));
        match facts.name.mark {
            _ if linked => w::GROUP_LINKED.get(),
            KeyMark::Strong => w::GROUP_LINKED.get(),
            KeyMark::Weak => w::GROUP_WEAK.get(),
            KeyMark::None if ordinal => w::GROUP_ORDINAL.get(),
            KeyMark::None if !facts.name.telling => w::GROUP_FREE.get(),
            KeyMark::None if again => w::GROUP_FREE.get(),
            KeyMark::None if facts.name.measure => 0.0,
            KeyMark::None if used_up => w::GROUP_FREE.get(),
            KeyMark::None => 0.0,
        }
    };
    // Prefer a column that numbers the table's own rows.
    let numbers_rows = |group: &[usize]| {
        let mut columns = group.iter().filter_map(|column| table.columns.get(*column));
        columns.any(|column| column.own >= w::OWN_NAME.get() && column.name.mark != KeyMark::None)
    };
    let mut groups: Vec<(f64, Vec<usize>)> = profile
        .groups
        .iter()
        .map(|group| {
            let used_up = density(table, group) >= w::GROUP_USED_UP.get();
            let again = index.stands_elsewhere(facts, at, group);
            let weights = group.iter().map(|column| weight(*column, used_up, again));
            (weights.fold(f64::MAX, f64::min), group.clone())
        })
        .filter(|(weakest, _)| *weakest >= w::GROUP_WEIGHT.get())
        .collect();
    groups.sort_by(|left, right| {
        let is_own = numbers_rows(&right.1).cmp(&numbers_rows(&left.1));
        let is_weightier = right.0.total_cmp(&left.0);
        is_own.then(is_weightier).then(left.1.cmp(&right.1))
    });
    // Without telling names, only the referring tables can decide.
    let most = if table.name.telling {
        w::GROUP_KEYS.size()
    } else {
        groups.len()
    };
    groups
        .into_iter()
        .map(|(_, group)| group)
        .take(most)
        .collect()
}

/// Without telling names, returns several assignments to check.
fn match_columns(
    facts: &Facts<'_>,
    single: &BTreeMap<ColumnId, ColumnId>,
    child: usize,
    (parent, group): (usize, &[usize]),
) -> Vec<Proposal> {
    let (Some(from), Some(to)) = (facts.table(child), facts.table(parent)) else {
        return Vec::new();
    };
    let copies =
        matches!((from.name.layer, to.name.layer), (Some(own), Some(other)) if own != other);
    let alike = entity_match(&from.name.words, &to.name.words) >= w::SAME_ENTITY.get();
    if copies || (child != parent && alike) {
        return Vec::new();
    }
    let mut ways: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new())];
    for key in group {
        let key_at = ColumnId {
            table: parent,
            column: *key,
        };
        let mut fitting: Vec<(f64, usize)> = (0..from.columns.len())
            .filter_map(|column| {
                let at = ColumnId {
                    table: child,
                    column,
                };
                let likeness = likeness(facts, single, at, key_at);
                let least = if likeness >= 1.0 {
                    w::GROUP_PARTLY.get()
                } else {
                    w::GROUP_CONTAINED.get()
                };
                (likeness >= w::GROUP_UNNAMED.get() && is_contained(facts, at, key_at, least))
                    .then_some((likeness, column))
            })
            .collect();
        fitting.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let mut longer = Vec::new();
        for (sum, used) in &ways {
            let mut free = fitting
                .iter()
                .filter(|(_, column)| !used.contains(column))
                .peekable();
            let named = free
                .peek()
                .is_some_and(|(likeness, _)| *likeness > w::GROUP_UNNAMED.get());
            for (likeness, column) in free.take(if named { 1 } else { w::GROUP_WAYS.size() }) {
                let columns = used.iter().copied().chain([*column]).collect();
                longer.push((sum + likeness, columns));
            }
        }
        longer.truncate(w::GROUP_WAYS.size());
        ways = longer;
    }
    let width = ratio(group.len() as u64, 1);
    ways.into_iter()
        .filter(|(sum, used)| {
            sum / width >= w::GROUP_MATCHED.get() && !(child == parent && used == group)
        })
        .filter(|(_, used)| fills_or_fits(facts, (child, used), (parent, group)))
        .map(|(sum, used)| Proposal {
            child: (child, used),
            parent: (parent, group.to_vec()),
            name: sum / width,
            density: density(to, group),
            chance: None,
            queries: 0,
        })
        .collect()
}

/// Columns of a group with nulls need not fit alone.
fn fills_or_fits(
    facts: &Facts<'_>,
    (child, used): (usize, &[usize]),
    (parent, group): (usize, &[usize]),
) -> bool {
    let at = |table: usize, column: &usize| ColumnId {
        table,
        column: *column,
    };
    let open = used.iter().any(|column| {
        let profile = facts
            .column(at(child, column))
            .and_then(|column| column.profile);
        profile.is_some_and(|profile| profile.null_rate() > 0.0)
    });
    let mut pairs = used.iter().zip(group);
    open || pairs.all(|(own, key)| {
        is_contained(
            facts,
            at(child, own),
            at(parent, key),
            w::GROUP_CONTAINED.get(),
        )
    })
}

fn density(table: &TableFacts<'_>, group: &[usize]) -> f64 {
    let combinations: f64 = group
        .iter()
        .filter_map(|column| table.columns.get(*column)?.profile)
        .map(|profile| ratio(profile.distinct.max(1), 1))
        .product();
    let rows = table.profile.map_or(0, |profile| profile.rows_read);
    ratio(rows, 1) / combinations.max(1.0)
}

fn from_queries(facts: &Facts<'_>) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    for (group, queries) in facts.joins.groups() {
        let Some((left, right)) = group.first().map(|(left, right)| (left.table, right.table))
        else {
            continue;
        };
        let lefts: Vec<usize> = group.iter().map(|(left, _)| left.column).collect();
        let rights: Vec<usize> = group.iter().map(|(_, right)| right.column).collect();
        let ways = [
            ((left, lefts.clone()), (right, rights.clone())),
            ((right, rights), (left, lefts)),
        ];
        for (child, parent) in ways {
            let Some(to) = facts.table(parent.0).filter(|to| is_key(to, &parent.1)) else {
                continue;
            };
            proposals.push(Proposal {
                density: density(to, &parent.1),
                child,
                parent,
                name: 1.0,
                chance: None,
                queries,
            });
        }
    }
    proposals
}

fn is_key(table: &TableFacts<'_>, columns: &[usize]) -> bool {
    let names = |column: &usize| table.columns.get(*column).map(|found| &found.column.name);
    let declared = &table.table.primary_key;
    let whole = declared.len() > 1
        && declared
            .iter()
            .all(|key| columns.iter().any(|column| names(column) == Some(key)));
    let found = table.profile.is_some_and(|profile| {
        profile
            .groups
            .iter()
            .any(|group| group.iter().all(|column| columns.contains(column)))
    });
    whole || found
}

fn likeness(
    facts: &Facts<'_>,
    single: &BTreeMap<ColumnId, ColumnId>,
    child: ColumnId,
    key: ColumnId,
) -> f64 {
    let (Some(left), Some(right)) = (facts.column(child), facts.column(key)) else {
        return 0.0;
    };
    if numbers_own_rows(facts, child, key) {
        return 0.0;
    }
    if left.name.words == right.name.words && right.name.telling {
        return 1.0;
    }
    let shared = single
        .get(&child)
        .is_some_and(|parent| single.get(&key) == Some(parent));
    if shared {
        return w::GROUP_SHARED.get();
    }
    let qualified = facts.table(key.table).is_some_and(|table| {
        let words = &left.name.words;
        let rest = words
            .len()
            .checked_sub(right.name.words.len())
            .and_then(|at| words.split_at_checked(at));
        rest.is_some_and(|(rest, end)| {
            end == right.name.words.as_slice()
                && entity_match(rest, &table.name.words) >= w::GROUP_QUALIFIED.get()
        })
    });
    if qualified {
        return w::GROUP_SHARED.get();
    }
    let role = role_likeness(facts, child, key);
    if role > 0.0 {
        return role;
    }
    if !left.name.telling && !right.name.telling {
        return if left.profile.is_some() {
            w::GROUP_UNNAMED.get()
        } else {
            0.0
        };
    }
    let named = entity_match(left.name.base(), right.name.base());
    let table = facts
        .table(key.table)
        .filter(|_| right.own >= w::OWN_NAME.get());
    let tabled = table.map_or(0.0, |table| {
        entity_match(left.name.base(), &table.name.words)
    });
    if tabled >= w::GROUP_TABLE.get() {
        w::GROUP_ENTITY.get()
    } else if named >= w::GROUP_BASE.get() && left.name.base().len() >= right.name.base().len() {
        named * w::GROUP_BASE_ODDS.get()
    } else {
        0.0
    }
}

fn is_contained(facts: &Facts<'_>, child: ColumnId, key: ColumnId, least: f64) -> bool {
    let (Some(left), Some(right)) = (facts.column(child), facts.column(key)) else {
        return false;
    };
    if left.family != right.family {
        return false;
    }
    let (Some(values), Some(keys)) = (left.profile, right.profile) else {
        return true;
    };
    values
        .sketch
        .estimate_in(&keys.sketch, &sentinel_hashes())
        .is_none_or(|contained| contained.distinct.max(contained.rows) >= least)
}
