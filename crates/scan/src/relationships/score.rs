//! Estimates how likely one column refers to another, as a sum of log odds.
//!
//! Numbers from 1 to n occur in every key column, so there names must decide; values that only one
//! key contains are evidence by themselves. The weights follow from how distinctive each
//! observation is; they are not fitted to any schema.

mod beside;
pub(crate) mod chance;
mod compared;
mod names;
mod shared_key;
mod structure;
mod validity;
mod values;

use crate::profile::ColumnProfile;
use crate::profile::sketch::{Containment, ratio};
use crate::relationships::entity::{Copy, KeyMark, entity_match};
use crate::relationships::facts::{ColumnFacts, Facts, TableFacts};
use crate::relationships::fit::{Fit, robust_range, spread};
use crate::relationships::link::{Check, Evidence};
use crate::relationships::score::chance::{UNLIKELY, by_chance, surprise};
use crate::relationships::score::compared::{Comparison, measured_on, measured_rows};
use crate::relationships::score::names::{calls_other, name_evidence};
use crate::relationships::score::shared_key::shares_key;
use crate::relationships::score::structure::structure;
use crate::relationships::score::validity::bounds_validity;
use crate::relationships::score::values::{
    dense_odds, least, remote_odds, same_set, telling, used_codes,
};
use crate::types::ColumnId;
use crate::types::TypeFamily;

/// Minimum share of matching values; below it, two columns are unrelated.
pub(crate) const LEAST_COVERAGE: f64 = 0.8;

/// Minimum likeness of names for a column to name a key.
pub(crate) const NAMED: f64 = 0.78;

/// Log odds of a tested statement: as much as a join that people run every day.
const STATED: f64 = 5.0;
/// Log odds of a date column whose days are in a list of days.
const DAY_IN_LIST: f64 = 2.6;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredPair {
    pub child: ColumnId,
    pub parent: ColumnId,
    pub odds: f64,
    /// The part of the odds from the fit of number ranges; used when several keys compete.
    pub fit: Option<Fit>,
    /// The part of the fit beyond what a named link can lose by it; counts among rivals only.
    pub strain: f64,
    pub evidence: Evidence,
    pub check: Check,
    pub reasons: Vec<String>,
    /// Whether the candidate is only reported because another column of the parent's table is
    /// meant.
    pub barred: bool,
}

impl ScoredPair {
    /// Returns the log odds for comparing rivals of one column.
    pub(crate) fn rank(&self) -> f64 {
        self.odds + self.strain
    }

    pub(crate) fn likelihood(&self) -> f64 {
        1.0 / (1.0 + (-self.odds).exp())
    }
}

#[derive(Clone, Copy)]
struct Pair<'f> {
    child: &'f ColumnFacts<'f>,
    parent: &'f ColumnFacts<'f>,
    from: &'f TableFacts<'f>,
    to: &'f TableFacts<'f>,
    is_primary: bool,
    is_self: bool,
    /// Whether the child's words name another table, although child and parent are in the same
    /// table.
    calls_other: bool,
    facts: &'f Facts<'f>,
    backing: OutsideEvidence,
}

/// Outside evidence that the two belong together.
#[derive(Clone, Copy)]
struct OutsideEvidence {
    queries: u64,
    stated: bool,
}

impl Pair<'_> {
    const fn is_backed(&self) -> bool {
        self.backing.queries > 0 || self.backing.stated
    }
}

