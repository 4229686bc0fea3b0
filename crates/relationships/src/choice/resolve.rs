//! Chooses among competing candidates: one parent per column, and no circular links between two
//! tables.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::sketch::ratio;
use crate::relationships::contained::{favour_containers, favour_own_rows, may_refer};
use crate::relationships::entity::KeyMark;
use crate::relationships::facts::{ColumnFacts, Facts};
use crate::relationships::fit::Fit;
use crate::relationships::link::{Cardinality, Check, Endpoint, Link, Origin, Status};
use crate::relationships::namesake::{prefer_namesake, prefer_referred};
use crate::relationships::score::{LEAST_COVERAGE, ScoredPair};
use crate::relationships::sole::favour_sole_fits;
use crate::settings::{RelationshipSettings, Switch};
use crate::types::ColumnId;

/// Minimum likelihood for reporting a losing or failing candidate.
const WORTH_TELLING: f64 = 0.2;
/// Log odds from which it is not a coincidence that all values are in a subset of a key.
const CHANCE: f64 = 7.0;
/// Maximum difference in log odds of two equally good parents.
const TIE: f64 = 0.05;

pub(crate) fn resolve(
    facts: &Facts<'_>,
    mut scored: Vec<ScoredPair>,
    settings: &RelationshipSettings,
) -> Vec<Link> {
    let mut by_child: BTreeMap<ColumnId, Vec<ScoredPair>> = BTreeMap::new();
    let mut links = Vec::new();
    for candidate in scored.drain(..) {
        if candidate.barred {
            if candidate.likelihood() >= WORTH_TELLING {
                links.push(link_of(facts, &candidate, Status::Rejected));
            }
            continue;
        }
        by_child.entry(candidate.child).or_default().push(candidate);
    }
    favour_sole_fits(facts, &mut by_child);
    favour_own_rows(facts, &mut by_child);
    agree(facts, &mut by_child, settings);
    favour_containers(facts, &mut by_child, settings);
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
        let sized = better_sized(&rivals).map(|rival| endpoint(facts, rival.parent));
        let mut rivals = rivals.into_iter();
        if let Some(mut first) = rivals.next() {
            if tied {
                first.odds = first.odds.min(1.0);
                first
                    .reasons
                    .push("another table fits equally well".to_owned());
            }
            if let Some(other) = sized {
                first.odds = first.odds.min(1.0);
                first
                    .reasons
                    .push(format!("its numbers end where those of `{other}` do"));
            }
            if first.evidence.name > 1.0 && refers_back(&leads, &first) {
                first.odds = first.odds.min(1.0);
                first
                    .reasons
                    .push("the other table refers to this one".to_owned());
            }
            let fitter = format!("`{}` fits the column better", endpoint(facts, first.parent));
            best.push(first);
            for loser in rivals.filter(|loser| loser.likelihood() >= WORTH_TELLING) {
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

/// Returns whether a person would think of the link: it is likely, or the names tell it, or all
/// values of a column that may refer are keys.
fn is_worth_telling(facts: &Facts<'_>, winner: &ScoredPair) -> bool {
    let complete = winner.evidence.coverage.is_some_and(|share| share >= 1.0);
    winner.likelihood() >= WORTH_TELLING
        || winner.evidence.name >= 0.7
        || (complete
            && winner.child.table != winner.parent.table
            && facts.column(winner.child).is_some_and(may_refer))
}

/// Returns the rival whose keys end where the column's numbers do, if the best candidate matches
/// only a person's role and the numbers cover only the beginning of its keys.
fn better_sized(rivals: &[ScoredPair]) -> Option<&ScoredPair> {
    let (first, others) = rivals.split_first()?;
    let beginning = first.fit.is_some_and(|fit| fit.span < 0.3);
    if !beginning || !(0.4..0.78).contains(&first.evidence.name) {
        return None;
    }
    let ends = |rival: &&ScoredPair| {
        let fits = |fit: Fit| fit.span >= 0.95 && fit.distinct >= 15;
        rival.parent.table != first.parent.table && rival.fit.is_some_and(fits)
    };
    others.iter().find(ends)
}

/// Lowers the odds of links to second keys. Such a text is often copied along with the reference to
/// the first key, and two tables with their own unique texts may share values only by that.
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
                    .is_some_and(|profile| profile.uniqueness() >= 0.999)
        });
        if beside && link.evidence.name >= 0.4 {
            link.odds = link.odds.min(1.0);
            link.reasons
                .push("another column leads to the table by its key".to_owned());
        } else if own && !link.evidence.is_backed() {
            link.odds = link.odds.min(1.0);
            link.reasons
                .push("each row of both tables has a text of its own".to_owned());
        }
    }
}

