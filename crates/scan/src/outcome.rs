//! Turns a scan into file changes and the report.

mod enrichment;
mod files;

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::LlmError;
use ktx_manifest::renamed;
use ktx_project_store::ProjectPath;
use ktx_relationships::links::link::{Check, Link, Origin};
use ktx_relationships::settings::Switch;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, SchemaSnapshot};

use crate::budget::{Spent, StopReason};
use crate::describe::Descriptions;
use crate::difference::DiffSummary;
use crate::history::usage::Usage;
use crate::manifest::merge::{Manifest, ManifestInput, compose};
use crate::outcome::files::Files;
use crate::profile::read::Profiles;
use crate::relationships::adjudicate::UNDECIDED;
use crate::relationships::homes::Homes;
use crate::relationships::wire::{
    DiagnosticsArtifact, Policy, Thresholds, ValidationSummary, no_accepted_reason,
};
use crate::request::{
    HistoryRead, LocalFile, Paused, ScanError, ScanOutcome, ScanRequest, Stopped, Writing,
};
use crate::structural::artifact::{connection_file, json, left_out_files};
use crate::structural::diff::differences;
use crate::structural::sync::{Previous, snapshot_folder};
use crate::wire::{
    ArtifactPaths, EnrichmentState, EnrichmentSummary, ScanReport, StageOutcome, StatusCounts,
    TableArtifact,
};

#[derive(Debug)]
pub(crate) struct ScanState {
    /// The id of the last scan that found a different structure.
    pub(crate) sync: String,
    pub(crate) summary: DiffSummary,
    pub(crate) now: BTreeMap<TableRef, TableArtifact>,
    /// Tables that can still exist although the catalog did not show them.
    pub(crate) unread: BTreeSet<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) warnings: Vec<ScanWarning>,
    pub(crate) profiles: Option<Profiles>,
    pub(crate) descriptions: Option<Descriptions>,
    pub(crate) relations: Option<Relations>,
    pub(crate) paused: Option<LlmError>,
    pub(crate) stopped: Option<StopReason>,
    pub(crate) spent: Spent,
    pub(crate) links_left: usize,
    pub(crate) history: HistoryRead,
    pub(crate) usage: Usage,
}

#[derive(Debug)]
pub(crate) struct Relations {
    pub(crate) candidates: usize,
    pub(crate) statements: usize,
    pub(crate) model_calls: usize,
    pub(crate) warnings: Vec<ScanWarning>,
}

pub(crate) fn compose_outcome(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    previous: &Previous,
    mut state: ScanState,
) -> Result<ScanOutcome, ScanError> {
    let none = BTreeMap::new();
    let described = state
        .descriptions
        .as_ref()
        .map_or(&none, |descriptions| &descriptions.tables);
    let manifest = compose(&ManifestInput {
        request,
        tables: &snapshot.tables,
        known: &previous.tables,
        unread: &state.unread,
        links: &state.links,
        profiles: state.profiles.as_ref().map(|read| &read.tables),
        descriptions: described,
        usage: &state.usage,
    })?;
    state.warnings.extend(manifest.warnings.iter().cloned());
    let homes = Homes::read(request, previous)?;
    let mut files = Files::new(request, previous, manifest.changes.clone());
    let (name, bytes) = connection_file(request)?;
    files.put(name, bytes)?;
    for (name, bytes) in left_out_files(snapshot)? {
        files.put(&name, bytes)?;
    }
    for (place, table) in &state.now {
        files.put_table(place, table)?;
    }
    enrichment::put(&mut files, (request, snapshot), &state, &homes)?;
    files.remove_rest()?;
    let report = report(
        request,
        previous,
        &state,
        &manifest,
        ReportInput {
            enrichment: files.enrichment(),
            links: homes.counts,
        },
    );
    let mut local = vec![LocalFile {
        path: ProjectPath::parse(&report.artifact_paths.report_path)?,
        bytes: json(&report)?,
    }];
    if let Some(relations) = &state.relations {
        local.push(LocalFile {
            path: ProjectPath::parse(&local_path(request, "relationship-diagnostics.json"))?,
            bytes: json(&diagnostics(request, &state, relations))?,
        });
    }
    let mut changes = files.changes;
    changes.sort_by(|left, right| left.path.cmp(&right.path));
    let mut planned = Vec::new();
    if request.writing == Writing::DryRun {
        std::mem::swap(&mut planned, &mut changes);
        local.clear();
    }
    let tables_kept = state
        .profiles
        .as_ref()
        .map_or(0, |profiles| profiles.reused);
    let stopped = stopped(&state, snapshot.tables.len());
    let paused = paused(&state, snapshot.tables.len());
    Ok(ScanOutcome {
        sync_id: state.sync,
        changes,
        planned,
        differences: differences(&previous.tables, &state.now),
        local,
        report,
        profile_statements: state
            .profiles
            .as_ref()
            .map_or(0, |profiles| profiles.statements),
        validation_statements: state
            .relations
            .as_ref()
            .map_or(0, |relations| relations.statements),
        model_calls: state
            .relations
            .as_ref()
            .map_or(0, |relations| relations.model_calls)
            + state
                .descriptions
                .as_ref()
                .map_or(0, |descriptions| descriptions.calls),
        tables_kept,
        kept: None,
        spent: state.spent,
        history: state.history,
        schemas: snapshot.listing.clone(),
        renamed: renamed(
            request.connector.dialect(),
            previous.tables.keys(),
            state.now.keys(),
        ),
        stopped,
        paused,
    })
}

