//! Checks links in the warehouse that samples leave open, and multi-column links.

use std::collections::{BTreeMap, BTreeSet};

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;

use crate::profile::sketch::ratio;
use crate::profile::value::sentinel_hashes;
use crate::relationships::composite::{Proposal, judge, propose};
use crate::relationships::facts::Facts;
use crate::relationships::link::{Cardinality, Check, Endpoint, Link, Status};
use crate::relationships::probe::{Counts, ProbePlan, Prober, Question, contained};
use crate::relationships::score::{ScoredPair, score};
use crate::request::{ScanError, ScanRequest};
use crate::types::ColumnId;

const PARENTS: usize = 3;

/// Checks the best unchecked parents of each column, likeliest first.
pub(crate) async fn probe(
    facts: &Facts<'_>,
    request: &ScanRequest,
    scored: Vec<ScoredPair>,
    prober: &mut Prober<'_>,
) -> Result<Vec<ScoredPair>, ScanError> {
    let least = request.settings.relationships.review_threshold / 2.0;
    let (mut asked, mut checked): (Vec<ScoredPair>, Vec<ScoredPair>) =
        scored.into_iter().partition(|candidate| {
            let parent_has_rows = facts
                .column(candidate.parent)
                .and_then(|column| column.profile)
                .is_some();
            candidate.check == Check::None && candidate.likelihood() >= least && parent_has_rows
        });
    asked.sort_by(|left, right| {
        right
            .odds
            .total_cmp(&left.odds)
            .then((left.child, left.parent).cmp(&(right.child, right.parent)))
    });
    let ignored = sentinel_hashes();
    let mut per_child: BTreeMap<ColumnId, usize> = BTreeMap::new();
    let mut open: Vec<(ScoredPair, usize)> = Vec::new();
    let mut questions: Vec<Question> = Vec::new();
    let rescored = |candidate: &ScoredPair, counts: Counts, compared: usize| {
        let pair = (candidate.child, candidate.parent);
        score(facts, pair, 1, &ignored, Some(contained(counts, compared)))
    };
    for candidate in asked {
        let tried = per_child.entry(candidate.child).or_insert(0);
        *tried += 1;
        if *tried > PARENTS {
            continue;
        }
        match prober.values(facts, candidate.child, candidate.parent)? {
            (ProbePlan::Skip, _) => checked.push(candidate),
            (ProbePlan::Known(counts), compared) => {
                checked.extend(rescored(&candidate, counts, compared));
            }
            (ProbePlan::Ask(question), compared) => {
                open.push((candidate, compared));
                questions.push(question);
            }
        }
    }
    let answers = prober.ask(questions).await?;
    for ((candidate, compared), answer) in open.into_iter().zip(answers) {
        match answer {
            None => checked.push(candidate),
            Some(counts) => checked.extend(rescored(&candidate, counts, compared)),
        }
    }
    Ok(checked)
}

/// Checks whether the warehouse distinguishes values that differ only in case or padding. Many do
/// not, and there the join finds what a person would.
pub(crate) async fn compare_spellings(
    facts: &Facts<'_>,
    request: &ScanRequest,
    scored: &mut [ScoredPair],
    prober: &mut Prober<'_>,
) -> Result<(), ScanError> {
    let least = request.settings.relationships.review_threshold;
    let family = |at: ColumnId| facts.column(at).map(|column| column.family);
    let open: Vec<(usize, Proposal)> = scored
        .iter()
        .enumerate()
        .filter(|(_, link)| link.evidence.loose_row_coverage.is_some())
        .filter(|(_, link)| link.likelihood() >= least)
        .filter(|(_, link)| {
            reads_numbers_in_texts(request.connector.dialect())
                || family(link.child) == family(link.parent)
        })
        .map(|(at, link)| (at, Proposal::of_columns(link.child, link.parent)))
        .collect();
    let (places, proposals): (Vec<usize>, Vec<Proposal>) = open.into_iter().unzip();
    let answers = ask_all(facts, proposals, prober).await?;
    for (at, (_, counts)) in places.into_iter().zip(answers) {
        let Some((compared, found)) = counts.filter(|(compared, _)| *compared > 0) else {
            continue;
        };
        let Some(link) = scored.get_mut(at) else {
            continue;
        };
        let share = ratio(found, compared);
        let loose = link.evidence.loose_row_coverage;
        if loose.is_some_and(|loose| share >= loose - 0.01) {
            link.evidence.coverage = Some(share);
            link.evidence.row_coverage = loose;
            link.evidence.loose_row_coverage = None;
            link.reasons.push(
                "the warehouse takes no notice of case, padding and leading zeros here".to_owned(),
            );
        }
    }
    Ok(())
}

/// Returns whether comparing a text with a number compares numbers, and converts a non-numeric text
/// to some number instead of failing.
const fn reads_numbers_in_texts(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Sqlite | Dialect::MySql | Dialect::MariaDb)
}

