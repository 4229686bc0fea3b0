//! The joins in the files of the last scan, and the user's decisions about them.

use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::read_optional;
use ktx_scan::{Decision, Decisions, Verdict, decisions_path};
use ktx_vocabulary::{ConnectionId, TableRef};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::connections::targets;
use crate::invocation::OpenProject;
use crate::printer::Printer;
use crate::report::{Outcome, Report as _};

/// Number of letters in a key: enough to distinguish the joins of a warehouse.
const KEY_LETTERS: usize = 8;

/// The statuses of joins, in display order.
pub(crate) const STATUSES: [&str; 3] = ["accepted", "review", "rejected"];

/// The joins of one connection.
pub(crate) struct Found {
    pub connection: ConnectionId,
    /// The scan that found them.
    pub sync_id: String,
    /// All joins, including rejected ones.
    pub links: Vec<FoundLink>,
}

/// One join and the decision about it.
pub(crate) struct FoundLink {
    pub link: Link,
    /// The decision in the project, which the next scan applies.
    pub decided: Option<(Verdict, Decision)>,
}

/// One join, as in the files of `enrichment/relationships/`. Older scans have fewer fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    /// Both sides with their columns.
    pub id: String,
    #[serde(default)]
    pub status: String,
    /// Its origin.
    #[serde(default)]
    pub source: String,
    pub from: Side,
    pub to: Side,
    /// The cardinality.
    #[serde(default)]
    pub relationship_type: String,
    /// The probability, 0 to 1.
    #[serde(default)]
    pub confidence: f64,
    /// The measurements.
    #[serde(default)]
    pub evidence: Evidence,
    /// How the values were checked.
    #[serde(default)]
    pub validation: Value,
    #[serde(default)]
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Side {
    table: TableRef,
    columns: Vec<String>,
}

/// The measurements of a join.
#[derive(Debug, Clone, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Evidence {
    name_similarity: f64,
    coverage: Option<f64>,
    row_coverage: Option<f64>,
    compared_values: u64,
    parent_share: Option<f64>,
    child_null_rate: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Artifact {
    accepted: Vec<Link>,
    review: Vec<Link>,
    rejected: Vec<Link>,
    skipped: Vec<Link>,
}

impl Side {
    pub(crate) fn decided(&self) -> ktx_scan::DecidedSide {
        ktx_scan::DecidedSide {
            table: self.table.to_string(),
            columns: self.columns.clone(),
        }
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.columns.as_slice() {
            [only] => write!(f, "{}.{only}", self.table),
            several => write!(f, "{}.({})", self.table, several.join(", ")),
        }
    }
}

impl Link {
    /// Returns a short, shell-safe name of the join that is stable across scans.
    pub(crate) fn key(&self) -> String {
        let mut key = crate::audit::hex(&Sha256::digest(self.id.as_bytes()));
        key.truncate(KEY_LETTERS);
        key
    }

    /// Describes the measurements.
    pub(crate) fn evidence_text(&self) -> String {
        let percent = |share: f64| format!("{:.0}%", share * 100.0);
        let evidence = &self.evidence;
        let mut parts = Vec::new();
        if let Some(coverage) = evidence.coverage {
            parts.push(format!(
                "{} of {} values exist in the parent",
                percent(coverage),
                evidence.compared_values
            ));
        }
        if let Some(share) = evidence.parent_share {
            parts.push(format!("{} of the parent's keys are used", percent(share)));
        }
        if let Some(unique) = self.validation["targetUniqueness"].as_f64() {
            parts.push(format!("the parent is {} unique", percent(unique)));
        }
        if let Some(nulls) = evidence.child_null_rate {
            parts.push(format!("{} of the rows have no value", percent(nulls)));
        }
        if !parts.is_empty() || evidence.name_similarity > 0.0 {
            parts.push(format!(
                "the names fit {}",
                percent(evidence.name_similarity)
            ));
            return parts.join(", ");
        }
        "not measured".to_owned()
    }
}

impl FoundLink {
    pub(crate) fn to_json(&self, connection: &ConnectionId) -> Value {
        let link = &self.link;
        json!({
            "connectionId": connection.as_str(),
            "key": link.key(),
            "id": link.id,
            "status": link.status,
            "from": link.from.decided(),
            "to": link.to.decided(),
            "relationship": link.relationship_type,
            "confidence": link.confidence,
            "source": link.source,
            "evidence": link.evidence,
            "validation": link.validation,
            "reasons": link.reasons,
            "decision": self.decided.as_ref().map(|(verdict, decision)| json!({
                "verdict": name(*verdict),
                "by": decision.by,
                "at": decision.at,
                "note": decision.note,
            })),
        })
    }

    /// Returns a decision that the scan did not know yet; `None` otherwise.
    pub(crate) fn pending(&self) -> Option<&'static str> {
        let (verdict, _) = self.decided.as_ref()?;
        let name = name(*verdict);
        (self.link.status != name).then_some(name)
    }
}

/// Names a verdict like the status that it leads to.
pub(crate) const fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accept => "accepted",
        Verdict::Reject => "rejected",
    }
}