fn paused(state: &ScanState, tables: usize) -> Option<Paused> {
    let error = state.paused.clone()?;
    let descriptions = state.descriptions.as_ref();
    Some(Paused {
        error,
        left: descriptions.map_or(0, |descriptions| descriptions.left),
        tables,
    })
}

fn stopped(state: &ScanState, tables: usize) -> Option<Stopped> {
    let reason = state.stopped.clone()?;
    let profiles = state.profiles.as_ref();
    Some(Stopped {
        reason,
        tables_left: profiles.map_or(0, |profiles| profiles.left.len()),
        tables_kept: profiles.map_or(0, Profiles::left_kept),
        tables,
        links_left: state.links_left,
    })
}

/// Not committed.
pub(crate) fn local_path(request: &ScanRequest, name: &str) -> String {
    format!(".ktx/state/scans/{}/{name}", request.connection)
}

fn diagnostics(
    request: &ScanRequest,
    state: &ScanState,
    relations: &Relations,
) -> DiagnosticsArtifact {
    let settings = &request.settings.relationships;
    let mut by_source: BTreeMap<&'static str, usize> = BTreeMap::new();
    for link in &state.links {
        *by_source.entry(link.origin.name()).or_insert(0) += 1;
    }
    by_source.insert("compared_pairs", relations.candidates);
    let summary = StatusCounts::of(&state.links);
    let profiled = state
        .profiles
        .as_ref()
        .is_some_and(|profiles| !profiles.tables.is_empty());
    let probed = state
        .links
        .iter()
        .filter(|link| link.check == Check::Probed)
        .count();
    let messages = |warnings: &[ScanWarning]| {
        warnings
            .iter()
            .map(|warning| warning.message.clone())
            .collect()
    };
    DiagnosticsArtifact {
        connection_id: request.connection.to_string(),
        generated_at: request.now.to_string(),
        summary,
        no_accepted_reason: no_accepted_reason(summary, profiled),
        candidate_counts_by_source: by_source,
        validation: ValidationSummary {
            available: profiled,
            sql_available: profiled,
            query_count: probed,
        },
        thresholds: Thresholds {
            accept_threshold: settings.accept_threshold,
            review_threshold: settings.review_threshold,
        },
        policy: Policy {
            validation_required_for_manifest: settings.validation_required == Switch::On,
            max_candidates_per_column: settings.max_candidates_per_column,
        },
        warnings: messages(&relations.warnings),
        profile_warnings: state
            .profiles
            .as_ref()
            .map(|profiles| messages(&profiles.warnings))
            .unwrap_or_default(),
    }
}

/// As in KTX 0.12.
const TRIGGER: &str = "cli";

struct ReportInput {
    enrichment: Vec<String>,
    links: Option<StatusCounts>,
}

