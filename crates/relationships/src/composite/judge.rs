//! Decides the status of a multi-column link after the check in the warehouse.

use crate::profile::sketch::{Containment, ratio};
use crate::relationships::composite::own::{has_inner_number, has_own_column};
use crate::relationships::composite::{CONTAINED, NAMED, Proposal};
use crate::relationships::facts::Facts;
use crate::relationships::link::{Cardinality, Check, Endpoint, Evidence, Link, Origin, Status};
use crate::relationships::probe::Counts;
use crate::relationships::score::chance::nats;

/// Minimum share of matching value groups if names say nothing.
const UNNAMED_COVERAGE: f64 = 0.97;
/// Likeness of names from which the columns of two groups belong together without other evidence.
const WELL_NAMED: f64 = 0.9;
/// Surprise in nats that rules out chance: one in a million, because few groups are checked.
const SURE: f64 = 13.8;
/// The reason for holding back a link without telling names.
const BY_CHANCE: &str =
    "names do not tell which columns belong together, and the values may fit by chance";

/// The evidence that a group means a table in which nearly all possible groups exist.
#[derive(Clone, Copy)]
enum OwnerEvidence {
    ByName,
    /// A column that is not a year, line number or measure, and whose values the other table's rows
    /// repeat.
    ByNumber,
    Nothing,
}

impl OwnerEvidence {
    fn of(facts: &Facts<'_>, proposal: &Proposal) -> Self {
        let repeated = cardinality(facts, proposal) == Cardinality::ManyToOne;
        if has_own_column(facts, &proposal.parent) {
            Self::ByName
        } else if repeated && has_inner_number(facts, &proposal.parent) {
            Self::ByNumber
        } else {
            Self::Nothing
        }
    }

    const fn is_told(self) -> bool {
        !matches!(self, Self::Nothing)
    }

    const fn least(self) -> f64 {
        match self {
            Self::ByName => WELL_NAMED,
            Self::ByNumber | Self::Nothing => 1.0,
        }
    }
}

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
    let mut reasons = vec![reason_of(proposal)];
    let mut evidence = Evidence {
        name: if proposal.queries > 0 || proposal.chance.is_some() {
            0.0
        } else {
            proposal.name
        },
        queries: proposal.queries,
        stated: false,
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
                "{found} of {compared} value groups, asked in the warehouse, are keys of the other table"
            ));
            reasons.push(format!(
                "{:.0} % of all value groups exist there",
                proposal.density * 100.0
            ));
            let owned = OwnerEvidence::of(facts, proposal);
            let (score, status, held) = judged((coverage, compared), proposal, owned);
            reasons.extend(held.map(str::to_owned));
            (score, status, Check::Probed)
        }
    };
    Some(Link {
        from: side(&proposal.child)?,
        to: side(&proposal.parent)?,
        status,
        origin: match (proposal.queries, proposal.chance) {
            (1.., _) => Origin::Queries,
            (0, None) => Origin::Names,
            (0, Some(_)) => Origin::Values,
        },
        cardinality: cardinality(facts, proposal),
        score,
        key_score: 0.9,
        evidence,
        check,
        reasons,
    })
}

fn reason_of(proposal: &Proposal) -> String {
    match (proposal.queries, proposal.chance) {
        (0, None) => format!("the columns are named like the key ({:.2})", proposal.name),
        (0, Some(chance)) => format!(
            "by chance {:.0} % of the rows would have a key of the other table",
            chance * 100.0
        ),
        (runs, _) => format!("past queries join them, {runs} runs"),
    }
}

/// Returns the score, the status, and the reason if the link was held back.
fn judged(
    (coverage, compared): (f64, u64),
    proposal: &Proposal,
    owned: OwnerEvidence,
) -> (f64, Status, Option<&'static str>) {
    if coverage < CONTAINED || compared == 0 {
        let held = "too many value groups are missing there";
        return (coverage * 0.5, Status::Rejected, Some(held));
    }
    if let Some(chance) = proposal.chance {
        return judged_by_values((coverage, compared), chance);
    }
    let unnamed = proposal.queries == 0 && proposal.name < NAMED;
    if unnamed && (coverage < UNNAMED_COVERAGE || compared < 10 || proposal.density > 0.5) {
        return (0.55, Status::Review, Some(BY_CHANCE));
    }
    if proposal.queries == 0 && compared < 3 {
        return (
            0.6,
            Status::Review,
            Some("fewer than three value groups say nothing"),
        );
    }
    // If nearly all possible groups exist, every group matches, so a column that names the table
    // must support the link.
    let told = owned.is_told() && proposal.name >= owned.least() && coverage >= 0.995;
    if proposal.queries == 0 && proposal.density > 0.75 && !told {
        let held = "nearly every possible value group exists there, so that any would be found";
        return (0.6, Status::Review, Some(held));
    }
    let score = 0.7 + 0.28 * coverage * proposal.name.max(0.8);
    (score, Status::Accepted, None)
}

/// If names do not say which columns belong together, chance must be ruled out.
fn judged_by_values(
    (coverage, compared): (f64, u64),
    chance: f64,
) -> (f64, Status, Option<&'static str>) {
    let contained = Containment {
        compared: usize::try_from(compared).unwrap_or(usize::MAX),
        found: 0,
        distinct: coverage,
        rows: coverage,
    };
    let surprise = nats(&contained, chance);
    if coverage >= UNNAMED_COVERAGE && compared >= 10 && surprise >= SURE {
        (0.7 + 0.2 * coverage, Status::Accepted, None)
    } else if coverage >= UNNAMED_COVERAGE && surprise >= SURE / 2.0 {
        (0.55, Status::Review, Some(BY_CHANCE))
    } else {
        (coverage * 0.5, Status::Rejected, Some(BY_CHANCE))
    }
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
