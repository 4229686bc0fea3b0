//! Checks open links in the warehouse.

use std::collections::BTreeSet;

use ktx_relationships::links::link::Link;
use ktx_relationships::profile::sketch::ratio;
use ktx_relationships::types::ColumnId;
use ktx_relationships::{
    Counts, Facts, Proposal, ScoredPair, judge, note_spelling, propose, rescore, settle_groups,
    single_links, unchecked,
};
use ktx_sql::Dialect;

use crate::relationships::probe::{ProbePlan, Prober, Question, contained};
use crate::request::{ScanError, ScanRequest};

/// Likeliest parents first.
pub(crate) async fn probe(
    facts: &Facts<'_>,
    request: &ScanRequest,
    scored: Vec<ScoredPair>,
    prober: &mut Prober<'_>,
) -> Result<Vec<ScoredPair>, ScanError> {
    let (asked, mut checked) = unchecked(facts, scored, &request.settings.relationships);
    let mut open: Vec<(ScoredPair, usize)> = Vec::new();
    let mut questions: Vec<Question> = Vec::new();
    let rescored = |candidate: &ScoredPair, counts: Counts, compared: usize| {
        rescore(facts, candidate, contained(counts, compared))
    };
    for candidate in asked {
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

/// Checks values that differ only in case or padding, which many warehouses do not distinguish.
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
        note_spelling(link, ratio(found, compared));
    }
    Ok(())
}

/// Returns whether comparing a text with a number compares numbers and never fails.
const fn reads_numbers_in_texts(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Sqlite | Dialect::MySql | Dialect::MariaDb)
}

pub(crate) async fn add_composites(
    facts: &Facts<'_>,
    inferred: &mut Vec<Link>,
    formal: &[Link],
    prober: &mut Prober<'_>,
) -> Result<(), ScanError> {
    let single = single_links(facts, inferred.iter().chain(formal));
    let declared: BTreeSet<String> = formal.iter().map(Link::id).collect();
    let mut found: Vec<Link> = Vec::new();
    for (proposal, counts) in ask_all(facts, propose(facts, &single), prober).await? {
        let mut link = judge(facts, &proposal, counts);
        if let Some(link) = link.as_mut().filter(|_| counts.is_none()) {
            link.reasons.push(prober.why_unasked().to_owned());
        }
        found.extend(link.filter(|link| !declared.contains(&link.id())));
    }
    settle_groups(facts, &mut found);
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
