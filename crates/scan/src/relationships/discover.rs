//! Runs relationship discovery from start to finish.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, Table};

use crate::event::{ScanEvent, ScanStage};
use crate::history::Joins;
use crate::pause::Pause;
use crate::profile::TableProfile;
use crate::profile::value::sentinel_hashes;
use crate::relationships::candidates::{Candidates, collect};
use crate::relationships::composite::names_own_rows;
use crate::relationships::decisions::{DecidedSide, Decision, Decisions};
use crate::relationships::facts::Facts;
use crate::relationships::link::{Cardinality, Check, Endpoint, Evidence, Link, Origin, Status};
use crate::relationships::probe::Prober;
use crate::relationships::resolve::{endpoint, resolve};
use crate::relationships::score::{ScoredPair, score};
use crate::relationships::verify::{add_composites, compare_spellings, probe};
use crate::relationships::{adjudicate, link};
use crate::request::{ScanError, ScanRequest};
use crate::settings::Switch;
use crate::spending::Spending;
use crate::stage_rows::StageRows;
use crate::types::ColumnId;

/// Row shares that differ by less are reported as equal.
const NEARLY: f64 = 0.005;

#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// All links worth reporting, sorted by their two sides.
    pub links: Vec<Link>,
    pub candidates: usize,
    pub statements: usize,
    /// Number of links left unchecked when the run's budget was used up.
    pub left: usize,
    pub model_calls: usize,
    pub warnings: Vec<ScanWarning>,
}

/// Returns the links that the warehouse declares, with composite keys as one link.
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

#[derive(Clone, Copy)]
pub(crate) struct DiscoveryInput<'a> {
    pub(crate) tables: &'a [Table],
    pub(crate) profiles: &'a BTreeMap<TableRef, TableProfile>,
    pub(crate) decisions: &'a Decisions,
    pub(crate) joins: &'a Joins,
    pub(crate) spending: &'a Spending<'a>,
}

pub(crate) async fn discover(
    request: &ScanRequest,
    input: DiscoveryInput<'_>,
    rows: &StageRows,
    pause: &Pause,
) -> Result<Discovery, ScanError> {
    let DiscoveryInput {
        tables,
        profiles,
        decisions,
        joins,
        spending,
    } = input;
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Relationships,
        total: None,
    });
    let mut discovery = Discovery {
        links: formal_links(tables),
        ..Discovery::default()
    };
    if request.settings.relationships.discovery == Switch::On {
        let facts = Facts::gather(tables, profiles, joins);
        let mut prober = Prober::new(request, rows, spending, tables.len());
        let scored = candidates(&facts, request, decisions, &discovery.links);
        discovery.candidates = scored.len();
        let mut scored = probe(&facts, request, scored, &mut prober).await?;
        compare_spellings(&facts, request, &mut scored, &mut prober).await?;
        let mut inferred = resolve(&facts, scored, &request.settings.relationships);
        add_composites(&facts, &mut inferred, &discovery.links, &mut prober).await?;
        discovery.statements = prober.sent;
        discovery.left = prober.left;
        if discovery.left > 0 {
            // The missing checks might change the result, so decide nothing before the next scan.
            return Ok(discovery);
        }
        discovery.warnings.append(&mut prober.warnings);
        discovery.links.append(&mut inferred);
        mark_implied(&facts, &mut discovery.links);
        tell_disproof(&mut discovery.links);
        adjudicate::adjudicate(request, &facts, rows, pause, &mut discovery).await?;
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

/// Without telling names, the larger of two keys that hold the same values is likelier.
fn lent(facts: &Facts<'_>, mut found: ScoredPair, owner: ColumnId) -> ScoredPair {
    found.odds -= 0.6;
    found.reasons.push(format!(
        "its keys are a part of those of `{}`",
        endpoint(facts, owner)
    ));
    found
}

fn candidates(
    facts: &Facts<'_>,
    request: &ScanRequest,
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
    } = collect(
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
        for parent in &parents {
            let parent = *parent;
            if !decisions.rejected.is_empty()
                && decisions
                    .rejection(&from, &endpoint(facts, parent))
                    .is_some()
            {
                continue;
            }
            let owner = borrowed
                .get(&parent)
                .filter(|owner| parents.contains(owner));
            let found = score(facts, (child, parent), held, &ignored, None);
            scored.extend(found.map(|found| match owner {
                Some(owner) if found.evidence.name < 0.4 => lent(facts, found, *owner),
                _ => found,
            }));
        }
    }
    scored
}

/// Marks a single-column link as implied if a multi-column link leads to the same table for all of
/// its rows, through a part of that table: the lines of an order. A link through a thing of its own
/// takes nothing away: a task belongs to the tenant and to one of the tenant's users.
fn mark_implied(facts: &Facts<'_>, links: &mut [Link]) {
    let single: BTreeMap<(TableRef, String), (Endpoint, f64)> = links
        .iter()
        .filter(|link| link.status == Status::Accepted && link.from.columns.len() == 1)
        .filter_map(|link| {
            Some((
                (link.from.table.clone(), link.from.columns.first()?.clone()),
                (link.to.clone(), link.evidence.covered()),
            ))
        })
        .collect();
    let mut implied: BTreeSet<(TableRef, String)> = BTreeSet::new();
    for wide in links
        .iter()
        .filter(|link| link.status == Status::Accepted && link.from.columns.len() > 1)
        .filter(|link| facts.is_filled(&link.from))
    {
        for (child, parent) in wide.from.columns.iter().zip(&wide.to.columns) {
            let own = single.get(&(wide.from.table.clone(), child.clone()));
            let far = single.get(&(wide.to.table.clone(), parent.clone()));
            if let (Some((own, covered)), Some((far, _))) = (own, far)
                && own == far
                && wide.evidence.covered() >= *covered - NEARLY
                && !names_own_rows(facts, &wide.to, parent)
            {
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
            link.status = Status::Implied;
            link.reasons
                .push("a link over several columns leads there for all of its rows".to_owned());
        }
    }
}

/// Says of each link that is accepted for its values what would disprove it.
fn tell_disproof(links: &mut [Link]) {
    let inferred = |link: &&mut Link| {
        link.origin != Origin::Formal && matches!(link.status, Status::Accepted | Status::Implied)
    };
    for link in links.iter_mut().filter(inferred) {
        let complete = link.evidence.coverage.is_some_and(|share| share >= 1.0);
        let more = if complete { "values" } else { "more values" };
        link.reasons.push(format!(
            "{more} of `{}` that `{}` lacks would disprove it",
            link.from, link.to
        ));
    }
}

/// Applies people's decisions, which override everything else.
fn apply_decisions(tables: &[Table], decisions: &Decisions, discovery: &mut Discovery) {
    for link in &mut discovery.links {
        if let Some(decision) = decisions.rejection(&link.from, &link.to) {
            link.status = Status::Rejected;
            link.reasons.push(decision.described("rejected"));
        }
    }
    for decision in &decisions.rejected {
        // A rejected link that is no longer a candidate may still be in a shard, so report it as
        // rejected.
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