/// Compares two columns. Returns `None` if they cannot be linked.
pub(crate) fn score(
    facts: &Facts<'_>,
    (child_at, parent_at): (ColumnId, ColumnId),
    containers: usize,
    ignored: &[u64],
    probed: Option<Containment>,
) -> Option<ScoredPair> {
    let pair = Pair {
        child: facts.column(child_at)?,
        parent: facts.column(parent_at)?,
        from: facts.table(child_at.table)?,
        to: facts.table(parent_at.table)?,
        is_primary: facts.table(parent_at.table)?.primary == Some(parent_at.column),
        is_self: child_at.table == parent_at.table,
        calls_other: child_at.table == parent_at.table && calls_other(facts, child_at),
        facts,
        backing: OutsideEvidence {
            queries: facts.joins.runs(child_at, parent_at),
            stated: facts.joins.is_stated(child_at, parent_at),
        },
    };
    let own_primary = pair.from.primary == Some(child_at.column);
    let name = name_evidence(&pair, own_primary);
    if is_own_number(&pair, own_primary, name.score) {
        return None;
    }
    if pair.child.many_parents && name.score < 0.85 && !pair.is_backed() {
        return None;
    }
    if !pair.is_backed() && is_technical(&pair) {
        return None;
    }
    let days = pair.child.holds_days() && pair.parent.holds_days();
    if days && !may_be_day(&pair, own_primary, name.score) {
        return None;
    }
    let values = value_evidence(&pair, containers, ignored, probed, name.score)?;
    let mut reasons = vec![name.reason.clone()];
    reasons.extend(values.reasons);
    let mut odds = -2.2 + name.odds + values.odds;
    odds += structure(&pair, own_primary, name.score, &mut reasons);
    if let Some(coverage) = values
        .evidence
        .coverage
        .filter(|_| days && pair.parent.lists_days())
    {
        odds = odds.max(DAY_IN_LIST + missing_odds(coverage));
        reasons.push("the other table lists days".to_owned());
    }
    if name.score >= NAMED && counts_rows(&pair, values.fit) {
        odds -= 3.0;
        reasons.push("a plural without a key word rather counts rows".to_owned());
    }
    let (OutsideEvidence { queries, stated }, backed) = (pair.backing, pair.is_backed());
    if name.score > 1.0 && !backed && may_be_own_count(&pair, probed, ignored) {
        odds = odds.min(1.0);
        reasons.push("each of the two may count its own rows".to_owned());
    }
    if queries > 0 {
        odds += (3.0 + 0.5 * ratio(queries, 1).ln()).min(6.0);
        reasons.push(format!("past queries join them, {queries} runs"));
    }
    if stated {
        odds += STATED;
        reasons.push("a context source tests that its values are there".to_owned());
    }
    let flag = pair.child.profile.is_some_and(|profile| {
        profile.distinct <= 2
            && profile
                .range
                .is_some_and(|(low, high)| low >= 0 && high <= 1)
    });
    if flag && name.score < 0.85 && !backed {
        return None;
    }
    let beside = beside::column_beside(&pair, values.evidence.coverage, ignored);
    reasons.extend(beside.map(|column| {
        let table = &pair.to.table.table;
        format!(
            "`{table}.{}` is called like the column and holds its values, but repeats them",
            column.column.name
        )
    }));
    let bounds = days && bounds_validity(pair.from, pair.child);
    if bounds {
        reasons.push("the dates say how long the row is valid".to_owned());
    }
    Some(ScoredPair {
        barred: (beside.is_some() || bounds) && !backed,
        child: child_at,
        parent: parent_at,
        odds,
        fit: values.fit,
        strain: values.strain,
        evidence: Evidence {
            name: name.score,
            queries,
            stated,
            ..values.evidence
        },
        check: values.check,
        reasons,
    })
}

/// Returns whether nearly every table has the column, including the parent's: `etl_batch_id` says
/// how a row arrived, even if there is a table of other batches. Columns for a row's author or
/// owner are just as common.
fn is_technical(pair: &Pair<'_>) -> bool {
    let name = &pair.child.name;
    let own_role = name.has_self_role() || pair.child.part;
    let same = |table: &TableFacts<'_>| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.name.words == name.words && column.own < 1.0)
    };
    let longer = name.base().len() > pair.parent.name.base().len().max(pair.to.name.words.len());
    if own_role || !longer || !same(pair.to) {
        return false;
    }
    let tables = &pair.facts.tables;
    let having = tables.iter().filter(|table| same(table)).count();
    having >= 4 && having * 5 >= tables.len() * 4
}