/// Lowers the odds of links to keys with duplicates, so that a person reviews them first: a join
/// would repeat the referring rows.
fn doubt_repeated_keys(facts: &Facts<'_>, best: &mut [ScoredPair]) {
    for link in best.iter_mut() {
        let key = facts.column(link.parent).and_then(|column| column.profile);
        let whole = facts
            .table(link.parent.table)
            .is_some_and(super::facts::TableFacts::is_whole);
        let repeated = key.map_or(0, |key| key.values.saturating_sub(key.distinct));
        if whole && repeated > 0 {
            link.odds = link.odds.min(1.0);
            link.reasons.push(format!(
                "{repeated} rows of the other table repeat a key, so that a join doubles what refers to it"
            ));
        }
    }
}

/// Returns whether another column of the parent's table refers to the child; then the two number
/// different things.
fn refers_back(leads: &BTreeMap<ColumnId, ColumnId>, link: &ScoredPair) -> bool {
    let mut others = leads.iter();
    others.any(|(child, parent)| {
        *parent == link.child && child.table == link.parent.table && *child != link.parent
    })
}

/// Moves up a key that the column names and that is good enough, if the best-fitting key is not.
fn prefer_named(rivals: &mut [ScoredPair], settings: &RelationshipSettings) {
    let enough = |rival: &ScoredPair| rival.likelihood() >= settings.accept_threshold;
    if rivals.first().is_none_or(enough) {
        return;
    }
    let named = |rival: &ScoredPair| rival.evidence.name >= 0.85 && enough(rival);
    if let Some(at) = rivals.iter().position(named) {
        rivals.swap(0, at);
    }
}

/// Prefers a table of the child's own module over a best candidate in another module, if it
/// contains all values and its name matches as well.
///
/// Returns whether it did.
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
    let least = (first.evidence.name - 0.15).max(0.78);
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

/// Prefers the owner of a borrowed key: `payment.order_id` means `order.id`, not the unique
/// `invoice.order_id` that also refers there.
///
/// Returns whether it did.
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
        // The same rows in another layer: the copy in the column's own layer is meant.
        return false;
    }
    let named = first.evidence.name - 0.15;
    let place = rivals
        .iter()
        .position(|rival| rival.parent == *owner && rival.evidence.name >= named);
    if let Some(at) = place.filter(|at| rivals.get(*at).is_some_and(|rival| rival.odds > 0.0)) {
        rivals.swap(0, at);
        return at > 0;
    }
    false
}

/// Prefers a table whose key is a subset of another's, such as employees among persons, if all of
/// many values are in that subset: that is not a coincidence.
///
/// Returns whether it did.
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
        let named = first.evidence.name >= 0.4;
        let covered = first.evidence.coverage;
        let fits = |rival: &ScoredPair| {
            let part = rival.parent;
            // A table with a row for each value of the column was derived from it, unless the
            // column's table is named after it.
            let used_up = size(child) >= size(part) && !extends(facts, child, part);
            let primary = facts
                .table(part.table)
                .is_some_and(|table| table.primary == Some(part.column));
            let share = ratio(size(part), size(whole));
            primary
                && !used_up
                && !is_kind_of(facts, part, whole)
                && leads.get(&part) == Some(&whole)
                && (part.table != child.table || leads_own(child))
                && rival.odds > 0.0
                && rival.evidence.coverage == covered
                && (!named || rival.evidence.name >= 0.4)
                && share > 0.0
                && -share.ln() * ratio(drawn, 1) >= CHANCE
        };
        let Some(at) = rivals.iter().skip(1).position(fits) else {
            break;
        };
        rivals.swap(0, at + 1);
        preferred = true;
    }
    preferred
}

