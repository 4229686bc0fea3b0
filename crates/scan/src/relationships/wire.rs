//! Shapes of `relationships/*.json` and `relationship-diagnostics.json`.

use std::collections::BTreeMap;

use ktx_relationships::links::link::{Endpoint, Link, Status};
use ktx_relationships::profile::Extent;
use ktx_vocabulary::TableRef;
use serde::Serialize;

use crate::profile::wire::rounded;
use crate::wire::StatusCounts;

pub(crate) const RELATIONSHIPS: &str = "enrichment/relationships/";
/// Written by older versions.
pub(crate) const WHOLE_RELATIONSHIPS: &str = "enrichment/relationships.json";
pub(crate) const STATUSES: [&str; 4] = ["accepted", "review", "rejected", "skipped"];

#[derive(Debug, Serialize)]
pub(crate) struct RelationshipsArtifact {
    pub(crate) accepted: Vec<Edge>,
    pub(crate) review: Vec<Edge>,
    pub(crate) rejected: Vec<Edge>,
    pub(crate) skipped: Vec<Edge>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edge {
    pub(crate) id: String,
    pub(crate) status: &'static str,
    pub(crate) source: &'static str,
    pub(crate) from: Side,
    pub(crate) to: Side,
    pub(crate) relationship_type: &'static str,
    pub(crate) confidence: f64,
    pub(crate) pk_score: f64,
    pub(crate) fk_score: f64,
    pub(crate) score: f64,
    pub(crate) evidence: Measurements,
    pub(crate) validation: Validation,
    pub(crate) graph: Graph,
    pub(crate) reasons: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Side {
    pub(crate) table_id: String,
    pub(crate) column_ids: Vec<String>,
    pub(crate) table: TableRef,
    pub(crate) columns: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Measurements {
    pub(crate) name_similarity: f64,
    pub(crate) coverage: Option<f64>,
    pub(crate) row_coverage: Option<f64>,
    /// Ignores case and padding; absent if equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loose_row_coverage: Option<f64>,
    pub(crate) compared_values: usize,
    /// Absent if only values were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compared_rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sampled: Option<bool>,
    pub(crate) parent_share: Option<f64>,
    pub(crate) child_null_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) joined_in_queries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stated: Option<bool>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Validation {
    pub(crate) status: &'static str,
    pub(crate) target_uniqueness: Option<f64>,
    pub(crate) source_coverage: Option<f64>,
    pub(crate) violation_ratio: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Graph {
    pub(crate) cardinality: &'static str,
    pub(crate) composite: bool,
}

impl RelationshipsArtifact {
    pub(crate) fn of(links: &[&Link]) -> Self {
        let of = |statuses: &[Status]| {
            links
                .iter()
                .filter(|link| statuses.contains(&link.status))
                .map(|link| Edge::of(link))
                .collect()
        };
        Self {
            accepted: of(&[Status::Accepted]),
            review: of(&[Status::Review]),
            rejected: of(&[Status::Rejected]),
            skipped: of(&[Status::Implied, Status::Skipped]),
        }
    }
}

impl Edge {
    fn of(link: &Link) -> Self {
        let evidence = &link.evidence;
        Self {
            id: link.id(),
            status: link.status.name(),
            source: link.origin.name(),
            from: Side::of(&link.from),
            to: Side::of(&link.to),
            relationship_type: link.cardinality.name(),
            confidence: rounded(link.score),
            pk_score: rounded(link.key_score),
            fk_score: rounded(link.score),
            score: rounded(link.score),
            evidence: Measurements {
                name_similarity: rounded(evidence.name),
                coverage: evidence.coverage.map(rounded),
                row_coverage: evidence.measured.and(evidence.row_coverage).map(rounded),
                loose_row_coverage: evidence.loose_row_coverage.map(rounded),
                compared_values: evidence.compared,
                compared_rows: evidence.measured.map(|measured| measured.rows),
                sampled: evidence
                    .measured
                    .map(|measured| measured.extent == Extent::Sample),
                parent_share: evidence.parent_share.map(rounded),
                child_null_rate: evidence.null_rate.map(rounded),
                joined_in_queries: (evidence.queries > 0).then_some(evidence.queries),
                stated: evidence.stated.then_some(true),
            },
            validation: Validation {
                status: link.check.name(),
                target_uniqueness: evidence.uniqueness.map(rounded),
                source_coverage: evidence.coverage.map(rounded),
                violation_ratio: evidence.coverage.map(|coverage| rounded(1.0 - coverage)),
            },
            graph: Graph {
                cardinality: link.cardinality.name(),
                composite: link.from.columns.len() > 1,
            },
            reasons: link.reasons.clone(),
        }
    }
}

impl Side {
    fn of(side: &Endpoint) -> Self {
        let table_id = side.table.to_string();
        Self {
            column_ids: side
                .columns
                .iter()
                .map(|column| format!("{table_id}.{column}"))
                .collect(),
            table_id,
            table: side.table.clone(),
            columns: side.columns.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiagnosticsArtifact {
    pub(crate) connection_id: String,
    pub(crate) generated_at: String,
    pub(crate) summary: StatusCounts,
    pub(crate) no_accepted_reason: Option<&'static str>,
    pub(crate) candidate_counts_by_source: BTreeMap<&'static str, usize>,
    pub(crate) validation: ValidationSummary,
    pub(crate) thresholds: Thresholds,
    pub(crate) policy: Policy,
    pub(crate) warnings: Vec<String>,
    pub(crate) profile_warnings: Vec<String>,
}

impl StatusCounts {
    pub(crate) fn of(links: &[Link]) -> Self {
        let of = |status: Status| links.iter().filter(|link| link.status == status).count();
        Self {
            accepted: of(Status::Accepted),
            review: of(Status::Review),
            rejected: of(Status::Rejected),
            skipped: of(Status::Implied) + of(Status::Skipped),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValidationSummary {
    pub(crate) available: bool,
    pub(crate) sql_available: bool,
    pub(crate) query_count: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thresholds {
    pub(crate) accept_threshold: f64,
    pub(crate) review_threshold: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    pub(crate) validation_required_for_manifest: bool,
    pub(crate) max_candidates_per_column: usize,
}

pub(crate) fn no_accepted_reason(
    counts: StatusCounts,
    sql_available: bool,
) -> Option<&'static str> {
    match counts {
        StatusCounts { accepted: 1.., .. } => None,
        _ if !sql_available => Some("validation unavailable"),
        StatusCounts { review: 1.., .. } => Some("candidates need review"),
        StatusCounts { rejected: 1.., .. } => Some("all candidates rejected"),
        _ => Some("no pair passed type compatibility"),
    }
}
