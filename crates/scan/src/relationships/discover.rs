//! Discovery from beginning to end.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, Table};

use crate::event::{ScanEvent, ScanStage};
use crate::profile::TableProfile;
use crate::profile::value::sentinel_hashes;
use crate::relationships::candidates::{Candidates, collect};
use crate::relationships::composite::{judge, propose};
use crate::relationships::decisions::{DecidedSide, Decision, Decisions};
use crate::relationships::facts::{At, Facts};
use crate::relationships::link::{Cardinality, Check, Endpoint, Evidence, Link, Origin, Status};
use crate::relationships::probe::Prober;
use crate::relationships::resolve::{endpoint, resolve};
use crate::relationships::score::{Scored, score};
use crate::relationships::{adjudicate, link};
use crate::request::{ScanError, ScanRequest};
use crate::settings::Switch;
use crate::stage_rows::StageRows;

/// What discovery gave.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// All links worth telling, sorted by their two sides.
    pub links: Vec<Link>,
    /// Candidates looked at.
    pub candidates: usize,
    /// Statements sent to check links.
    pub statements: usize,
    /// Calls of the model.
    pub model_calls: usize,
    /// What could not be done.
    pub warnings: Vec<ScanWarning>,
}

/// The links that the warehouse declares, composites whole.
pub(crate) fn formal_links(tables: &[Table]) -> Vec<Link> {
    let known: BTreeMap<&TableRef, &Table> =
        tables.iter().map(|table| (&table.table, table)).collect();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut links = Vec::new();
    for table in tables {
        for key in &table.foreign_keys {
            let from = Endpoint {
                table: table.table.clone(),
                columns: key.from_columns.clone(),
            };
            let to = Endpoint {
                table: key.to_table.clone(),
                columns: key.to_columns.clone(),
            };
            let target = known.get(&key.to_table);
            let exists = target.is_some_and(|target| {
                key.to_columns
                    .iter()
                    .all(|column| target.columns.iter().any(|known| known.name == *column))
            });
            let new = seen.insert(link::link_id(&from, &to));
            let (status, reason) = match (new, exists) {
                (true, true) => (Status::Accepted, "declared by the warehouse"),
                (true, false) => (Status::Skipped, "formal_metadata_endpoint_not_found"),
                (false, _) => (Status::Skipped, "formal_metadata_duplicate"),
            };
            let own: BTreeSet<&String> = key.from_columns.iter().collect();
            let whole_key = !table.primary_key.is_empty()
                && table.primary_key.iter().all(|column| own.contains(column));
            links.push(Link {
                from,
                to,
                status,
                origin: Origin::Formal,
                cardinality: if whole_key {
                    Cardinality::OneToOne
                } else {
                    Cardinality::ManyToOne
                },
                score: 1.0,
                key_score: 1.0,
                evidence: Evidence::default(),
                check: Check::None,
                reasons: vec![reason.to_owned()],
            });
        }
    }
    links
}

/// Finds the links between tables.
pub(crate) async fn discover(
    request: &ScanRequest,
    tables: &[Table],
    profiles: &BTreeMap<TableRef, TableProfile>,
    decisions: &Decisions,
    rows: &StageRows,
) -> Result<Discovery, ScanError> {
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Relationships,
        total: None,
    });
    let mut discovery = Discovery {
        links: formal_links(tables),
        ..Discovery::default()
    };
    if request.settings.relationships.discovery == Switch::On {
        let facts = Facts::gather(tables, profiles);
        let mut prober = Prober::new(request, rows, tables.len());
        let scored = candidates(&facts, request, decisions, &discovery.links);
        discovery.candidates = scored.len();
        let scored = probe(&facts, request, scored, &mut prober).await?;
        let mut inferred = resolve(&facts, scored, &request.settings.relationships);
        add_composites(&facts, &mut inferred, &discovery.links, &mut prober).await?;
        discovery.statements = prober.sent;
        discovery.warnings.append(&mut prober.warnings);
        discovery.links.append(&mut inferred);
        skip_implied(&mut discovery.links);
        adjudicate::adjudicate(request, &facts, rows, &mut discovery).await?;
    }
    apply_decisions(tables, decisions, &mut discovery);
    discovery
        .links
        .sort_by(|left, right| (&left.from, &left.to).cmp(&(&right.from, &right.to)));
    discovery
        .links
        .dedup_by(|later, earlier| later.id() == earlier.id() && later.origin != Origin::Formal);
    let count = |status: Status| {
        discovery
            .links
            .iter()
            .filter(|link| link.status == status)
            .count()
    };
    request.events.event(ScanEvent::RelationshipsFound {
        accepted: count(Status::Accepted),
        review: count(Status::Review),
        rejected: count(Status::Rejected),
    });
    Ok(discovery)
}

