//! Answers a scan from the previous one if nothing has changed.
//!
//! Compares the catalog, the project's files, decisions, the settings, the model and the version of
//! discovery. New values in a table of the same size are not seen; the outcome therefore counts the
//! kept tables.

use std::fmt::Write;

use ktx_project_store::ProjectPath;
use ktx_relationships::settings::Switch;
use ktx_relationships::weights;
use ktx_warehouse::{ScanWarning, SchemaSnapshot};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::budget::{Budget, Spent};
use crate::difference::DiffSummary;
use crate::outcome::{ScanState, local_path};
use crate::ports::StageStore;
use crate::profile::read::UNUSABLE;
use crate::request::{
    HistoryRead, KeptScan, LocalFile, ScanError, ScanMode, ScanOutcome, ScanRequest, Writing,
};
use crate::settings::ScanSettings;
use crate::stage_rows::{DAMAGED, StageRows, digest};
use crate::structural::artifact::json;
use crate::wire::{EnrichmentState, ScanReport};

/// Change whenever a kept scan would be wrong.
const VERSION: &str = "kept-scan-2";
const STAGE: &str = "whole";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredScan {
    report: ScanReport,
}

/// Returns whether a scan is complete and depends only on what the catalog shows.
pub(crate) fn is_complete(request: &ScanRequest, state: &ScanState) -> bool {
    let read = state
        .profiles
        .as_ref()
        .is_none_or(|read| read.left.is_empty());
    let described = state
        .descriptions
        .as_ref()
        .is_none_or(|described| described.left == 0);
    let compared = state.relations.is_some() || request.mode == ScanMode::Structural;
    read && described
        && compared
        && state.paused.is_none()
        && state.stopped.is_none()
        && request.writing == Writing::Publish
        && request.settings.history.warehouse == Switch::Off
}

impl KeptScan {
    /// Returns `None` after a warning that the next scan might not repeat.
    pub(crate) fn of(
        request: &ScanRequest,
        snapshot: &SchemaSnapshot,
        inputs: String,
        report: &ScanReport,
    ) -> Option<Box<Self>> {
        // Damaged rows are already rebuilt.
        let warnings: Vec<ScanWarning> = report
            .warnings
            .iter()
            .filter(|warning| warning.code != DAMAGED)
            .cloned()
            .collect();
        let lasting =
            |warning: &ScanWarning| warning.code == UNUSABLE || snapshot.warnings.contains(warning);
        if !warnings.iter().all(lasting) {
            return None;
        }
        Some(Box::new(Self {
            connection: request.connection.clone(),
            mode: request.mode,
            inputs,
            report: ScanReport {
                warnings,
                ..report.clone()
            },
        }))
    }

    /// `files` is the [`crate::ProjectFiles::stamp`] after the scan.
    pub fn store(&self, stages: &dyn StageStore, files: &str) -> Result<(), ScanError> {
        let value = StoredScan {
            report: self.report.clone(),
        };
        let key = StageRows::key_of(&self.connection, STAGE, self.mode.name());
        let text = StageRows::row_text(&key, &digest([self.inputs.as_str(), files]), &value)?;
        Ok(stages.put(&key, &text)?)
    }
}

pub(crate) fn inputs(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    decisions: &str,
) -> Result<String, ScanError> {
    let settings = ScanSettings {
        budget: Budget::default(),
        ..request.settings.clone()
    };
    let model = request
        .runtime
        .as_ref()
        .map(|runtime| (runtime.describe().name.to_owned(), &request.model));
    let mut hasher = Hasher(Sha256::new());
    write!(
        hasher,
        "{VERSION}\0{}\0{:?}\0{}\0{}\0{:?}\0{:?}\0{settings:?}\0{model:?}\0{decisions}\0{snapshot:?}",
        env!("CARGO_PKG_VERSION"),
        weights::TABLE,
        request.driver,
        request.mode.name(),
        request.connector.dialect(),
        request.scope,
    )
    .map_err(|_| ScanError::Internal {
        reason: "the inputs of the scan could not be written".to_owned(),
    })?;
    let bytes = hasher.0.finalize();
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _unused = write!(text, "{byte:02x}");
        text
    }))
}

struct Hasher(Sha256);

impl Write for Hasher {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

pub(crate) fn recall(
    request: &ScanRequest,
    rows: &StageRows,
    snapshot: &SchemaSnapshot,
    inputs: &str,
) -> Result<Option<ScanOutcome>, ScanError> {
    if request.settings.history.warehouse == Switch::On {
        return Ok(None);
    }
    let Some(files) = request.files.stamp().map_err(ScanError::file("git"))? else {
        return Ok(None);
    };
    let input = digest([inputs, files.as_str()]);
    let stored: Option<StoredScan> = rows.get(STAGE, request.mode.name(), &input)?;
    stored
        .map(|stored| outcome(request, snapshot, stored.report))
        .transpose()
}

fn outcome(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    mut report: ScanReport,
) -> Result<ScanOutcome, ScanError> {
    let summary = DiffSummary {
        tables_unchanged: report.diff_summary.tables_added
            + report.diff_summary.tables_modified
            + report.diff_summary.tables_unchanged,
        ..DiffSummary::default()
    };
    report.run_id = request.run_id.to_string();
    report.created_at = request.now.to_string();
    report.dry_run = request.writing == Writing::DryRun;
    report.diff_summary = summary;
    report.structural_sync_stats = summary.stats();
    report.manifest_shards_written = 0;
    report.enrichment_state = resumed(report.enrichment_state);
    let local = match request.writing {
        Writing::Publish => vec![LocalFile {
            path: ProjectPath::parse(&local_path(request, "scan-report.json"))?,
            bytes: json(&report)?,
        }],
        Writing::DryRun => Vec::new(),
    };
    let kept = if request.mode == ScanMode::Structural {
        0
    } else {
        snapshot.tables.len()
    };
    Ok(ScanOutcome {
        sync_id: report.sync_id.clone(),
        changes: Vec::new(),
        planned: Vec::new(),
        differences: Vec::new(),
        local,
        report,
        profile_statements: 0,
        validation_statements: 0,
        model_calls: 0,
        tables_kept: kept,
        kept: None,
        paused: None,
        stopped: None,
        spent: Spent::default(),
        history: HistoryRead::NotWanted,
        schemas: snapshot.listing.clone(),
        renamed: Vec::new(),
    })
}

/// Returns what a full scan of unchanged tables reports: discovery runs each time.
fn resumed(state: EnrichmentState) -> EnrichmentState {
    let done = [state.resumed_stages, state.completed_stages].concat();
    let is_done = |stage: &&str| done.iter().any(|known| known == stage);
    let named = |stages: &[&str]| {
        let done = stages.iter().filter(|stage| is_done(stage));
        done.map(|stage| (*stage).to_owned()).collect()
    };
    EnrichmentState {
        resumed_stages: named(&["profile", "descriptions"]),
        completed_stages: named(&["relationships"]),
        failed_stages: state.failed_stages,
    }
}
