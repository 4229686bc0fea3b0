//! The joins of the last scan, and the user's decisions about them.

use std::error::Error;
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{Layout, StorageTrouble, cause_chain, read_optional};
use ktx_relationships::links::decisions::{
    DecidedSide, Decision, Decisions, Verdict, decisions_path,
};
use ktx_relationships::links::link::Origin;
use ktx_vocabulary::{ConnectionId, TableRef};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const KEY_LETTERS: usize = 8;

/// In display order.
pub const STATUSES: [&str; 3] = ["accepted", "review", "rejected"];

#[derive(Debug, Clone)]
pub struct Found {
    pub connection: ConnectionId,
    pub sync_id: String,
    pub links: Vec<FoundLink>,
}

#[derive(Debug, Clone)]
pub struct FoundLink {
    pub link: Link,
    /// The next scan applies it.
    pub decided: Option<(Verdict, Decision)>,
}

/// As in `enrichment/relationships/`. Older scans have fewer fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    pub id: String,
    /// `accepted`, `review`, `rejected` or `skipped`.
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub source: String,
    /// The referring side.
    pub from: Side,
    pub to: Side,
    #[serde(default)]
    pub relationship_type: String,
    /// The probability, 0 to 1.
    #[serde(default)]
    pub confidence: f64,
    #[serde(default)]
    pub evidence: Evidence,
    #[serde(default)]
    pub validation: Value,
    #[serde(default)]
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    table: TableRef,
    columns: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Evidence {
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
    pub fn decided(&self) -> DecidedSide {
        DecidedSide {
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
    /// Returns a short, shell-safe name that is stable across scans.
    pub fn key(&self) -> String {
        let mut key = hex(&Sha256::digest(self.id.as_bytes()));
        key.truncate(KEY_LETTERS);
        key
    }

    pub fn evidence_text(&self) -> String {
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
            // No names are compared for a key that the warehouse declares.
            if evidence.name_similarity > 0.0 || self.source != Origin::Formal.name() {
                parts.push(format!(
                    "the names fit {}",
                    percent(evidence.name_similarity)
                ));
            }
            return parts.join(", ");
        }
        "not measured".to_owned()
    }
}

impl FoundLink {
    pub fn to_json(&self, connection: &ConnectionId) -> Value {
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

    /// Returns a decision that the last scan did not know.
    pub fn pending(&self) -> Option<&'static str> {
        let (verdict, _) = self.decided.as_ref()?;
        let name = name(*verdict);
        (self.link.status != name).then_some(name)
    }
}

pub const fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accept => "accepted",
        Verdict::Reject => "rejected",
    }
}

/// Returns the undecided joins of these tables, the most probable first.
pub fn waiting(found: Found, is_meant: impl Fn(&TableRef) -> bool) -> Vec<Link> {
    let mut links: Vec<Link> = found
        .links
        .into_iter()
        .filter(|found| found.decided.is_none() && found.link.status == "review")
        .map(|found| found.link)
        .filter(|link| is_meant(&link.from.table) || is_meant(&link.to.table))
        .collect();
    links.sort_by(|one, other| other.confidence.total_cmp(&one.confidence));
    links
}

/// Reads the joins of the last scan, with the decisions in the working tree.
///
/// # Errors
/// Fails with `not_scanned` if no scan has looked for joins, and with `invalid_scan` or
/// `invalid_decisions` for unreadable files.
pub fn load_links(id: &ConnectionId, layout: &Layout) -> Result<Found, Failure> {
    let (scanned, artifacts) = artifacts(id, layout)?;
    let decisions = read_decisions(id, layout)?;
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

fn artifacts(id: &ConnectionId, layout: &Layout) -> Result<(String, Vec<Artifact>), Failure> {
    let scans = layout.raw_source(id, "live-database");
    let read = |path: &Path| read_optional(path).map_err(|error| unread(&error));
    let files = ktx_project_store::list(&scans).map_err(|error| unread(&error))?;
    let names = || {
        files
            .iter()
            .filter_map(|file| file.strip_prefix(&scans).ok())
    };
    let mut folder = scans.clone();
    let mut sync_id = "live-database".to_owned();
    if !names().any(|name| name == Path::new("connection.json")) {
        // Older versions had a folder per scan, named by its time.
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
            failure(Code::InvalidScan, &error)
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

fn unread(error: &(dyn Error + 'static)) -> Failure {
    failure(Code::File, error)
}

/// Adds the causes.
fn failure(code: Code, error: &(dyn Error + 'static)) -> Failure {
    let mut chain = cause_chain(error).into_iter();
    let failure = Failure::new(code, chain.next().unwrap_or_default());
    let failure = chain.fold(failure, Failure::because);
    match StorageTrouble::of(error) {
        Some(trouble) => failure.hint(trouble.next_step()),
        None => failure,
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Reads the decisions in the working tree.
///
/// # Errors
/// Fails with `invalid_decisions` for an unreadable file.
pub fn read_decisions(id: &ConnectionId, layout: &Layout) -> Result<Decisions, Failure> {
    let path = decisions_path(id);
    let bytes = read_optional(&layout.root().join(&path)).map_err(|error| unread(&error))?;
    parse_decisions(&path, &bytes.unwrap_or_default())
}

fn parse_decisions(path: &str, bytes: &[u8]) -> Result<Decisions, Failure> {
    Decisions::parse(&String::from_utf8_lossy(bytes)).map_err(|reason| {
        Failure::new(Code::InvalidDecisions, format!("`{path}` cannot be read")).because(reason)
    })
}

/// Rejections apply in both directions.
pub fn decision_about(decisions: &Decisions, link: &Link) -> Option<(Verdict, Decision)> {
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
