//! Estimates how likely one column refers to another, as a sum of log odds.
//!
//! Numbers from 1 to n occur in every key, so there names must decide.

mod beside;
pub(crate) mod chance;
mod compared;
mod evidence;
mod names;
mod own;
mod shared_key;
mod structure;
mod validity;
mod values;

use crate::facts::fit::Fit;
use crate::facts::{ColumnFacts, Facts, TableFacts};
use crate::links::link::{Check, Evidence};
use crate::profile::sketch::{Containment, ratio};
use crate::score::evidence::{missing_odds, value_evidence};
use crate::score::names::{calls_other, name_evidence};
pub(crate) use crate::score::own::is_count;
use crate::score::own::{
    counts_rows, is_amount, is_own_number, is_technical, may_be_day, may_be_own_count,
};
use crate::score::structure::structure;
use crate::score::validity::bounds_validity;
use crate::types::ColumnId;
use crate::weights as w;

#[derive(Debug, Clone, PartialEq)]
pub struct ScoredPair {
    pub child: ColumnId,
    pub parent: ColumnId,
    pub odds: f64,
    /// Used when several keys compete.
    pub(crate) fit: Option<Fit>,
    /// Counts among rivals only.
    pub strain: f64,
    pub evidence: Evidence,
    pub check: Check,
    pub reasons: Vec<String>,
    /// Another column of the table is meant.
    pub barred: bool,
}

impl ScoredPair {
    /// Returns the log odds for comparing rivals of one column.
    pub fn rank(&self) -> f64 {
        self.odds + self.strain
    }

    pub fn likelihood(&self) -> f64 {
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
    /// True if the child's words name another table, although both columns are in one table.
    calls_other: bool,
    facts: &'f Facts<'f>,
    backing: OutsideEvidence,
}

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

/// Returns `None` if the columns cannot be linked.
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
    if pair.child.many_parents && name.score < w::CLEARLY_NAMED.get() && !pair.is_backed() {
        return None;
    }
    if !pair.is_backed() && (is_technical(&pair) || is_amount(&pair, name.score)) {
        return None;
    }
    let days = pair.child.holds_days() && pair.parent.holds_days();
    if days && !may_be_day(&pair, own_primary, name.score) {
        return None;
    }
    let values = value_evidence(&pair, containers, ignored, probed, name.score)?;
    let mut reasons = vec![name.reason.clone()];
    reasons.extend(values.reasons);
    let mut odds = w::PRIOR.get() + name.odds + values.odds;
    odds += structure(&pair, own_primary, name.score, &mut reasons);
    if let Some(coverage) = values
        .evidence
        .coverage
        .filter(|_| days && pair.parent.lists_days())
    {
        odds = odds.max(w::DAY_IN_LIST.get() + missing_odds(coverage));
        reasons.push("the other table lists days".to_owned());
    }
    if name.score >= w::NAMED.get() && counts_rows(&pair, values.fit) {
        odds += w::COUNTS_ROWS.get();
        reasons.push("a plural without a key word rather counts rows".to_owned());
    }
    let (OutsideEvidence { queries, stated }, backed) = (pair.backing, pair.is_backed());
    if name.score > 1.0 && !backed && may_be_own_count(&pair, probed, ignored) {
        odds = odds.min(w::DOUBTED.get());
        reasons.push("each of the two may count its own rows".to_owned());
    }
    if queries > 0 {
        odds += (w::QUERIES.get() + w::QUERIES_SLOPE.get() * ratio(queries, 1).ln())
            .min(w::QUERIES_MOST.get());
        reasons.push(format!("past queries join them, {queries} runs"));
    }
    if stated {
        odds += w::STATED.get();
        reasons.push("a context source tests that its values are there".to_owned());
    }
    let flag = pair.child.profile.is_some_and(|profile| {
        profile.distinct <= w::FLAG_VALUES.count()
            && profile
                .range
                .is_some_and(|(low, high)| low >= 0 && high <= 1)
    });
    if flag && name.score < w::CLEARLY_NAMED.get() && !backed {
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
