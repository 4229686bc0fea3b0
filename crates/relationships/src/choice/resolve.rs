//! Chooses one parent per column, and no circular links between two tables.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;

use crate::choice::contained::{favour_containers, favour_own_rows, may_refer};
use crate::choice::namesake::{prefer_namesake, prefer_referred};
use crate::choice::sole::favour_sole_fits;
use crate::choice::staff::favour_staff;
use crate::choice::verdict::{link_of, status_of};
use crate::choice::views::favour_repeated;
use crate::facts::fit::Fit;
use crate::facts::{ColumnFacts, Facts};
use crate::links::link::{Link, Status};
use crate::names::entity::KeyMark;
use crate::profile::sketch::ratio;
use crate::score::ScoredPair;
use crate::settings::RelationshipSettings;
use crate::types::ColumnId;
use crate::weights as w;

/// Views repeat the `declared` links.
pub fn resolve(
    facts: &Facts<'_>,
    scored: Vec<ScoredPair>,
    declared: &[Link],
    settings: &RelationshipSettings,
) -> Vec<Link> {
    let (of_views, of_tables): (Vec<ScoredPair>, Vec<ScoredPair>) = scored
        .into_iter()
        .partition(|pair| !facts.is_included(pair.child));
    if of_views.is_empty() {
        return choose(facts, of_tables, &[], settings);
    }
    // Views repeat rows, so they are not evidence for links of tables.
    let mut links = choose(facts, of_tables.clone(), &[], settings);
    let views: BTreeSet<&TableRef> = facts
        .tables
        .iter()
        .filter(|table| !table.included)
        .map(|table| &table.table.table)
        .collect();
    let all = of_tables.into_iter().chain(of_views).collect();
    let all = choose(facts, all, declared, settings).into_iter();
    links.extend(all.filter(|link| views.contains(&link.from.table)));
    links
}

fn choose(
    facts: &Facts<'_>,
    mut scored: Vec<ScoredPair>,
    declared: &[Link],
    settings: &RelationshipSettings,
) -> Vec<Link> {
    let mut by_child: BTreeMap<ColumnId, Vec<ScoredPair>> = BTreeMap::new();
    let mut links = Vec::new();
    for candidate in scored.drain(..) {
        if candidate.barred {
            if candidate.likelihood() >= w::TOLD.get() {
                links.push(link_of(facts, &candidate, Status::Rejected));
            }
            continue;
        }
        by_child.entry(candidate.child).or_default().push(candidate);
    }
    favour_sole_fits(facts, &mut by_child);
    favour_own_rows(facts, &mut by_child);
    favour_staff(facts, &mut by_child);
    agree(facts, &mut by_child, settings);
    favour_containers(facts, &mut by_child, settings);
    favour_repeated(facts, &mut by_child, declared, settings);
    for rivals in by_child.values_mut() {
        rivals.sort_by(|left, right| {
            right
                .rank()
                .total_cmp(&left.rank())
                .then(left.parent.cmp(&right.parent))
        });
        prefer_named(rivals, settings);
        prefer_namesake(facts, rivals);
    }
    let leads: BTreeMap<ColumnId, ColumnId> = by_child
        .iter()
        .filter_map(|(child, rivals)| Some((*child, rivals.first()?)))
        .filter(|(_, first)| first.likelihood() >= settings.accept_threshold)
        .map(|(child, first)| (child, first.parent))
        .collect();
    let mut best: Vec<ScoredPair> = Vec::new();
    for (_, mut rivals) in by_child {
        let owned = prefer_home(facts, &mut rivals, settings);
        let owned = prefer_owner(facts, &leads, &mut rivals) || owned;
        let owned = prefer_part(facts, &leads, &mut rivals) || owned;
        let tied = !owned && is_tied(facts, &rivals) && !prefer_referred(&leads, &mut rivals);
        let sized = better_sized(&rivals).map(|rival| facts.endpoint(rival.parent));
        let mut rivals = rivals.into_iter();
        if let Some(mut first) = rivals.next() {
            if tied {
                first.odds = first.odds.min(w::DOUBTED.get());
                first
                    .reasons
                    .push("another table fits equally well".to_owned());
            }
            if let Some(other) = sized {
                first.odds = first.odds.min(w::DOUBTED.get());
                first
                    .reasons
                    .push(format!("its numbers end where those of `{other}` do"));
            }
            if first.evidence.name > 1.0 && refers_back(&leads, &first) {
                first.odds = first.odds.min(w::DOUBTED.get());
                first
                    .reasons
                    .push("the other table refers to this one".to_owned());
            }
            let fitter = format!("`{}` fits the column better", facts.endpoint(first.parent));
            best.push(first);
            for loser in rivals.filter(|loser| loser.likelihood() >= w::TOLD.get()) {
                let mut link = link_of(facts, &loser, Status::Rejected);
                link.reasons.push(fitter.clone());
                links.push(link);
            }
        }
    }
    break_circles(&mut best);
    doubt_second_keys(facts, &mut best, settings);
    doubt_repeated_keys(facts, &mut best);
    for winner in &best {
        let status = status_of(facts, winner, settings);
        if status != Status::Rejected || is_worth_telling(facts, winner) {
            links.push(link_of(facts, winner, status));
        }
    }
    links
}

