//! Applies people's decisions.

use ktx_warehouse::{ScanWarning, Table};

use crate::links::decisions::{DecidedSide, Decision, Decisions};
use crate::links::link::{Check, Endpoint, Evidence, Link, Origin, Status};

/// Overrides everything else. Returns a warning for each decision about an unknown column.
pub fn apply_decisions(
    tables: &[Table],
    decisions: &Decisions,
    links: &mut Vec<Link>,
) -> Vec<ScanWarning> {
    let mut warnings = Vec::new();
    for link in &mut *links {
        if let Some(decision) = decisions.rejection(&link.from, &link.to) {
            link.status = Status::Rejected;
            link.reasons.push(decision.described("rejected"));
        }
    }
    for decision in &decisions.rejected {
        // A rejected link that is no longer a candidate can still be in a shard.
        if let (Some(from), Some(to)) = (
            find_side(tables, &decision.from),
            find_side(tables, &decision.to),
        ) && links
            .iter()
            .all(|link| decisions.rejection(&link.from, &link.to) != Some(decision))
        {
            links.push(decided(decision, from, to, Status::Rejected));
        }
    }
    for decision in &decisions.accepted {
        let (Some(from), Some(to)) = (
            find_side(tables, &decision.from),
            find_side(tables, &decision.to),
        ) else {
            warnings.push(unknown_side(decision));
            continue;
        };
        let known = links
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
        links.push(decided(decision, from, to, Status::Accepted));
    }
    warnings
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