pub(crate) async fn add_composites(
    facts: &Facts<'_>,
    inferred: &mut Vec<Link>,
    formal: &[Link],
    prober: &mut Prober<'_>,
) -> Result<(), ScanError> {
    let places = places(facts);
    let at = |side: &Endpoint| match side.columns.as_slice() {
        [column] => places.get(&(&side.table, column.as_str())).copied(),
        _ => None,
    };
    let single: BTreeMap<ColumnId, ColumnId> = inferred
        .iter()
        .chain(formal)
        .filter(|link| link.status == Status::Accepted)
        .filter_map(|link| Some((at(&link.from)?, at(&link.to)?)))
        .collect();
    let declared: BTreeSet<String> = formal.iter().map(Link::id).collect();
    let mut found: Vec<Link> = Vec::new();
    for (proposal, counts) in ask_all(facts, propose(facts, &single), prober).await? {
        let mut link = judge(facts, &proposal, counts);
        if let Some(link) = link.as_mut().filter(|_| counts.is_none()) {
            link.reasons.push(prober.why_unasked().to_owned());
        }
        found.extend(link.filter(|link| !declared.contains(&link.id())));
    }
    // Two tables with the same key groups contain each other's; at most the smaller one refers.
    let accepted: BTreeSet<(Endpoint, Endpoint)> = found
        .iter()
        .filter(|link| link.status == Status::Accepted)
        .map(|link| (link.from.clone(), link.to.clone()))
        .collect();
    for link in &mut found {
        if link.status == Status::Accepted
            && accepted.contains(&(link.to.clone(), link.from.clone()))
        {
            link.status = Status::Review;
            link.score = 0.6;
            link.reasons
                .push("each of the two tables holds the other's keys".to_owned());
        }
    }
    prefer_nested(facts, &mut found);
    best_composites(&mut found);
    inferred.extend(found);
    Ok(())
}

async fn ask_all(
    facts: &Facts<'_>,
    proposals: Vec<Proposal>,
    prober: &mut Prober<'_>,
) -> Result<Vec<(Proposal, Option<Counts>)>, ScanError> {
    let mut known: Vec<(Proposal, Option<Counts>)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut questions: Vec<Question> = Vec::new();
    for proposal in proposals {
        let counts = match prober.groups(facts, &proposal)? {
            ProbePlan::Skip => None,
            ProbePlan::Known(counts) => Some(counts),
            ProbePlan::Ask(question) => {
                open.push(known.len());
                questions.push(question);
                None
            }
        };
        known.push((proposal, counts));
    }
    for (at, answer) in open.into_iter().zip(prober.ask(questions).await?) {
        if let Some((_, counts)) = known.get_mut(at) {
            *counts = answer;
        }
    }
    Ok(known)
}

/// Prefers the nearer of two nested groups. If `offering` refers to `course` by two columns and a
/// table has all three columns of the key of `offering`, then the table refers to `offering`, even
/// if nearly all possible groups exist. It also refers to `course` if some rows lack the third
/// value.
fn prefer_nested(facts: &Facts<'_>, found: &mut [Link]) {
    let pairs = |link: &Link| -> BTreeSet<(String, String)> {
        let own = link.from.columns.iter().cloned();
        own.zip(link.to.columns.iter().cloned()).collect()
    };
    let leads: Vec<(TableRef, Endpoint)> = found
        .iter()
        .filter(|link| link.status == Status::Accepted)
        .map(|link| (link.from.table.clone(), link.to.clone()))
        .collect();
    let mut nearer: Vec<(usize, usize)> = Vec::new();
    for (wide_at, wide) in found.iter().enumerate() {
        let sure =
            wide.evidence.name >= 1.0 && wide.evidence.coverage.is_some_and(|share| share >= 1.0);
        let waits = wide.status == Status::Review && wide.cardinality == Cardinality::ManyToOne;
        if !(sure && (waits || wide.status == Status::Accepted)) {
            continue;
        }
        for (at, narrow) in found.iter().enumerate() {
            let through = leads.contains(&(wide.to.table.clone(), narrow.to.clone()));
            let within = narrow.from.table == wide.from.table
                && narrow.from.columns.len() < wide.from.columns.len()
                && pairs(narrow).is_subset(&pairs(wide));
            if through && within && narrow.status == Status::Accepted {
                nearer.push((wide_at, at));
            }
        }
    }
    for (wide, narrow) in nearer {
        let nearest = found
            .get(wide)
            .map(|link| (link.to.table.to_string(), facts.is_filled(&link.from)));
        let (table, covers_all) = nearest.unwrap_or_default();
        if let Some(link) = found
            .get_mut(wide)
            .filter(|link| link.status == Status::Review)
        {
            link.status = Status::Accepted;
            link.score = 0.9;
            link.reasons
                .push("its columns lead on to another table as those of the key do".to_owned());
        }
        if let Some(link) = found.get_mut(narrow).filter(|_| covers_all) {
            link.status = Status::Implied;
            link.reasons
                .push(format!("`{table}` is nearer and leads there"));
        }
    }
}

/// Keeps only the best of several composite links over the same columns of a table.
fn best_composites(found: &mut [Link]) {
    found.sort_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then_with(|| left.id().cmp(&right.id()))
    });
    let mut taken: BTreeSet<(TableRef, Vec<String>)> = BTreeSet::new();
    for link in found
        .iter_mut()
        .filter(|link| link.status == Status::Accepted)
    {
        let mut columns = link.from.columns.clone();
        columns.sort();
        if !taken.insert((link.from.table.clone(), columns)) {
            link.status = Status::Review;
            link.reasons
                .push("another table fits these columns better".to_owned());
        }
    }
}

fn places<'f>(facts: &'f Facts<'_>) -> BTreeMap<(&'f TableRef, &'f str), ColumnId> {
    let tables = facts.tables.iter().enumerate();
    tables
        .flat_map(|(table, facts)| {
            let place = &facts.table.table;
            facts
                .columns
                .iter()
                .enumerate()
                .map(move |(column, facts)| {
                    (
                        (place, facts.column.name.as_str()),
                        ColumnId { table, column },
                    )
                })
        })
        .collect()
}