/// Returns whether an integer column has a plural name, no key word and does not span the keys:
/// `customers.stores` is a count.
fn counts_rows(pair: &Pair<'_>, fit: Option<Fit>) -> bool {
    is_count(pair.child) && fit.is_some_and(|fit| fit.span < 0.97)
}

/// Returns whether a column has a plural name without a key word, and names no role.
pub(crate) fn is_count(column: &ColumnFacts<'_>) -> bool {
    let plural = |word: &String| {
        let singular = ["ss", "us", "is"].iter().any(|end| word.ends_with(end));
        word.len() >= 4 && word.ends_with('s') && !singular
    };
    let name = &column.name;
    name.mark == KeyMark::None
        && !(name.has_self_role() || column.part)
        && name.words.last().is_some_and(plural)
}

/// Returns whether a date column may be a reference: to a list of days, or because its name and
/// place say so.
fn may_be_day(pair: &Pair<'_>, own_primary: bool, name: f64) -> bool {
    let same_layer = pair.from.name.layer == pair.to.name.layer;
    let listed = pair.parent.lists_days() && !pair.child.lists_days() && same_layer;
    listed || pair.is_backed() || (name >= NAMED && !own_primary)
}

/// Returns whether the child numbers the rows of its own table and so refers to nothing.
fn is_own_number(pair: &Pair<'_>, own_primary: bool, name: f64) -> bool {
    let named = pair.child.own >= 0.7;
    if (pair.from.name.satellite && !pair.to.name.satellite) || is_log_of(pair) {
        return false;
    }
    if pair.is_backed() {
        return own_primary && named && (pair.child.own >= name || names_same_entity(pair));
    }
    let unique = pair
        .child
        .profile
        .is_some_and(|child| child.values > 2 && child.uniqueness() >= 0.999);
    let distinct = |column: &ColumnFacts<'_>| column.profile.map_or(0, |profile| profile.distinct);
    let (own, other) = (distinct(pair.child), distinct(pair.parent));
    if own_primary && unique && own > other {
        // If the other table lacks some of its keys, that table is rather the one that refers.
        return true;
    }
    if pair.is_self && unique && own * 10 >= other * 9 {
        // A second number of the same rows.
        return true;
    }
    let layers = (pair.from.name.layer, pair.to.name.layer);
    let same_column = pair.child.name.words == pair.parent.name.words;
    let attribute = !pair.is_primary && same_column && names_same_entity(pair);
    if layers.0 != layers.1 && (attribute || (named && unique && pair.parent.own >= 0.7)) {
        // The same rows, carried from layer to layer.
        return true;
    }
    let dense =
        |column: &ColumnFacts<'_>| column.profile.is_some_and(ColumnProfile::is_dense_from_one);
    let numbered = dense(pair.child) && dense(pair.parent);
    if numbered && unique && !pair.is_primary && pair.parent.own < 0.7 {
        // Each column numbers its own rows, next to their keys.
        return true;
    }
    let without_gaps =
        |column: &ColumnFacts<'_>| column.profile.is_some_and(ColumnProfile::is_dense);
    if own_primary && unique && !pair.child.name.telling && name < 0.4 {
        // Numbers without gaps that begin anywhere count their own rows.
        return without_gaps(pair.child) && without_gaps(pair.parent);
    }
    if !own_primary {
        // A second key of the own entity, next to a surrogate, does not have another table's name.
        return named && unique && name < 0.4;
    }
    if shares_key(pair) {
        return false;
    }
    // If each table counts its own rows, a name that many tables give their keys is not evidence.
    let common = numbered && pair.parent.own < 0.7;
    common || (named && (numbered || pair.child.own >= name || names_same_entity(pair)))
}

/// Returns whether the child's table logs rows of the parent's: its name says history or similar,
/// and it repeats none of their columns except the key. Then it is not a copy.
fn is_log_of(pair: &Pair<'_>) -> bool {
    let (own, other) = (&pair.from.name, &pair.to.name);
    let named = !pair.child.name.is_bare_key() && pair.is_primary && names_same_entity(pair);
    let has = |name: &str| {
        let mut columns = pair.to.columns.iter();
        columns.any(|column| column.column.name.eq_ignore_ascii_case(name))
    };
    let shares = pair.from.columns.iter().any(|column| {
        column.column.name != pair.child.column.name
            && !column.name.is_bare_key()
            && has(&column.column.name)
    });
    own.copy == Copy::Copy && other.copy == Copy::Original && named && !shares
}