fn is_worth_telling(facts: &Facts<'_>, winner: &ScoredPair) -> bool {
    let complete = winner.evidence.coverage.is_some_and(|share| share >= 1.0);
    winner.likelihood() >= w::TOLD.get()
        || winner.evidence.name >= w::TOLD_NAME.get()
        || (complete
            && winner.child.table != winner.parent.table
            && facts.column(winner.child).is_some_and(may_refer))
}

/// Applies to a best candidate that matches only a person's role and the beginning of its keys.
fn better_sized(rivals: &[ScoredPair]) -> Option<&ScoredPair> {
    let (first, others) = rivals.split_first()?;
    let beginning = first.fit.is_some_and(|fit| fit.span < w::SIZED_SPAN.get());
    if !beginning || !(w::VAGUE.get()..w::NAMED.get()).contains(&first.evidence.name) {
        return None;
    }
    let ends = |rival: &&ScoredPair| {
        let fits =
            |fit: Fit| fit.span >= w::SIZED_RIVAL.get() && fit.distinct >= w::SIZED_NUMBERS.count();
        rival.parent.table != first.parent.table && rival.fit.is_some_and(fits)
    };
    others.iter().find(ends)
}

/// A second key is often copied along with the first one.
fn doubt_second_keys(facts: &Facts<'_>, best: &mut [ScoredPair], settings: &RelationshipSettings) {
    let is_second = |at: ColumnId| facts.column(at).is_some_and(ColumnFacts::is_second_key);
    let keyed: BTreeSet<(usize, usize)> = best
        .iter()
        .filter(|link| link.likelihood() >= settings.accept_threshold && !is_second(link.parent))
        .map(|link| (link.child.table, link.parent.table))
        .collect();
    for link in best.iter_mut().filter(|link| is_second(link.parent)) {
        let beside = keyed.contains(&(link.child.table, link.parent.table));
        let own = facts.column(link.child).is_some_and(|child| {
            child.is_second_key()
                || child
                    .profile
                    .is_some_and(|profile| profile.uniqueness() >= w::ONE_EACH.get())
        });
        if beside && link.evidence.name >= w::VAGUE.get() {
            link.odds = link.odds.min(w::DOUBTED.get());
            link.reasons
                .push("another column leads to the table by its key".to_owned());
        } else if own && !link.evidence.is_backed() {
            link.odds = link.odds.min(w::DOUBTED.get());
            link.reasons
                .push("each row of both tables has a text of its own".to_owned());
        }
    }
}

/// A join to a key with duplicates would repeat rows, so a person reviews it.
fn doubt_repeated_keys(facts: &Facts<'_>, best: &mut [ScoredPair]) {
    for link in best.iter_mut() {
        let key = facts.column(link.parent).and_then(|column| column.profile);
        let whole = facts
            .table(link.parent.table)
            .is_some_and(crate::facts::TableFacts::is_whole);
        let repeated = key.map_or(0, |key| key.values.saturating_sub(key.distinct));
        if whole && repeated > 0 {
            link.odds = link.odds.min(w::DOUBTED.get());
            link.reasons.push(format!(
                "{repeated} rows of the other table repeat a key, so that a join doubles what refers to it"
            ));
        }
    }
}