/// Scores every candidate pair that neither the warehouse nor a person has settled.
fn candidates(
    facts: &Facts<'_>,
    request: &ScanRequest,
    decisions: &Decisions,
    formal: &[Link],
) -> Vec<Scored> {
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
    let Candidates { of, containers } = collect(
        facts,
        request.settings.relationships.max_candidates_per_column,
    );
    let ignored = sentinel_hashes();
    let mut scored = Vec::new();
    for (child, parents) in of {
        let from = endpoint(facts, child);
        let column = from.columns.first().map(String::as_str).unwrap_or_default();
        if settled.contains(&(&from.table, column)) {
            continue;
        }
        let held = containers.get(&child).copied().unwrap_or(0);
        for parent in parents {
            if !decisions.rejected.is_empty()
                && decisions
                    .rejection(&from, &endpoint(facts, parent))
                    .is_some()
            {
                continue;
            }
            scored.extend(score(facts, (child, parent), held, &ignored, None));
        }
    }
    scored
}

/// Asks the warehouse about the best unchecked parent of each column, likeliest first.
async fn probe(
    facts: &Facts<'_>,
    request: &ScanRequest,
    scored: Vec<Scored>,
    prober: &mut Prober<'_>,
) -> Result<Vec<Scored>, ScanError> {
    let least = request.settings.relationships.review_threshold / 2.0;
    let (mut asked, mut checked): (Vec<Scored>, Vec<Scored>) =
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
    let mut per_child: BTreeMap<At, usize> = BTreeMap::new();
    for candidate in asked {
        let tried = per_child.entry(candidate.child).or_insert(0);
        *tried += 1;
        if *tried > 3 {
            continue;
        }
        match prober
            .values(facts, candidate.child, candidate.parent)
            .await?
        {
            None => checked.push(candidate),
            Some(found) => checked.extend(score(
                facts,
                (candidate.child, candidate.parent),
                1,
                &ignored,
                Some(found),
            )),
        }
    }
    Ok(checked)
}

async fn add_composites(
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
    let single: BTreeMap<At, At> = inferred
        .iter()
        .chain(formal)
        .filter(|link| link.status == Status::Accepted)
        .filter_map(|link| Some((at(&link.from)?, at(&link.to)?)))
        .collect();
    let declared: BTreeSet<String> = formal.iter().map(Link::id).collect();
    let mut found: Vec<Link> = Vec::new();
    for proposal in propose(facts, &single) {
        let count = prober.groups(facts, &proposal).await?;
        found.extend(judge(facts, &proposal, count).filter(|link| !declared.contains(&link.id())));
    }
    // Two tables with the same key groups hold each other's: the smaller one refers, if either does.
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
    best_composites(&mut found);
    inferred.extend(found);
    Ok(())
}

/// Of several composite links over the same columns of a table, the best stays accepted.
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

fn places<'f>(facts: &'f Facts<'_>) -> BTreeMap<(&'f TableRef, &'f str), At> {
    let tables = facts.tables.iter().enumerate();
    tables
        .flat_map(|(table, facts)| {
            let place = &facts.table.table;
            facts
                .columns
                .iter()
                .enumerate()
                .map(move |(column, facts)| {
                    ((place, facts.column.name.as_str()), At { table, column })
                })
        })
        .collect()
}

