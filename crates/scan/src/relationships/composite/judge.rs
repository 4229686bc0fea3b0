//! What becomes of a link over several columns after the warehouse was asked.

use crate::profile::sketch::ratio;
use crate::relationships::composite::own::has_own_column;
use crate::relationships::composite::{CONTAINED, Proposal};
use crate::relationships::facts::Facts;
use crate::relationships::link::{Cardinality, Check, Endpoint, Evidence, Link, Origin, Status};
use crate::relationships::probe::Counts;

/// The share of value groups that must be there where names tell nothing.
const UNNAMED_COVERAGE: f64 = 0.97;
/// How alike the columns of two groups are whose names alone tell that they belong together.
const NAMED: f64 = 0.9;

/// The link of a proposal after the warehouse was asked.
pub(crate) fn judge(facts: &Facts<'_>, proposal: &Proposal, count: Option<Counts>) -> Option<Link> {
    let side = |(table, columns): &(usize, Vec<usize>)| {
        let facts = facts.table(*table)?;
        let names = columns
            .iter()
            .filter_map(|column| facts.columns.get(*column));
        Some(Endpoint {
            table: facts.table.table.clone(),
            columns: names.map(|column| column.column.name.clone()).collect(),
        })
    };
    let reason = match proposal.queries {
        0 => format!("the columns are named like the key ({:.2})", proposal.name),
        runs => format!("past queries join them, {runs} runs"),
    };
    let mut reasons = vec![reason];
    let mut evidence = Evidence {
        name: if proposal.queries > 0 {
            0.0
        } else {
            proposal.name
        },
        queries: proposal.queries,
        ..Evidence::default()
    };
    let (score, status, check) = match count {
        None => {
            reasons.push("the values were not compared".to_owned());
            (0.6, Status::Review, Check::None)
        }
        Some((compared, found)) => {
            let coverage = ratio(found, compared);
            evidence.coverage = Some(coverage);
            evidence.compared = usize::try_from(compared).unwrap_or(usize::MAX);
            reasons.push(format!(
                "{found} of {compared} value groups are keys of the other table"
            ));
            reasons.push(format!(
                "{:.0} % of all value groups exist there",
                proposal.density * 100.0
            ));
            let owned = has_own_column(facts, &proposal.parent);
            let (score, status, held) = judged((coverage, compared), proposal, owned);
            reasons.extend(held.map(str::to_owned));
            (score, status, Check::Probed)
        }
    };
    Some(Link {
        from: side(&proposal.child)?,
        to: side(&proposal.parent)?,
        status,
        origin: if proposal.queries > 0 {
            Origin::Queries
        } else {
            Origin::Names
        },
        cardinality: cardinality(facts, proposal),
        score,
        key_score: 0.9,
        evidence,
        check,
        reasons,
    })
}

/// The score, what becomes of the link, and what held it back.
fn judged(
    (coverage, compared): (f64, u64),
    proposal: &Proposal,
    owned: bool,
) -> (f64, Status, Option<&'static str>) {
    if coverage < CONTAINED || compared == 0 {
        let held = "too many value groups are missing there";
        return (coverage * 0.5, Status::Rejected, Some(held));
    }
    let unnamed = proposal.queries == 0 && proposal.name < 0.8;
    if unnamed && (coverage < UNNAMED_COVERAGE || compared < 10 || proposal.density > 0.5) {
        let held =
            "names do not tell which columns belong together, and the values may fit by chance";
        return (0.55, Status::Review, Some(held));
    }
    if proposal.queries == 0 && compared < 3 {
        return (
            0.6,
            Status::Review,
            Some("fewer than three value groups say nothing"),
        );
    }
    // Groups that are nearly all there hold any: then a column that names the table must speak for it.
    let told = owned && proposal.name >= NAMED && coverage >= 0.995;
    if proposal.queries == 0 && proposal.density > 0.75 && !told {
        let held = "nearly every possible value group exists there, so that any would be found";
        return (0.6, Status::Review, Some(held));
    }
    let score = 0.7 + 0.28 * coverage * proposal.name.max(0.8);
    (score, Status::Accepted, None)
}

fn cardinality(facts: &Facts<'_>, proposal: &Proposal) -> Cardinality {
    let (table, columns) = &proposal.child;
    let unique = facts
        .table(*table)
        .and_then(|table| table.profile)
        .is_some_and(|profile| {
            profile
                .groups
                .iter()
                .any(|group| group.iter().all(|column| columns.contains(column)))
        });
    if unique {
        Cardinality::OneToOne
    } else {
        Cardinality::ManyToOne
    }
}