fn report(
    request: &ScanRequest,
    previous: &Previous,
    state: &ScanState,
    manifest: &Manifest,
    input: ReportInput,
) -> ScanReport {
    let before = request.last_report.as_ref().or(previous.report.as_ref());
    let relationships = match (&state.relations, input.links) {
        (None, Some(counts)) => counts,
        _ => StatusCounts::of(&state.links),
    };
    let enrichment = enrichment(state, before.map(|report| report.enrichment));
    let carried = before.filter(|report| deeper(&report.mode) > deeper(request.mode.name()));
    ScanReport {
        connection_id: request.connection.to_string(),
        driver: request.driver.clone(),
        sync_id: state.sync.clone(),
        run_id: request.run_id.to_string(),
        trigger: TRIGGER.to_owned(),
        mode: carried
            .map_or(request.mode.name(), |report| &report.mode)
            .to_owned(),
        dry_run: request.writing == Writing::DryRun,
        artifact_paths: ArtifactPaths {
            raw_sources_dir: snapshot_folder(&request.connection),
            report_path: local_path(request, "scan-report.json"),
            manifest_shards: manifest.shards.clone(),
            enrichment_artifacts: input.enrichment,
        },
        diff_summary: state.summary,
        manifest_shards_written: manifest.changes.len(),
        structural_sync_stats: state.summary.stats(),
        enrichment,
        capability_gaps: Vec::new(),
        warnings: state.warnings.clone(),
        relationships,
        enrichment_state: enrichment_state(state),
        created_at: request.now.to_string(),
    }
}

fn deeper(mode: &str) -> usize {
    ["structural", "relationships", "enriched"]
        .iter()
        .position(|known| *known == mode)
        .unwrap_or(0)
}

/// Stages that did not run keep their earlier summary.
fn enrichment(state: &ScanState, before: Option<EnrichmentSummary>) -> EnrichmentSummary {
    let before = before.unwrap_or_default();
    let mut summary = before;
    if let Some(profiles) = &state.profiles {
        let done = if profiles.tables.is_empty() && !profiles.warnings.is_empty() {
            StageOutcome::Failed
        } else if profiles.left_kept() == profiles.left.len() && !profiles.left.is_empty() {
            before.data_dictionary
        } else if profiles.left.is_empty() {
            StageOutcome::Completed
        } else {
            StageOutcome::Skipped
        };
        summary.data_dictionary = done;
        summary.statistical_validation = done;
    }
    if let Some(descriptions) = &state.descriptions {
        let described = |any: bool| {
            if descriptions.left > 0 {
                StageOutcome::Skipped
            } else if any {
                StageOutcome::Completed
            } else {
                StageOutcome::Failed
            }
        };
        let tables = descriptions.tables.values();
        summary.table_descriptions = described(
            tables.clone().any(|table| table.table.is_some()) || descriptions.tables.is_empty(),
        );
        summary.column_descriptions = described(
            tables.clone().any(|table| !table.columns.is_empty()) || descriptions.tables.is_empty(),
        );
    }
    if state.relations.is_some() {
        summary.deterministic_relationships = StageOutcome::Completed;
        let model = state.links.iter().any(|link| link.origin == Origin::Model);
        let asked = state
            .relations
            .as_ref()
            .is_some_and(|relations| relations.model_calls > 0);
        if model || asked {
            summary.llm_relationship_validation = StageOutcome::Completed;
        } else if (state.warnings.iter()).any(|warning| warning.code == UNDECIDED) {
            summary.llm_relationship_validation = StageOutcome::Failed;
        }
    }
    summary
}

fn enrichment_state(state: &ScanState) -> EnrichmentState {
    let mut stages = EnrichmentState::default();
    let mut note = |stage: &str, calls: usize, worked: bool| {
        let list = match (worked, calls) {
            (false, _) => &mut stages.failed_stages,
            (true, 0) => &mut stages.resumed_stages,
            (true, _) => &mut stages.completed_stages,
        };
        list.push(stage.to_owned());
    };
    if let Some(profiles) = &state.profiles {
        note(
            "profile",
            profiles.statements,
            profiles.warnings.is_empty() || !profiles.tables.is_empty(),
        );
    }
    if let Some(descriptions) = state
        .descriptions
        .as_ref()
        .filter(|descriptions| descriptions.left == 0)
    {
        let any = descriptions
            .tables
            .values()
            .any(|table| table.table.is_some());
        note(
            "descriptions",
            descriptions.calls,
            any || descriptions.tables.is_empty(),
        );
    }
    if state.relations.is_some() {
        note("relationships", 1, true);
    }
    stages
}