/// Then the two columns number different things.
fn refers_back(leads: &BTreeMap<ColumnId, ColumnId>, link: &ScoredPair) -> bool {
    let mut others = leads.iter();
    others.any(|(child, parent)| {
        *parent == link.child && child.table == link.parent.table && *child != link.parent
    })
}

/// Moves up a good named key if the best-fitting key is not good.
fn prefer_named(rivals: &mut [ScoredPair], settings: &RelationshipSettings) {
    let enough = |rival: &ScoredPair| rival.likelihood() >= settings.accept_threshold;
    if rivals.first().is_none_or(enough) {
        return;
    }
    let named = |rival: &ScoredPair| rival.evidence.name >= w::CLEARLY_NAMED.get() && enough(rival);
    if let Some(at) = rivals.iter().position(named) {
        rivals.swap(0, at);
    }
}

/// Prefers a table of the child's own module that contains all values and matches as well. Returns
/// whether it did.
fn prefer_home(
    facts: &Facts<'_>,
    rivals: &mut [ScoredPair],
    settings: &RelationshipSettings,
) -> bool {
    let module = |at: ColumnId| {
        facts
            .table(at.table)
            .and_then(|table| table.name.namespace.as_ref())
    };
    let Some((first, home)) = rivals
        .first()
        .and_then(|first| Some((first, module(first.child)?)))
    else {
        return false;
    };
    if module(first.parent).is_none_or(|other| other == home) {
        return false;
    }
    let least = (first.evidence.name - w::HOME.get()).max(w::NAMED.get());
    let at_home = |rival: &ScoredPair| {
        module(rival.parent) == Some(home)
            && rival.evidence.name >= least
            && rival.evidence.coverage.is_some_and(|share| share >= 1.0)
            && rival.likelihood() >= settings.accept_threshold
    };
    let place = rivals.iter().position(at_home);
    if let Some(at) = place {
        rivals.swap(0, at);
    }
    place.is_some()
}

/// `payment.order_id` means `order.id`, not `invoice.order_id`. Returns whether it did.
fn prefer_owner(
    facts: &Facts<'_>,
    leads: &BTreeMap<ColumnId, ColumnId>,
    rivals: &mut [ScoredPair],
) -> bool {
    let Some(first) = rivals.first() else {
        return false;
    };
    let Some(owner) = leads
        .get(&first.parent)
        .filter(|owner| **owner != first.child)
    else {
        return false;
    };
    let layer = |at: ColumnId| facts.table(at.table).map(|table| table.name.layer);
    if layer(first.parent) != layer(*owner) {
        // The owner is a copy in another layer.
        return false;
    }
    let named = first.evidence.name - w::OWNER.get();
    let place = rivals
        .iter()
        .position(|rival| rival.parent == *owner && rival.evidence.name >= named);
    if let Some(at) = place.filter(|at| rivals.get(*at).is_some_and(|rival| rival.odds > 0.0)) {
        rivals.swap(0, at);
        return at > 0;
    }
    false
}

/// Prefers a key within a larger key, such as employees among persons, if it holds all of many
/// values. Returns whether it did.
fn prefer_part(
    facts: &Facts<'_>,
    leads: &BTreeMap<ColumnId, ColumnId>,
    rivals: &mut [ScoredPair],
) -> bool {
    let size = |at: ColumnId| {
        let profile = facts.column(at).and_then(|column| column.profile);
        profile.map_or(0, |profile| profile.population)
    };
    let leads_own = |child: ColumnId| {
        let column = facts.column(child);
        column.is_some_and(|column| column.name.has_self_role())
    };
    let mut preferred = false;
    while let Some(first) = rivals.first() {
        let (child, whole) = (first.child, first.parent);
        let drawn = size(child).min(size(whole));
        let named = first.evidence.name >= w::VAGUE.get();
        let covered = first.evidence.coverage;
        let fits = |rival: &ScoredPair| {
            let part = rival.parent;
            // Such a table was derived from the column, unless the column's table is named after
            // it.
            let used_up = size(child) >= size(part) && !extends(facts, child, part);
            let primary = facts
                .table(part.table)
                .is_some_and(|table| table.primary == Some(part.column));
            let share = ratio(size(part), size(whole));
            // A key with its table's name is not borrowed, unless the column means the larger one.
            let owned = facts
                .column(part)
                .is_some_and(|column| column.own >= w::OWN_NAME.get());
            let refers = leads.get(&part) == Some(&whole) && !used_up;
            primary
                && (refers || (owned && !named && !leads.contains_key(&part)))
                && !is_kind_of(facts, part, whole)
                && (part.table != child.table || leads_own(child))
                && rival.odds > 0.0
                && rival.evidence.coverage == covered
                && (!named || rival.evidence.name >= w::VAGUE.get())
                && share > 0.0
                && -share.ln() * ratio(drawn, 1) >= w::COINCIDENCE.get()
        };
        let Some(at) = rivals.iter().skip(1).position(fits) else {
            break;
        };
        rivals.swap(0, at + 1);
        preferred = true;
    }
    preferred
}

