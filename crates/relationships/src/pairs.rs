//! Scores the candidates of every column.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;

use crate::candidates::{Candidates, collect};
use crate::facts::Facts;
use crate::links::decisions::Decisions;
use crate::links::link::{Check, Link, Status};
use crate::profile::sketch::Containment;
use crate::profile::value::sentinel_hashes;
use crate::score::{ScoredPair, score};
use crate::settings::RelationshipSettings;
use crate::types::ColumnId;
use crate::weights as w;

/// The larger of two equal keys is likelier.
fn lent(facts: &Facts<'_>, mut found: ScoredPair, owner: ColumnId) -> ScoredPair {
    found.odds += w::LENT.get();
    found.reasons.push(format!(
        "its keys are a part of those of `{}`",
        facts.endpoint(owner)
    ));
    found
}

/// Leaves out declared and rejected links.
pub fn score_pairs(
    facts: &Facts<'_>,
    settings: &RelationshipSettings,
    decisions: &Decisions,
    formal: &[Link],
) -> Vec<ScoredPair> {
    let settled: BTreeSet<(&TableRef, &str)> = formal
        .iter()
        .filter(|link| link.status == Status::Accepted)
        .flat_map(|link| {
            link.from
                .columns
                .iter()
                .map(|column| (&link.from.table, column.as_str()))
        })
        .collect();
    let Candidates {
        of,
        containers,
        borrowed,
    } = collect(facts, settings.max_candidates_per_column);
    let ignored = sentinel_hashes();
    let mut scored = Vec::new();
    for (child, parents) in of {
        let from = facts.endpoint(child);
        let column = from.columns.first().map(String::as_str).unwrap_or_default();
        if settled.contains(&(&from.table, column)) {
            continue;
        }
        let held = containers.get(&child).copied().unwrap_or(0);
        for parent in &parents {
            let parent = *parent;
            if !decisions.rejected.is_empty()
                && decisions
                    .rejection(&from, &facts.endpoint(parent))
                    .is_some()
            {
                continue;
            }
            let owner = borrowed
                .get(&parent)
                .filter(|owner| parents.contains(owner));
            let found = score(facts, (child, parent), held, &ignored, None);
            scored.extend(found.map(|found| match owner {
                Some(owner) if found.evidence.name < w::VAGUE.get() => lent(facts, found, *owner),
                _ => found,
            }));
        }
    }
    scored
}

/// Returns the best unchecked parents of each column and the pairs that need no check; drops other
/// unchecked parents.
pub fn unchecked(
    facts: &Facts<'_>,
    scored: Vec<ScoredPair>,
    settings: &RelationshipSettings,
) -> (Vec<ScoredPair>, Vec<ScoredPair>) {
    let least = settings.review_threshold / 2.0;
    let (mut open, closed): (Vec<ScoredPair>, Vec<ScoredPair>) =
        scored.into_iter().partition(|candidate| {
            let parent_has_rows = facts
                .column(candidate.parent)
                .and_then(|column| column.profile)
                .is_some();
            candidate.check == Check::None && candidate.likelihood() >= least && parent_has_rows
        });
    open.sort_by(|left, right| {
        right
            .odds
            .total_cmp(&left.odds)
            .then((left.child, left.parent).cmp(&(right.child, right.parent)))
    });
    let mut per_child: BTreeMap<ColumnId, usize> = BTreeMap::new();
    open.retain(|candidate| {
        let tried = per_child.entry(candidate.child).or_insert(0);
        *tried += 1;
        *tried <= w::CHECKED_PARENTS.size()
    });
    (open, closed)
}

pub fn rescore(facts: &Facts<'_>, pair: &ScoredPair, contained: Containment) -> Option<ScoredPair> {
    let columns = (pair.child, pair.parent);
    score(facts, columns, 1, &sentinel_hashes(), Some(contained))
}

/// Records that the warehouse joins values that differ only in case or padding.
pub fn note_spelling(pair: &mut ScoredPair, share: f64) {
    let loose = pair.evidence.loose_row_coverage;
    if loose.is_some_and(|loose| share >= loose - w::LOOSE_JOIN.get()) {
        pair.evidence.coverage = Some(share);
        pair.evidence.row_coverage = loose;
        pair.evidence.loose_row_coverage = None;
        pair.reasons.push(
            "the warehouse takes no notice of case, padding and leading zeros here".to_owned(),
        );
    }
}
