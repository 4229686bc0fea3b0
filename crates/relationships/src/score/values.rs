//! Scores how the values of two columns support a link.

use crate::profile::sketch::{Containment, ratio};
use crate::relationships::entity::KeyMark;
use crate::relationships::fit::Fit;
use crate::relationships::score::shared_key::shares_key;
use crate::relationships::score::{NAMED, Pair};
use crate::types::TypeFamily;

/// Returns the odds for a column within a key whose numbers begin far from zero. Counts and
/// measures do not cluster there, but calendar years do.
pub(super) fn remote_odds(pair: &Pair<'_>, containers: usize) -> f64 {
    let (Some(parent), Some(child)) = (pair.parent.profile, pair.child.profile) else {
        return 0.0;
    };
    let (Some((low, high)), Some(_)) = (parent.range, child.range) else {
        return 0.0;
    };
    let size = high.saturating_sub(low).saturating_add(1).max(1);
    let years = low >= 1800 && high <= 2200;
    if containers > 1 || years || !parent.is_dense() || low <= size.saturating_mul(4) {
        return 0.0;
    }
    (ratio(low.unsigned_abs(), size.unsigned_abs()).ln() * 0.5).min(1.6)
}

/// Returns the weight of one shared value: a UUID counts more than a number, a number more than a
/// word.
pub(super) fn telling(pair: &Pair<'_>, containers: usize) -> f64 {
    let child = pair.child;
    let uuids = child.family == TypeFamily::Uuid
        || child
            .profile
            .is_some_and(|profile| profile.shape.uuid > 0.9);
    match child.family {
        _ if uuids => 1.7,
        // Texts of several words match by chance less often than texts of two words.
        TypeFamily::Text if child.is_worded() && !child.looks_identifying() => 0.8,
        TypeFamily::Text if !child.looks_identifying() => 0.55,
        TypeFamily::Text => 1.2,
        _ if containers <= 1 => 1.45,
        _ => 1.0,
    }
}

/// Returns the lower limit of the odds of an uneven distribution. Named references often cover only
/// part of the rows, and rows that lead others are few by nature.
pub(super) fn least(pair: &Pair<'_>, fit: Fit, name: f64) -> f64 {
    // Small numbers from the beginning of the key may count something else.
    let part = name >= NAMED && (fit.span >= 0.4 || fit.start >= 0.08);
    match (is_lead(pair), part) {
        (true, _) => -0.4,
        (false, true) if pair.child.name.mark == KeyMark::Strong => -0.9,
        (false, true) => -1.8,
        (false, false) => -3.0,
    }
}

/// Returns the odds if the values are all in the other table and use all of its keys: a list of
/// codes.
pub(super) fn same_set(pair: &Pair<'_>, contained: &Containment, containers: usize) -> f64 {
    let (Some(child), Some(parent)) = (pair.child.profile, pair.parent.profile) else {
        return 0.0;
    };
    let whole = contained.found == contained.compared
        && child.distinct * 10 >= parent.distinct * 9
        && child.distinct >= 5;
    let many = child.distinct >= 8 || pair.child.looks_identifying();
    let codes = pair.child.family == TypeFamily::Text && many;
    let repeated = child.values >= child.distinct.saturating_mul(2);
    if whole && codes && repeated && containers <= 1 {
        1.2
    } else {
        0.0
    }
}

/// Returns the odds for a short list of codes by the share that is used, so that a fully used list
/// wins.
pub(super) fn used_codes(pair: &Pair<'_>) -> f64 {
    match (pair.child.profile, pair.parent.profile) {
        (Some(child), Some(parent))
            if pair.child.family == TypeFamily::Text && parent.distinct <= 60 =>
        {
            0.3 * ratio(child.distinct.min(parent.distinct), parent.distinct.max(1))
        }
        _ => 0.0,
    }
}

/// Returns whether the child names a leading row, a parent or a person's role, or shares the key of
/// some rows.
fn is_lead(pair: &Pair<'_>) -> bool {
    shares_key(pair)
        || (pair.child.name.has_self_role() && pair.is_self)
        || (pair.child.name.has_person_role() && pair.to.people)
}

/// Returns the odds of a fit, and the part beyond the lower limit.
pub(super) fn dense_odds(pair: &Pair<'_>, fit: Fit, name: f64) -> (f64, f64) {
    let bonus = match (fit.distinct, fit.span) {
        (50.., share) if share > 0.96 => 1.15,
        (10.., share) if share > 0.85 => 0.8,
        (3.., share) if share > 0.7 => 0.3,
        (1, _) => -0.5,
        _ => 0.0,
    };
    let named = if name >= NAMED { 0.25 } else { 0.7 };
    let full = (fit.log_likelihood() * named).max(-6.0);
    let kept = full.max(least(pair, fit, name));
    // References to leading rows are uneven for every rival.
    let beyond = if is_lead(pair) { 0.0 } else { full - kept };
    (bonus + kept, beyond)
}
