//! Turns a chosen pair into a link.

use crate::facts::Facts;
use crate::links::link::{Cardinality, Check, Link, Origin, Status};
use crate::names::entity::Copy;
use crate::score::ScoredPair;
use crate::score::chance::never_twice;
use crate::settings::{RelationshipSettings, Switch};
use crate::types::ColumnId;
use crate::weights as w;

pub(super) fn status_of(
    facts: &Facts<'_>,
    winner: &ScoredPair,
    settings: &RelationshipSettings,
) -> Status {
    let likelihood = winner.likelihood();
    let unconfirmed = match winner.check {
        // Past joins and stated references replace the comparison.
        Check::None => settings.validation_required == Switch::On && !winner.evidence.is_backed(),
        // Above 1, only values can show whether both tables number the same rows.
        Check::Empty => {
            let name = winner.evidence.name;
            let family = |at: ColumnId| facts.column(at).map(|column| column.family);
            let same_type = family(winner.child) == family(winner.parent);
            let is_named = same_type && (w::EMPTY_NAMED.get()..=1.0).contains(&name);
            !is_named && !winner.evidence.is_backed()
        }
        Check::Complete | Check::Probed => false,
    };
    // A join misses values that only a person sees as equal.
    let found = winner.evidence.row_coverage;
    let missed = winner.evidence.loose_row_coverage.is_some()
        && found.is_some_and(|found| found < w::COVERAGE.get());
    if likelihood >= settings.accept_threshold && !unconfirmed && !missed {
        Status::Accepted
    } else if likelihood >= settings.review_threshold {
        Status::Review
    } else {
        Status::Rejected
    }
}

pub(crate) fn link_of(facts: &Facts<'_>, scored: &ScoredPair, status: Status) -> Link {
    let origin = match &scored.evidence {
        evidence if evidence.stated => Origin::Stated,
        evidence if evidence.queries > 0 => Origin::Queries,
        evidence if evidence.name >= w::VAGUE.get() => Origin::Names,
        _ => Origin::Values,
    };
    Link {
        from: facts.endpoint(scored.child),
        to: facts.endpoint(scored.parent),
        status,
        origin,
        cardinality: cardinality(facts, scored.child, scored.parent),
        score: scored.likelihood(),
        key_score: facts.column(scored.parent).map_or(0.0, |column| column.key),
        evidence: scored.evidence.clone(),
        check: scored.check,
        reasons: scored.reasons.clone(),
    }
}

fn cardinality(facts: &Facts<'_>, child: ColumnId, parent: ColumnId) -> Cardinality {
    // Views and copies are not looked up from their tables.
    let repeats = !facts.is_included(child)
        || facts
            .table(child.table)
            .is_some_and(|table| table.name.copy == Copy::Copy);
    if !repeats && is_own_key(facts, child, parent) {
        Cardinality::OneToOne
    } else {
        Cardinality::ManyToOne
    }
}

/// Few rows can lack repeated values by chance.
fn is_own_key(facts: &Facts<'_>, child: ColumnId, parent: ColumnId) -> bool {
    let (Some(table), Some(column)) = (facts.table(child.table), facts.column(child)) else {
        return false;
    };
    if table.table.primary_key.len() == 1
        && table.table.primary_key.first() == Some(&column.column.name)
    {
        return true;
    }
    let unique = column
        .profile
        .filter(|profile| profile.values > 1 && profile.distinct == profile.values);
    let Some(unique) = unique.filter(|_| table.is_whole()) else {
        return false;
    };
    let keys = facts
        .column(parent)
        .and_then(|column| column.profile)
        .map_or(0, |profile| profile.population);
    let is_named = table.primary == Some(child.column) && column.own >= w::OWN_NAME.get();
    is_named || never_twice(unique.distinct, keys) >= w::EXCLUDED.get()
}