/// A link over one column that a link over several columns leads to anyway is left out.
fn skip_implied(links: &mut [Link]) {
    let single: BTreeMap<(TableRef, String), Endpoint> = links
        .iter()
        .filter(|link| link.status == Status::Accepted && link.from.columns.len() == 1)
        .filter_map(|link| {
            Some((
                (link.from.table.clone(), link.from.columns.first()?.clone()),
                link.to.clone(),
            ))
        })
        .collect();
    let mut implied: BTreeSet<(TableRef, String)> = BTreeSet::new();
    for wide in links
        .iter()
        .filter(|link| link.status == Status::Accepted && link.from.columns.len() > 1)
    {
        for (child, parent) in wide.from.columns.iter().zip(&wide.to.columns) {
            let own = single.get(&(wide.from.table.clone(), child.clone()));
            let far = single.get(&(wide.to.table.clone(), parent.clone()));
            if own.is_some() && own == far {
                implied.insert((wide.from.table.clone(), child.clone()));
            }
        }
    }
    for link in links
        .iter_mut()
        .filter(|link| link.origin != Origin::Formal && link.status == Status::Accepted)
    {
        let [column] = link.from.columns.as_slice() else {
            continue;
        };
        if implied.contains(&(link.from.table.clone(), column.clone())) {
            link.status = Status::Skipped;
            link.reasons
                .push("a link over several columns leads there".to_owned());
        }
    }
}

/// People have the last word.
fn apply_decisions(tables: &[Table], decisions: &Decisions, discovery: &mut Discovery) {
    for link in &mut discovery.links {
        if let Some(decision) = decisions.rejection(&link.from, &link.to) {
            link.status = Status::Rejected;
            link.reasons.push(decision.described("rejected"));
        }
    }
    for decision in &decisions.rejected {
        // A link that was not even a candidate may still stand in a shard: it is turned down there.
        if let (Some(from), Some(to)) = (
            find_side(tables, &decision.from),
            find_side(tables, &decision.to),
        ) && discovery
            .links
            .iter()
            .all(|link| decisions.rejection(&link.from, &link.to) != Some(decision))
        {
            discovery
                .links
                .push(decided(decision, from, to, Status::Rejected));
        }
    }
    for decision in &decisions.accepted {
        let (Some(from), Some(to)) = (
            find_side(tables, &decision.from),
            find_side(tables, &decision.to),
        ) else {
            discovery.warnings.push(unknown_side(decision));
            continue;
        };
        let known = discovery
            .links
            .iter_mut()
            .find(|link| link.from == from && link.to == to);
        if let Some(link) = known {
            link.status = Status::Accepted;
            link.reasons.push(decision.described("accepted"));
            if decision.relationship.is_some() {
                link.cardinality = decision.cardinality();
            }
            continue;
        }
        discovery
            .links
            .push(decided(decision, from, to, Status::Accepted));
    }
}

/// The side of a decision, if its table and columns exist.
fn find_side(tables: &[Table], side: &DecidedSide) -> Option<Endpoint> {
    let table = tables
        .iter()
        .find(|table| table.table.to_string() == side.table)?;
    let known = side
        .columns
        .iter()
        .all(|column| table.columns.iter().any(|known| known.name == *column));
    known.then(|| Endpoint {
        table: table.table.clone(),
        columns: side.columns.clone(),
    })
}

fn unknown_side(decision: &Decision) -> ScanWarning {
    ScanWarning {
        code: "relationship_decision_unknown_column".to_owned(),
        message: format!(
            "the accepted link from `{}` to `{}` names a table or column that does not exist",
            decision.from.table, decision.to.table
        ),
        table: Some(decision.from.table.clone()),
        column: None,
        recoverable: true,
    }
}

fn decided(decision: &Decision, from: Endpoint, to: Endpoint, status: Status) -> Link {
    let accepted = status == Status::Accepted;
    Link {
        from,
        to,
        status,
        origin: Origin::Decided,
        cardinality: decision.cardinality(),
        score: if accepted { 1.0 } else { 0.0 },
        key_score: 1.0,
        evidence: Evidence::default(),
        check: Check::None,
        reasons: vec![decision.described(if accepted { "accepted" } else { "rejected" })],
    }
}
