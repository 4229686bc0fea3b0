//! Scores how values support a link.

use crate::facts::fit::Fit;
use crate::names::entity::KeyMark;
use crate::profile::sketch::{Containment, ratio};
use crate::score::Pair;
use crate::score::shared_key::shares_key;
use crate::types::TypeFamily;
use crate::weights as w;

/// Counts do not cluster far from zero, but calendar years do.
pub(super) fn remote_odds(pair: &Pair<'_>, containers: usize) -> f64 {
    let (Some(parent), Some(child)) = (pair.parent.profile, pair.child.profile) else {
        return 0.0;
    };
    let (Some((low, high)), Some(_)) = (parent.range, child.range) else {
        return 0.0;
    };
    let size = high.saturating_sub(low).saturating_add(1).max(1);
    let years = low >= w::YEARS_FROM.signed() && high <= w::YEARS_TO.signed();
    if containers > 1
        || years
        || !parent.is_dense()
        || low <= size.saturating_mul(w::REMOTE.signed())
    {
        return 0.0;
    }
    (ratio(low.unsigned_abs(), size.unsigned_abs()).ln() * w::REMOTE_SLOPE.get())
        .min(w::REMOTE_MOST.get())
}

/// A UUID counts more than a number, a number more than a word.
pub(super) fn telling(pair: &Pair<'_>, containers: usize) -> f64 {
    let child = pair.child;
    let uuids = child.family == TypeFamily::Uuid
        || child
            .profile
            .is_some_and(|profile| profile.shape.uuid > w::UUIDS.get());
    match child.family {
        _ if uuids => w::SHARED_UUID.get(),
        // Longer texts match less often by chance.
        TypeFamily::Text if child.is_worded() && !child.looks_identifying() => {
            w::SHARED_WORDS.get()
        }
        TypeFamily::Text if !child.looks_identifying() => w::SHARED_TEXT.get(),
        TypeFamily::Text => w::SHARED_CODE.get(),
        _ if containers <= 1 => w::SHARED_SOLE.get(),
        _ => w::SHARED_NUMBER.get(),
    }
}

/// Returns a lower limit: named references often cover only part of the rows.
pub(super) fn least(pair: &Pair<'_>, fit: Fit, name: f64) -> f64 {
    // Small numbers can count something else.
    let part = name >= w::NAMED.get()
        && (fit.span >= w::PART_SPAN.get() || fit.start >= w::PART_START.get());
    match (is_lead(pair), part) {
        (true, _) => w::LEAD_LEAST.get(),
        (false, true) if pair.child.name.mark == KeyMark::Strong => w::PART_MARKED.get(),
        (false, true) => w::PART_NAMED.get(),
        (false, false) => w::PART_LEAST.get(),
    }
}

/// A list of codes with all keys in use.
pub(super) fn same_set(pair: &Pair<'_>, contained: &Containment, containers: usize) -> f64 {
    let (Some(child), Some(parent)) = (pair.child.profile, pair.parent.profile) else {
        return 0.0;
    };
    let whole = contained.found == contained.compared
        && ratio(child.distinct, parent.distinct) >= w::SET_USED.get()
        && child.distinct >= w::SET_CODES.count();
    let many = child.distinct >= w::SET_MANY.count() || pair.child.looks_identifying();
    let codes = pair.child.family == TypeFamily::Text && many;
    let repeated = child.values >= child.distinct.saturating_mul(w::SET_ROWS.count());
    if whole && codes && repeated && containers <= 1 {
        w::SET.get()
    } else {
        0.0
    }
}

/// A fully used list wins.
pub(super) fn used_codes(pair: &Pair<'_>) -> f64 {
    match (pair.child.profile, pair.parent.profile) {
        (Some(child), Some(parent))
            if pair.child.family == TypeFamily::Text
                && parent.distinct <= w::CODES_MOST.count() =>
        {
            w::CODES_USED.get() * ratio(child.distinct.min(parent.distinct), parent.distinct.max(1))
        }
        _ => 0.0,
    }
}

/// Returns whether the child names a superior or a person's role, or shares the key.
fn is_lead(pair: &Pair<'_>) -> bool {
    shares_key(pair)
        || (pair.child.name.has_self_role() && pair.is_self)
        || (pair.child.name.has_person_role() && pair.to.people)
}

/// Also returns the part beyond the lower limit.
pub(super) fn dense_odds(pair: &Pair<'_>, fit: Fit, name: f64) -> (f64, f64) {
    let bonus = match (fit.distinct, fit.span) {
        (distinct, span) if distinct >= w::FIT_MANY.count() && span > w::FIT_MANY_SPAN.get() => {
            w::FIT_MANY_ODDS.get()
        }
        (distinct, span) if distinct >= w::FIT_SOME.count() && span > w::FIT_SOME_SPAN.get() => {
            w::FIT_SOME_ODDS.get()
        }
        (distinct, span) if distinct >= w::FIT_FEW.count() && span > w::FIT_FEW_SPAN.get() => {
            w::FIT_FEW_ODDS.get()
        }
        (1, _) => w::FIT_ONE_ODDS.get(),
        _ => 0.0,
    };
    let named = if name >= w::NAMED.get() {
        w::SPREAD_NAMED.get()
    } else {
        w::SPREAD.get()
    };
    let full = (fit.log_likelihood() * named).max(w::SPREAD_LEAST.get());
    let kept = full.max(least(pair, fit, name));
    // References to leading rows are uneven for every rival.
    let beyond = if is_lead(pair) { 0.0 } else { full - kept };
    (bonus + kept, beyond)
}