/// Returns the joins of the named connection, or of every warehouse with any.
pub(crate) fn load(
    id: Option<&str>,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<Found>> {
    let connections = targets(project, id)?;
    let only = connections.len() == 1;
    let mut found = Vec::new();
    for connection in connections {
        match load_one(&connection.id, project) {
            Ok(one) => found.push(one),
            Err(failure) if only || failure.code != Code::NotScanned => return Err(failure),
            Err(failure) => printer.note(&format!("note: {}", failure.message)),
        }
    }
    Ok(found)
}

/// Returns the joins that wait for a decision and lead from or to one of these tables, the most probable first. A scan
/// that cannot be read has none to offer.
pub(crate) fn waiting(
    id: Option<&str>,
    project: &OpenProject,
    is_meant: impl Fn(&TableRef) -> bool,
) -> Vec<Link> {
    let Ok(connections) = targets(project, id) else {
        return Vec::new();
    };
    let found = connections
        .into_iter()
        .filter_map(|connection| load_one(&connection.id, project).ok());
    let mut links: Vec<Link> = found
        .flat_map(|found| found.links)
        .filter(|found| found.decided.is_none() && found.link.status == "review")
        .map(|found| found.link)
        .filter(|link| is_meant(&link.from.table) || is_meant(&link.to.table))
        .collect();
    links.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    links
}

fn load_one(id: &ConnectionId, project: &OpenProject) -> Outcome<Found> {
    let (scanned, artifacts) = artifacts(id, project)?;
    let decisions = read_decisions(id, project)?;
    let mut all = [
        ("accepted", Vec::new()),
        ("review", Vec::new()),
        ("rejected", Vec::new()),
        ("skipped", Vec::new()),
    ];
    for artifact in artifacts {
        let of_table = [
            artifact.accepted,
            artifact.review,
            artifact.rejected,
            artifact.skipped,
        ];
        for ((_, links), more) in all.iter_mut().zip(of_table) {
            links.extend(more);
        }
    }
    for (_, links) in &mut all {
        links.sort_by(|left: &Link, right: &Link| left.id.cmp(&right.id));
    }
    let mut links = Vec::new();
    for (status, of_status) in all {
        for mut link in of_status {
            status.clone_into(&mut link.status);
            let decided = decision_about(&decisions, &link);
            links.push(FoundLink { link, decided });
        }
    }
    Ok(Found {
        connection: id.clone(),
        sync_id: scanned,
        links,
    })
}

/// Returns the join files of the last scan, with its id.
fn artifacts(id: &ConnectionId, project: &OpenProject) -> Outcome<(String, Vec<Artifact>)> {
    let layout = project.store.layout();
    let scans = layout.raw_source(id, "live-database");
    let read =
        |path: &Path| read_optional(path).map_err(|error| Failure::from_error(Code::File, &error));
    let files =
        ktx_project_store::list(&scans).map_err(|error| Failure::from_error(Code::File, &error))?;
    let names = || {
        files
            .iter()
            .filter_map(|file| file.strip_prefix(&scans).ok())
    };
    let mut folder = scans.clone();
    let mut sync_id = "live-database".to_owned();
    if !names().any(|name| name == Path::new("connection.json")) {
        // Older versions had a folder per scan, named by its time: the greatest is the latest.
        let newest = names()
            .filter_map(|name| name.iter().next()?.to_str())
            .max();
        let Some(newest) = newest else {
            return Err(Failure::new(
                Code::NotScanned,
                format!("connection `{id}` was never scanned"),
            )
            .hint(format!("run `ktx scan {id}`")));
        };
        folder = scans.join(newest);
        newest.clone_into(&mut sync_id);
    } else if let Some(bytes) = read(&layout.scan_report(id))?
        && let Ok(report) = serde_json::from_slice::<Value>(&bytes)
        && let Some(known) = report["syncId"].as_str()
    {
        known.clone_into(&mut sync_id);
    }
    let whole = folder.join("enrichment/relationships.json");
    let of_tables = folder.join("enrichment/relationships");
    let is_one = |path: &&PathBuf| **path == whole || path.starts_with(&of_tables);
    let mut artifacts = Vec::new();
    for path in files.iter().filter(is_one) {
        let artifact = serde_json::from_slice(&read(path)?.unwrap_or_default());
        artifacts.push(artifact.map_err(|error| {
            Failure::from_error(Code::InvalidScan, &error)
                .context(format!("`{}` cannot be read", path.display()))
                .hint(format!("run `ktx scan {id}` to rewrite it"))
        })?);
    }
    let enrichment = folder.join("enrichment");
    // A scan that looks for joins reads values first.
    if artifacts.is_empty() && !files.iter().any(|path| path.starts_with(&enrichment)) {
        return Err(Failure::new(
            Code::NotScanned,
            format!("no scan of connection `{id}` has looked for joins"),
        )
        .hint(format!("run `ktx scan {id}` without `--structural`")));
    }
    Ok((sync_id, artifacts))
}

/// Returns the decisions about a connection in the working tree.
pub(crate) fn read_decisions(id: &ConnectionId, project: &OpenProject) -> Outcome<Decisions> {
    let path = decisions_path(id);
    let bytes = read_optional(&project.dir.join(&path))
        .map_err(|error| Failure::from_error(Code::File, &error))?;
    parse_decisions(&path, &bytes.unwrap_or_default())
}

fn parse_decisions(path: &str, bytes: &[u8]) -> Outcome<Decisions> {
    Decisions::parse(&String::from_utf8_lossy(bytes)).map_err(|reason| {
        Failure::new(Code::InvalidDecisions, format!("`{path}` cannot be read")).because(reason)
    })
}

/// Returns the decision about a join. A rejection applies in both directions.
pub(crate) fn decision_about(decisions: &Decisions, link: &Link) -> Option<(Verdict, Decision)> {
    let (from, to) = (link.from.decided(), link.to.decided());
    let straight = |decision: &&Decision| decision.from == from && decision.to == to;
    let either =
        |decision: &&Decision| straight(decision) || (decision.from == to && decision.to == from);
    let accepted = decisions.accepted.iter().find(straight);
    let rejected = decisions.rejected.iter().find(either);
    accepted
        .map(|decision| (Verdict::Accept, decision.clone()))
        .or_else(|| rejected.map(|decision| (Verdict::Reject, decision.clone())))
}
