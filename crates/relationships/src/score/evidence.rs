//! Scores how values support a link.

use crate::facts::fit::{Fit, robust_range, spread};
use crate::links::link::{Check, Evidence};
use crate::profile::ColumnProfile;
use crate::profile::sketch::{Containment, ratio};
use crate::score::Pair;
use crate::score::chance::by_chance;
use crate::score::compared::{Comparison, measured_on, measured_rows};
use crate::score::values::{dense_odds, least, remote_odds, same_set, telling, used_codes};
use crate::types::TypeFamily;
use crate::weights as w;

pub(super) struct ValueEvidence {
    pub(super) odds: f64,
    pub(super) fit: Option<Fit>,
    pub(super) strain: f64,
    pub(super) evidence: Evidence,
    pub(super) check: Check,
    pub(super) reasons: Vec<String>,
}

pub(super) fn value_evidence(
    pair: &Pair<'_>,
    containers: usize,
    ignored: &[u64],
    probed: Option<Containment>,
    name: f64,
) -> Option<ValueEvidence> {
    let evidence = Evidence {
        uniqueness: pair.parent.profile.map(ColumnProfile::uniqueness),
        null_rate: pair.child.profile.map(ColumnProfile::null_rate),
        ..Evidence::default()
    };
    let (Some(child), Some(parent)) = (pair.child.profile, pair.parent.profile) else {
        return Some(unchecked(pair, evidence, Check::None));
    };
    if child.values == 0 {
        return Some(unchecked(
            pair,
            evidence,
            if pair.from.is_whole() {
                Check::Empty
            } else {
                Check::None
            },
        ));
    }
    let (compared, check) = match probed {
        Some(contained) => (Comparison::by_probe(contained), Check::Probed),
        None if !parent.sketch.complete => {
            return ranges_meet(pair).then(|| unchecked(pair, evidence, Check::None));
        }
        None => match Comparison::of(child, parent, ignored) {
            Some(compared) => (compared, Check::Complete),
            None => return Some(unchecked(pair, evidence, Check::Empty)),
        },
    };
    let contained = compared.meant;
    let coverage = contained.distinct.max(contained.rows);
    if coverage < w::COVERAGE.get() {
        return None;
    }
    let measured = measured_rows(check, child, pair.from);
    let evidence = Evidence {
        measured,
        coverage: Some(compared.exact.distinct),
        row_coverage: Some(compared.exact.rows),
        loose_row_coverage: compared.loose_rows(),
        compared: contained.compared,
        parent_share: Some(ratio(child.distinct.min(parent.distinct), parent.distinct)),
        ..evidence
    };
    let mut reasons = vec![format!(
        "{} of {} distinct values are keys of the other table ({})",
        contained.found,
        contained.compared,
        measured_on(&contained, measured)
    )];
    reasons.extend(compared.reason());
    let mut odds = missing_odds(coverage);
    if contained.distinct < w::FEW_DISTINCT.get() {
        odds += w::FEW_DISTINCT_ODDS.get();
    }
    let mut strain = 0.0;
    let fit = if parent.is_dense_from_one() {
        let fit = spread(pair.child, pair.parent);
        if fit.is_none() && name < w::NAMED.get() {
            // Texts that are numbers without padding are not evidence in 1 to n.
            return None;
        }
        fit
    } else {
        None
    };
    if let Some(fit) = fit {
        let dense = dense_odds(pair, fit, name);
        odds += joined(pair, dense.0);
        strain = joined(pair, dense.1);
        reasons.push(format!(
            "the keys are numbered without gaps and the column spans {:.0} % of them",
            fit.span * 100.0
        ));
    } else {
        odds += gap_odds(pair, &contained, containers, name);
        odds += remote_odds(pair, containers);
        odds += same_set(pair, &contained, containers);
        odds += used_codes(pair);
        if containers > 1 {
            odds -= ratio(containers as u64, 1).ln() * w::CONTAINERS.get();
            reasons.push(format!("keys of {containers} tables hold these values"));
        }
    }
    Some(ValueEvidence {
        odds,
        fit,
        strain,
        evidence,
        check,
        reasons,
    })
}

fn gap_odds(pair: &Pair<'_>, contained: &Containment, containers: usize, name: f64) -> f64 {
    let parent = pair.parent.profile;
    let distinct = ratio(contained.found as u64, 1);
    let shared = ((1.0 + distinct).ln() * telling(pair, containers)).min(w::SHARED_MOST.get());
    let by_chance = by_chance(pair, contained, (containers, name), shared);
    let spread = spread(pair.child, pair.parent);
    let Some(spread) = spread.filter(|_| parent.is_some_and(ColumnProfile::is_dense)) else {
        return by_chance;
    };
    let named = if name >= w::NAMED.get() {
        w::SPREAD_NAMED.get()
    } else {
        w::SPREAD_SPARSE.get()
    };
    let spread_odds = (spread.log_likelihood() * named).max(least(pair, spread, name));
    by_chance + joined(pair, spread_odds)
}

/// A backed join ignores negative evidence from value distributions.
fn joined(pair: &Pair<'_>, odds: f64) -> f64 {
    if pair.is_backed() {
        odds.max(0.0)
    } else {
        odds
    }
}

/// Scores by names, with slightly lower odds.
fn unchecked(pair: &Pair<'_>, evidence: Evidence, check: Check) -> ValueEvidence {
    let same_family = pair.child.family == pair.parent.family;
    let reason = match check {
        Check::Empty => "there are no values to compare",
        _ => "the values could not be compared here",
    };
    ValueEvidence {
        odds: if same_family {
            w::UNCOMPARED.get()
        } else {
            w::UNCOMPARED_TYPES.get()
        },
        fit: None,
        strain: 0.0,
        evidence,
        check,
        reasons: vec![reason.to_owned()],
    }
}

fn ranges_meet(pair: &Pair<'_>) -> bool {
    let range = pair.parent.profile.and_then(ColumnProfile::key_range);
    match (robust_range(pair.child), range) {
        (Some((low, high)), Some((from, to))) => {
            let slack = to.saturating_sub(from) / w::RANGE_SLACK.signed();
            low >= from.saturating_sub(slack) && high <= to.saturating_add(slack)
        }
        (None, None) => true,
        _ => pair.child.family == TypeFamily::Text || pair.parent.family == TypeFamily::Text,
    }
}

/// Every percent of missing values costs the same.
pub(super) fn missing_odds(coverage: f64) -> f64 {
    ((coverage - w::COVERAGE_WHOLE.get()) * w::COVERAGE_SLOPE.get()).min(0.0)
}
