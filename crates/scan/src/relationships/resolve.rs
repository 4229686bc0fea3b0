//! Decides among competing candidates: one parent per column, no links in circles between two tables.

use std::collections::BTreeMap;

use crate::relationships::entity::KeyMark;
use crate::relationships::facts::{At, Facts};
use crate::relationships::link::{Cardinality, Check, Endpoint, Link, Origin, Status};
use crate::relationships::score::Scored;
use crate::settings::{RelationshipSettings, Switch};

/// Likelihood from which a losing or failing candidate is worth reporting.
const WORTH_TELLING: f64 = 0.2;
/// Difference of log odds below which two parents are equally good.
const TIE: f64 = 0.05;

/// Picks the best parent of each column.
pub(crate) fn resolve(
    facts: &Facts<'_>,
    mut scored: Vec<Scored>,
    settings: &RelationshipSettings,
) -> Vec<Link> {
    let mut by_child: BTreeMap<At, Vec<Scored>> = BTreeMap::new();
    for candidate in scored.drain(..) {
        by_child.entry(candidate.child).or_default().push(candidate);
    }
    for rivals in by_child.values_mut() {
        favour_sole_fit(facts, rivals);
        rivals.sort_by(|left, right| {
            right
                .odds
                .total_cmp(&left.odds)
                .then(left.parent.cmp(&right.parent))
        });
    }
    let leads: BTreeMap<At, At> = by_child
        .iter()
        .filter_map(|(child, rivals)| Some((*child, rivals.first()?.parent)))
        .collect();
    let mut links = Vec::new();
    let mut best: Vec<Scored> = Vec::new();
    for (_, mut rivals) in by_child {
        let owned = prefer_owner(&leads, &mut rivals);
        let tied = !owned && is_tied(facts, &rivals);
        let mut rivals = rivals.into_iter();
        if let Some(mut first) = rivals.next() {
            if tied {
                first.odds = first.odds.min(1.0);
                first
                    .reasons
                    .push("another table fits equally well".to_owned());
            }
            best.push(first);
        }
        for loser in rivals.filter(|loser| loser.likelihood() >= WORTH_TELLING) {
            let mut link = link_of(facts, &loser, Status::Rejected);
            link.reasons
                .push("another parent fits the column better".to_owned());
            links.push(link);
        }
    }
    break_circles(&mut best);
    for winner in &best {
        let status = status_of(winner, settings);
        if status != Status::Rejected || winner.likelihood() >= WORTH_TELLING {
            links.push(link_of(facts, winner, status));
        }
    }
    links
}

/// A key that is itself borrowed from another table yields to its owner: `payment.order_id` means
/// `order.id`, not the unique `invoice.order_id` that refers there too.
///
/// Says whether it did.
fn prefer_owner(leads: &BTreeMap<At, At>, rivals: &mut [Scored]) -> bool {
    let Some(first) = rivals.first() else {
        return false;
    };
    let Some(owner) = leads
        .get(&first.parent)
        .filter(|owner| **owner != first.child)
    else {
        return false;
    };
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

fn status_of(winner: &Scored, settings: &RelationshipSettings) -> Status {
    let likelihood = winner.likelihood();
    let unconfirmed = match winner.check {
        // Joins that people have run stand for the values that could not be compared.
        Check::None => settings.validation_required == Switch::On && winner.evidence.queries == 0,
        Check::Empty => winner.evidence.name < 0.9 && winner.evidence.queries == 0,
        Check::Complete | Check::Probed => false,
    };
    if likelihood >= settings.accept_threshold && !unconfirmed {
        Status::Accepted
    } else if likelihood >= settings.review_threshold {
        Status::Review
    } else {
        Status::Rejected
    }
}

/// When nothing is named and exactly one dense key has the size that the column's numbers ask for,
/// that says a lot for a column that is marked as a reference or whose name says nothing.
fn favour_sole_fit(facts: &Facts<'_>, rivals: &mut [Scored]) {
    if rivals.iter().any(|rival| rival.evidence.name >= 0.5) {
        return;
    }
    let weights: Vec<f64> = rivals
        .iter()
        .map(|rival| rival.fit.map_or(0.0, |fit| fit.log_likelihood().exp()))
        .collect();
    let total: f64 = weights.iter().sum();
    for (rival, weight) in rivals.iter_mut().zip(weights) {
        let (Some(fit), Some(column)) = (rival.fit, facts.column(rival.child)) else {
            continue;
        };
        if total <= 0.0 || weight / total < 0.9 || fit.distinct < 15 {
            continue;
        }
        let exact = fit.distinct >= 30 && fit.span >= 0.97;
        let bonus = match (column.name.mark, column.name.telling) {
            (KeyMark::Strong, _) => 1.9,
            (_, false) if exact => 2.4,
            (_, false) => 1.2,
            (KeyMark::Weak, true) => 0.8,
            (KeyMark::None, true) => 0.0,
        };
        if bonus > 0.0 {
            rival.odds += bonus;
            rival
                .reasons
                .push("no other table has keys of this size".to_owned());
        }
    }
}

fn is_tied(facts: &Facts<'_>, rivals: &[Scored]) -> bool {
    let [first, second, ..] = rivals else {
        return false;
    };
    first.odds - second.odds < TIE
        && first.parent.table != second.parent.table
        && facts
            .table(first.parent.table)
            .map(|table| table.name.layer)
            == facts
                .table(second.parent.table)
                .map(|table| table.name.layer)
}

/// Of two columns that each refer to the other, the less likely reference goes.
fn break_circles(best: &mut Vec<Scored>) {
    let chosen: BTreeMap<At, (At, f64)> = best
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

/// The link of a scored candidate.
pub(crate) fn link_of(facts: &Facts<'_>, scored: &Scored, status: Status) -> Link {
    let origin = match &scored.evidence {
        evidence if evidence.queries > 0 => Origin::Queries,
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

/// One to one where every value of the referring column stands in one row only.
fn cardinality(facts: &Facts<'_>, child: At) -> Cardinality {
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

/// One column as the side of a link.
pub(crate) fn endpoint(facts: &Facts<'_>, at: At) -> Endpoint {
    let table = facts.table(at.table).map(|table| table.table.table.clone());
    let column = facts.column(at).map(|column| column.column.name.clone());
    Endpoint {
        table: table.unwrap_or_else(|| ktx_vocabulary::TableRef::bare("")),
        columns: column.into_iter().collect(),
    }
}