/// `customer_id` means the `customer`, not the `active_customer`.
fn is_kind_of(facts: &Facts<'_>, part: ColumnId, whole: ColumnId) -> bool {
    let (Some(own), Some(other)) = (facts.table(part.table), facts.table(whole.table)) else {
        return false;
    };
    let (own, other) = (own.name.words.as_slice(), other.name.words.as_slice());
    own.len() > other.len() && own.ends_with(other)
}

fn extends(facts: &Facts<'_>, child: ColumnId, parent: ColumnId) -> bool {
    let (Some(own), Some(other)) = (facts.table(child.table), facts.table(parent.table)) else {
        return false;
    };
    let other = other.name.words.as_slice();
    let start = own.name.words.get(..other.len());
    let joined = match (own.name.whole.as_slice(), other) {
        ([own], [other]) => {
            other.len() >= w::COMPOUND_LETTERS.size()
                && own.len() > other.len()
                && own.starts_with(other.as_str())
        }
        _ => false,
    };
    joined || own.name.words.len() > other.len() && start.is_some_and(|start| start == other)
}

/// Columns of one name mostly mean one thing.
fn agree(
    facts: &Facts<'_>,
    by_child: &mut BTreeMap<ColumnId, Vec<ScoredPair>>,
    settings: &RelationshipSettings,
) {
    let name_of = |at: ColumnId| {
        let name = &facts.column(at)?.name;
        let marked = name.mark != KeyMark::None && !name.is_bare_key();
        (name.telling && marked).then(|| name.words.join(" "))
    };
    let mut sure: BTreeMap<String, BTreeSet<(ColumnId, usize)>> = BTreeMap::new();
    for (child, rivals) in by_child.iter() {
        let best = rivals
            .iter()
            .max_by(|left, right| left.rank().total_cmp(&right.rank()));
        let best = best.filter(|best| best.likelihood() >= settings.accept_threshold);
        if let (Some(name), Some(best)) = (name_of(*child), best) {
            sure.entry(name)
                .or_default()
                .insert((best.parent, child.table));
        }
    }
    for (child, rivals) in by_child.iter_mut() {
        let Some(found) = name_of(*child).and_then(|name| sure.get(&name)) else {
            continue;
        };
        let decided = rivals
            .iter()
            .any(|rival| rival.likelihood() >= settings.accept_threshold);
        for rival in rivals.iter_mut().filter(|_| !decided) {
            let agrees = found
                .iter()
                .any(|(parent, table)| *parent == rival.parent && *table != child.table);
            let near = facts.layer(*child) == facts.layer(rival.parent);
            if agrees && near && rival.parent.table != child.table {
                rival.odds += w::AGREES.get();
                rival
                    .reasons
                    .push("columns of this name refer there in other tables".to_owned());
            }
        }
    }
}

fn is_tied(facts: &Facts<'_>, rivals: &[ScoredPair]) -> bool {
    let [first, second, ..] = rivals else {
        return false;
    };
    (first.rank() - second.rank()).abs() < w::TIE.get()
        && first.parent.table != second.parent.table
        && facts
            .table(first.parent.table)
            .map(|table| table.name.layer)
            == facts
                .table(second.parent.table)
                .map(|table| table.name.layer)
}

fn break_circles(best: &mut Vec<ScoredPair>) {
    let chosen: BTreeMap<ColumnId, (ColumnId, f64)> = best
        .iter()
        .map(|link| (link.child, (link.parent, link.odds)))
        .collect();
    best.retain(|link| {
        let Some((back, odds)) = chosen.get(&link.parent) else {
            return true;
        };
        *back != link.child || link.odds > *odds || (link.odds >= *odds && link.child > link.parent)
    });
}