fn names_same_entity(pair: &Pair<'_>) -> bool {
    entity_match(&pair.from.name.words, &pair.to.name.words) >= 0.95
}

struct ValueEvidence {
    odds: f64,
    fit: Option<Fit>,
    strain: f64,
    evidence: Evidence,
    check: Check,
    reasons: Vec<String>,
}

fn value_evidence(
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
    if coverage < LEAST_COVERAGE {
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
    let mut odds = missing_odds(coverage) - if contained.distinct < 0.4 { 0.8 } else { 0.0 };
    let distinct = ratio(contained.found as u64, 1);
    let mut strain = 0.0;
    let fit = if parent.is_dense_from_one() {
        let fit = spread(pair.child, pair.parent);
        if fit.is_none() && name < NAMED {
            // Texts that are numbers only without padding: containment in 1 to n is not evidence.
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
        let shared = ((1.0 + distinct).ln() * telling(pair, containers)).min(4.6);
        odds += by_chance(pair, &contained, (containers, name), shared);
        if let Some(spread) = spread(pair.child, pair.parent).filter(|_| parent.is_dense()) {
            let named = if name >= NAMED { 0.25 } else { 0.6 };
            odds += joined(
                pair,
                (spread.log_likelihood() * named).max(least(pair, spread, name)),
            );
        }
        odds += remote_odds(pair, containers);
        odds += same_set(pair, &contained, containers);
        odds += used_codes(pair);
        if containers > 1 {
            odds -= ratio(containers as u64, 1).ln() * 0.7;
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

/// Returns whether the key of a table that extends another's name may match by coincidence, because
/// each table counts its own rows.
fn may_be_own_count(pair: &Pair<'_>, probed: Option<Containment>, ignored: &[u64]) -> bool {
    let (Some(child), Some(parent)) = (pair.child.profile, pair.parent.profile) else {
        return false;
    };
    let contained = probed.or_else(|| child.sketch.containment_in(&parent.sketch, ignored));
    contained.is_some_and(|contained| {
        // A row that extends another cannot exist without it.
        contained.distinct < 0.98 || surprise(pair, &contained).is_some_and(|nats| nats < UNLIKELY)
    })
}

/// Ignores negative evidence from value distributions if the join is backed.
fn joined(pair: &Pair<'_>, odds: f64) -> f64 {
    if pair.is_backed() {
        odds.max(0.0)
    } else {
        odds
    }
}

/// Scores by names if there are no values to compare, with slightly lower odds.
fn unchecked(pair: &Pair<'_>, evidence: Evidence, check: Check) -> ValueEvidence {
    let same_family = pair.child.family == pair.parent.family;
    let reason = match check {
        Check::Empty => "there are no values to compare",
        _ => "the values could not be compared here",
    };
    ValueEvidence {
        odds: if same_family { -0.2 } else { -1.5 },
        fit: None,
        strain: 0.0,
        evidence,
        check,
        reasons: vec![reason.to_owned()],
    }
}

/// Returns whether the child's numbers are within the parent's range, as far as samples show.
fn ranges_meet(pair: &Pair<'_>) -> bool {
    let range = pair.parent.profile.and_then(ColumnProfile::key_range);
    match (robust_range(pair.child), range) {
        (Some((low, high)), Some((from, to))) => {
            let slack = to.saturating_sub(from) / 4;
            low >= from.saturating_sub(slack) && high <= to.saturating_add(slack)
        }
        (None, None) => true,
        _ => pair.child.family == TypeFamily::Text || pair.parent.family == TypeFamily::Text,
    }
}

/// Every percent of missing values costs the same.
fn missing_odds(coverage: f64) -> f64 {
    ((coverage - 0.995) * 11.5).min(0.0)
}