/// Returns whether a table's name ends with another's: it repeats some of its rows, and
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
    own.name.words.len() > other.len() && start.is_some_and(|start| start == other)
}

/// Raises the odds of columns that share a name with columns that surely refer to a key: such
/// columns mostly mean one thing.
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
                rival.odds += 1.3;
                rival
                    .reasons
                    .push("columns of this name refer there in other tables".to_owned());
            }
        }
    }
}

fn status_of(facts: &Facts<'_>, winner: &ScoredPair, settings: &RelationshipSettings) -> Status {
    let likelihood = winner.likelihood();
    let unconfirmed = match winner.check {
        // Joins from past queries or context sources replace the missing comparison.
        Check::None => settings.validation_required == Switch::On && !winner.evidence.is_backed(),
        // Above 1, the table extends another; only values can tell whether both number the same
        // rows.
        Check::Empty => {
            let name = winner.evidence.name;
            let family = |at: ColumnId| facts.column(at).map(|column| column.family);
            let same_type = family(winner.child) == family(winner.parent);
            let is_named = same_type && (0.9..=1.0).contains(&name);
            !is_named && !winner.evidence.is_backed()
        }
        Check::Complete | Check::Probed => false,
    };
    // A join does not match values that only a person would see as equal. Accept no more such
    // misses than missing values.
    let found = winner.evidence.row_coverage;
    let missed = winner.evidence.loose_row_coverage.is_some()
        && found.is_some_and(|found| found < LEAST_COVERAGE);
    if likelihood >= settings.accept_threshold && !unconfirmed && !missed {
        Status::Accepted
    } else if likelihood >= settings.review_threshold {
        Status::Review
    } else {
        Status::Rejected
    }
}

fn is_tied(facts: &Facts<'_>, rivals: &[ScoredPair]) -> bool {
    let [first, second, ..] = rivals else {
        return false;
    };
    (first.rank() - second.rank()).abs() < TIE
        && first.parent.table != second.parent.table
        && facts
            .table(first.parent.table)
            .map(|table| table.name.layer)
            == facts
                .table(second.parent.table)
                .map(|table| table.name.layer)
}

/// If two columns refer to each other, drops the less likely reference.
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

pub(crate) fn link_of(facts: &Facts<'_>, scored: &ScoredPair, status: Status) -> Link {
    let origin = match &scored.evidence {
        evidence if evidence.queries > 0 => Origin::Queries,
        evidence if evidence.stated => Origin::Stated,
        evidence if evidence.name >= 0.4 => Origin::Names,
        _ => Origin::Values,
    };
    Link {
        from: endpoint(facts, scored.child),
        to: endpoint(facts, scored.parent),
        status,
        origin,
        cardinality: cardinality(facts, scored.child),
        score: scored.likelihood(),
        key_score: facts.column(scored.parent).map_or(0.0, |column| column.key),
        evidence: scored.evidence.clone(),
        check: scored.check,
        reasons: scored.reasons.clone(),
    }
}

fn cardinality(facts: &Facts<'_>, child: ColumnId) -> Cardinality {
    let whole = facts
        .table(child.table)
        .is_some_and(super::facts::TableFacts::is_whole);
    let declared = facts.table(child.table).is_some_and(|table| {
        let name = facts.column(child).map(|column| &column.column.name);
        table.table.primary_key.len() == 1 && table.table.primary_key.first() == name
    });
    let unique = facts
        .column(child)
        .and_then(|column| column.profile)
        .is_some_and(|profile| profile.values > 1 && profile.distinct == profile.values);
    if declared || (whole && unique) {
        Cardinality::OneToOne
    } else {
        Cardinality::ManyToOne
    }
}

pub(crate) fn endpoint(facts: &Facts<'_>, at: ColumnId) -> Endpoint {
    let table = facts.table(at.table).map(|table| table.table.table.clone());
    let column = facts.column(at).map(|column| column.column.name.clone());
    Endpoint {
        table: table.unwrap_or_else(|| ktx_vocabulary::TableRef::bare("")),
        columns: column.into_iter().collect(),
    }
}
