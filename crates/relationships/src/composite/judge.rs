//! Decides the status of a multi-column link after the check.

use crate::composite::own::{has_inner_number, has_own_column};
use crate::composite::{Counts, Proposal};
use crate::facts::Facts;
use crate::links::link::{Cardinality, Check, Endpoint, Evidence, Link, Origin, Status};
use crate::profile::sketch::{Containment, ratio};
use crate::score::chance::{nats, never_twice};
use crate::weights as w;

const BY_CHANCE: &str =
    "names do not tell which columns belong together, and the values may fit by chance";

/// The evidence for a table in which nearly all possible groups exist.
#[derive(Clone, Copy)]
enum OwnerEvidence {
    ByName,
    /// A column that is not a year, line number or measure, and whose values the other table
    /// repeats.
    ByNumber,
    /// Nothing, and the group is the key of its own rows: each table numbers its own parts of one thing.
    Siblings,
    Nothing,
}

impl OwnerEvidence {
    fn of(facts: &Facts<'_>, proposal: &Proposal) -> Self {
        let repeated = !is_unique(facts, proposal);
        if has_own_column(facts, &proposal.parent) {
            Self::ByName
        } else if repeated && has_inner_number(facts, &proposal.parent) {
            Self::ByNumber
        } else if !repeated {
            Self::Siblings
        } else {
            Self::Nothing
        }
    }

    const fn is_told(self) -> bool {
        matches!(self, Self::ByName | Self::ByNumber)
    }

    fn least(self) -> f64 {
        match self {
            Self::ByName => w::GROUP_WELL_NAMED.get(),
            _ => 1.0,
        }
    }
}

pub fn judge(facts: &Facts<'_>, proposal: &Proposal, count: Option<Counts>) -> Option<Link> {
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
            (w::GROUP_REVIEW.get(), Status::Review, Check::None)
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
        key_score: w::GROUP_KEY.get(),
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

fn judged(
    (coverage, compared): (f64, u64),
    proposal: &Proposal,
    owned: OwnerEvidence,
) -> (f64, Status, Option<&'static str>) {
    if coverage < w::GROUP_CONTAINED.get() || compared == 0 {
        let held = "too many value groups are missing there";
        return (
            coverage * w::GROUP_REJECTED.get(),
            Status::Rejected,
            Some(held),
        );
    }
    if let Some(chance) = proposal.chance {
        return judged_by_values((coverage, compared), chance);
    }
    let unnamed = proposal.queries == 0 && proposal.name < w::GROUP_NAMED.get();
    if unnamed
        && (coverage < w::GROUP_COVERAGE.get()
            || compared < w::GROUP_COMPARED.count()
            || proposal.density > w::GROUP_UNNAMED_DENSE.get())
    {
        return (w::GROUP_OPEN.get(), Status::Review, Some(BY_CHANCE));
    }
    if proposal.queries == 0 && compared < w::GROUP_FEWEST.count() {
        return (
            w::GROUP_REVIEW.get(),
            Status::Review,
            Some("fewer than three value groups say nothing"),
        );
    }
    let siblings = matches!(owned, OwnerEvidence::Siblings);
    if proposal.queries == 0 && siblings && coverage < w::GROUP_WHOLE.get() {
        let held = "each of the two tables may number its own rows";
        return (w::GROUP_REVIEW.get(), Status::Review, Some(held));
    }
    // If nearly all possible groups exist, every group matches, so a column that names the table
    // must support the link.
    let told =
        owned.is_told() && proposal.name >= owned.least() && coverage >= w::GROUP_WHOLE.get();
    if proposal.queries == 0 && proposal.density > w::GROUP_DENSE.get() && !told {
        let held = "nearly every possible value group exists there, so that any would be found";
        return (w::GROUP_REVIEW.get(), Status::Review, Some(held));
    }
    let score = w::GROUP_SCORE.get()
        + w::GROUP_SCORE_SLOPE.get() * coverage * proposal.name.max(w::GROUP_SCORE_NAME.get());
    (score, Status::Accepted, None)
}

/// Without telling names, chance must be ruled out.
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
    if coverage >= w::GROUP_COVERAGE.get()
        && compared >= w::GROUP_COMPARED.count()
        && surprise >= w::GROUP_SURE.get()
    {
        (
            w::GROUP_SCORE.get() + w::GROUP_SCORE_VALUES.get() * coverage,
            Status::Accepted,
            None,
        )
    } else if coverage >= w::GROUP_COVERAGE.get() && surprise >= w::GROUP_LIKELY.get() {
        (w::GROUP_OPEN.get(), Status::Review, Some(BY_CHANCE))
    } else {
        (
            coverage * w::GROUP_REJECTED.get(),
            Status::Rejected,
            Some(BY_CHANCE),
        )
    }
}

fn cardinality(facts: &Facts<'_>, proposal: &Proposal) -> Cardinality {
    let (table, columns) = &proposal.child;
    let Some(table) = facts.table(*table) else {
        return Cardinality::ManyToOne;
    };
    let place = |name: &String| {
        let mut names = table.columns.iter();
        names.position(|column| column.column.name == *name)
    };
    let declared: Vec<usize> = table.table.primary_key.iter().filter_map(place).collect();
    let is_declared =
        !declared.is_empty() && declared.iter().all(|column| columns.contains(column));
    let is_seen = table.is_whole() && is_unique(facts, proposal) && is_no_chance(facts, proposal);
    if is_declared || is_seen {
        Cardinality::OneToOne
    } else {
        Cardinality::ManyToOne
    }
}

/// A few rows can lack a repeated group by chance.
fn is_no_chance(facts: &Facts<'_>, proposal: &Proposal) -> bool {
    let rows = |at: usize| {
        let table = facts.table(at);
        table
            .and_then(|table| table.profile)
            .map_or(0, |profile| profile.rows_read)
    };
    let (child, parent) = (proposal.child.0, proposal.parent.0);
    never_twice(rows(child), rows(parent)) >= w::EXCLUDED.get()
}

fn is_unique(facts: &Facts<'_>, proposal: &Proposal) -> bool {
    let (table, columns) = &proposal.child;
    let profile = facts.table(*table).and_then(|table| table.profile);
    profile.is_some_and(|profile| {
        let mut groups = profile.groups.iter();
        groups.any(|group| group.iter().all(|column| columns.contains(column)))
    })
}
