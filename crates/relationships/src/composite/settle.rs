//! Chooses among links over several columns.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;

use crate::facts::Facts;
use crate::links::link::{Cardinality, Endpoint, Link, Status};
use crate::types::ColumnId;
use crate::weights as w;

pub fn single_links<'l>(
    facts: &Facts<'_>,
    links: impl Iterator<Item = &'l Link>,
) -> BTreeMap<ColumnId, ColumnId> {
    let single = accepted_single(facts, links);
    single
        .filter(|(child, _)| facts.is_included(*child))
        .collect()
}

/// Includes the links of views.
pub(crate) fn accepted_single<'l>(
    facts: &Facts<'_>,
    links: impl Iterator<Item = &'l Link>,
) -> impl Iterator<Item = (ColumnId, ColumnId)> {
    let places = places(facts);
    let at = move |side: &Endpoint| match side.columns.as_slice() {
        [column] => places.get(&(&side.table, column.as_str())).copied(),
        _ => None,
    };
    links
        .filter(|link| link.status == Status::Accepted)
        .filter_map(move |link| Some((at(&link.from)?, at(&link.to)?)))
}

/// Keeps at most one direction between two tables, the nearer of nested groups, and one link per
/// group.
pub fn settle_groups(facts: &Facts<'_>, found: &mut [Link]) {
    // Two tables with the same groups contain each other's; at most the smaller one refers.
    let accepted: BTreeSet<(Endpoint, Endpoint)> = found
        .iter()
        .filter(|link| link.status == Status::Accepted)
        .map(|link| (link.from.clone(), link.to.clone()))
        .collect();
    for link in found.iter_mut() {
        if link.status == Status::Accepted
            && accepted.contains(&(link.to.clone(), link.from.clone()))
        {
            link.status = Status::Review;
            link.score = w::GROUP_REVIEW.get();
            link.reasons
                .push("each of the two tables holds the other's keys".to_owned());
        }
    }
    prefer_nested(facts, found);
    best_composites(found);
}

/// A table with all three key columns of `offering` refers to `offering`, not to `course`, whose
/// key is two of them. It also refers to `course` if some rows lack the third value.
fn prefer_nested(facts: &Facts<'_>, found: &mut [Link]) {
    let pairs = |link: &Link| -> BTreeSet<(String, String)> {
        let own = link.from.columns.iter().cloned();
        own.zip(link.to.columns.iter().cloned()).collect()
    };
    let leads: Vec<(TableRef, Endpoint)> = found
        .iter()
        .filter(|link| link.status == Status::Accepted)
        .map(|link| (link.from.table.clone(), link.to.clone()))
        .collect();
    let mut nearer: Vec<(usize, usize)> = Vec::new();
    for (wide_at, wide) in found.iter().enumerate() {
        let sure =
            wide.evidence.name >= 1.0 && wide.evidence.coverage.is_some_and(|share| share >= 1.0);
        let waits = wide.status == Status::Review && wide.cardinality == Cardinality::ManyToOne;
        if !(sure && (waits || wide.status == Status::Accepted)) {
            continue;
        }
        for (at, narrow) in found.iter().enumerate() {
            let through = leads.contains(&(wide.to.table.clone(), narrow.to.clone()));
            let within = narrow.from.table == wide.from.table
                && narrow.from.columns.len() < wide.from.columns.len()
                && pairs(narrow).is_subset(&pairs(wide));
            if through && within && narrow.status == Status::Accepted {
                nearer.push((wide_at, at));
            }
        }
    }
    for (wide, narrow) in nearer {
        let nearest = found
            .get(wide)
            .map(|link| (link.to.table.to_string(), facts.is_filled(&link.from)));
        let (table, covers_all) = nearest.unwrap_or_default();
        if let Some(link) = found
            .get_mut(wide)
            .filter(|link| link.status == Status::Review)
        {
            link.status = Status::Accepted;
            link.score = w::GROUP_NEARER.get();
            link.reasons
                .push("its columns lead on to another table as those of the key do".to_owned());
        }
        if let Some(link) = found.get_mut(narrow).filter(|_| covers_all) {
            link.status = Status::Implied;
            link.reasons
                .push(format!("`{table}` is nearer and leads there"));
        }
    }
}

fn best_composites(found: &mut [Link]) {
    found.sort_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then_with(|| left.id().cmp(&right.id()))
    });
    let mut taken: BTreeSet<(TableRef, Vec<String>)> = BTreeSet::new();
    for link in found
        .iter_mut()
        .filter(|link| link.status == Status::Accepted)
    {
        let mut columns = link.from.columns.clone();
        columns.sort();
        if !taken.insert((link.from.table.clone(), columns)) {
            link.status = Status::Review;
            link.reasons
                .push("another table fits these columns better".to_owned());
        }
    }
}

fn places<'f>(facts: &'f Facts<'_>) -> BTreeMap<(&'f TableRef, &'f str), ColumnId> {
    let tables = facts.tables.iter().enumerate();
    tables
        .flat_map(|(table, facts)| {
            let place = &facts.table.table;
            facts
                .columns
                .iter()
                .enumerate()
                .map(move |(column, facts)| {
                    (
                        (place, facts.column.name.as_str()),
                        ColumnId { table, column },
                    )
                })
        })
        .collect()
}
