//! Turns what a scan gathered into file changes and the report.

mod files;

use std::collections::{BTreeMap, BTreeSet};

use ktx_llm_runtime::LlmError;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, SchemaSnapshot};

use crate::describe::Descriptions;
use crate::describe::wire::DescriptionsArtifact;
use crate::history::usage::Usage;
use crate::manifest::merge::{Manifest, ManifestInput, compose};
use crate::manifest::shard::renamed;
use crate::outcome::files::Files;
use crate::profile::read::Profiles;
use crate::profile::wire::{PROFILE, ProfileArtifact};
use crate::relationships::adjudicate::UNDECIDED;
use crate::relationships::link::{Check, Link, Origin};
use crate::relationships::wire::{
    DiagnosticsArtifact, Policy, RelationshipsArtifact, StatusCounts, Thresholds,
    ValidationSummary, no_accepted_reason,
};
use crate::request::{
    HistoryRead, Paused, ScanError, ScanMode, ScanOutcome, ScanRequest, Stopped, Writing,
};
use crate::settings::Switch;
use crate::spending::{Spent, StopReason};
use crate::structural::artifact::{json, structural_files};
use crate::structural::diff::DiffSummary;
use crate::structural::sync::{Previous, syncs_folder};
use crate::structural::wire::{
    ArtifactPaths, EnrichmentState, EnrichmentSummary, ScanReport, StageOutcome, TableArtifact,
    WarningsArtifact,
};

/// Keys of the report that tell about the run, not about the warehouse.
const OF_THE_RUN: &[&str] = &[
    "runId",
    "createdAt",
    "trigger",
    "mode",
    "dryRun",
    "diffSummary",
    "manifestShardsWritten",
    "structuralSyncStats",
    "enrichmentState",
];

/// Everything that a scan found out.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The sync folder's name.
    pub(crate) sync: String,
    /// What changed.
    pub(crate) summary: DiffSummary,
    /// The tables.
    pub(crate) now: BTreeMap<TableRef, TableArtifact>,
    /// Tables whose absence is not certain.
    pub(crate) unread: BTreeSet<String>,
    /// All links.
    pub(crate) links: Vec<Link>,
    /// All warnings.
    pub(crate) warnings: Vec<ScanWarning>,
    /// Samples, when they were read.
    pub(crate) profiles: Option<Profiles>,
    /// Descriptions, when there was a model.
    pub(crate) descriptions: Option<Descriptions>,
    /// Discovery, when it ran.
    pub(crate) relations: Option<Relations>,
    /// Why the model stopped in the middle.
    pub(crate) paused: Option<LlmError>,
    /// Why the warehouse was not read to the end.
    pub(crate) stopped: Option<StopReason>,
    /// What was spent there.
    pub(crate) spent: Spent,
    /// Links that could not be checked for that.
    pub(crate) links_left: usize,
    /// What became of the record of past queries.
    pub(crate) history: HistoryRead,
    /// How past queries use tables.
    pub(crate) usage: Usage,
}

/// What discovery cost.
#[derive(Debug)]
pub(crate) struct Relations {
    pub(crate) candidates: usize,
    pub(crate) statements: usize,
    pub(crate) model_calls: usize,
    pub(crate) warnings: Vec<ScanWarning>,
}

/// Composes the changes and the report.
pub(crate) fn compose_outcome(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    previous: &Previous,
    mut gathered: Gathered,
) -> Result<ScanOutcome, ScanError> {
    let none = BTreeMap::new();
    let described = gathered
        .descriptions
        .as_ref()
        .map_or(&none, |descriptions| &descriptions.tables);
    let manifest = compose(&ManifestInput {
        request,
        tables: &snapshot.tables,
        unread: &gathered.unread,
        links: &gathered.links,
        profiles: gathered.profiles.as_ref().map(|read| &read.tables),
        descriptions: described,
        usage: &gathered.usage,
    })?;
    gathered.warnings.extend(manifest.warnings.iter().cloned());
    let folder = format!("{}/{}", syncs_folder(&request.connection), gathered.sync);
    let mut files = Files {
        request,
        previous,
        folder: &folder,
        changes: manifest.changes.clone(),
        paths: BTreeSet::new(),
    };
    let new = previous.sync_id.as_ref() != Some(&gathered.sync);
    if new {
        let now = &gathered.now;
        for (name, bytes) in structural_files(request, snapshot, now, &gathered.warnings)? {
            files.put(&name, bytes, &[])?;
        }
    } else if request.mode > ScanMode::Structural {
        let warnings = WarningsArtifact {
            warnings: gathered.warnings.clone(),
        };
        files.put("warnings.json", json(&warnings)?, &[])?;
    }
    for (name, bytes, volatile) in enrichment_files(request, snapshot, &gathered)? {
        files.put(&name, bytes, volatile)?;
    }
    let enrichment_artifacts = files.keep_enrichment()?;
    let report = report(
        request,
        previous,
        &gathered,
        &manifest,
        Place {
            folder: &folder,
            enrichment_artifacts,
        },
    );
    let unimportant: Vec<&str> = match request.mode {
        ScanMode::Structural => OF_THE_RUN.iter().copied().chain(["warnings"]).collect(),
        _ => OF_THE_RUN.to_vec(),
    };
    let unimportant: &[&str] = if files.changes.is_empty() {
        &unimportant
    } else {
        &["runId"]
    };
    files.put("scan-report.json", json(&report)?, unimportant)?;
    if new {
        files.remove_older();
    }
    let mut changes = files.changes;
    changes.sort();
    if request.writing == Writing::DryRun {
        changes.clear();
    }
    let stopped = stopped(&gathered, snapshot.tables.len());
    let paused = paused(&gathered, snapshot.tables.len());
    Ok(ScanOutcome {
        sync_id: gathered.sync,
        changes,
        report,
        profile_statements: gathered
            .profiles
            .as_ref()
            .map_or(0, |profiles| profiles.statements),
        validation_statements: gathered
            .relations
            .as_ref()
            .map_or(0, |relations| relations.statements),
        model_calls: gathered
            .relations
            .as_ref()
            .map_or(0, |relations| relations.model_calls)
            + gathered
                .descriptions
                .as_ref()
                .map_or(0, |descriptions| descriptions.calls),
        spent: gathered.spent,
        history: gathered.history,
        schemas: snapshot.listing.clone(),
        renamed: renamed(
            request.connector.dialect(),
            previous.tables.keys(),
            gathered.now.keys(),
        ),
        stopped,
        paused,
    })
}

fn paused(gathered: &Gathered, tables: usize) -> Option<Paused> {
    let error = gathered.paused.clone()?;
    let descriptions = gathered.descriptions.as_ref();
    Some(Paused {
        error,
        left: descriptions.map_or(0, |descriptions| descriptions.left),
        tables,
    })
}

fn stopped(gathered: &Gathered, tables: usize) -> Option<Stopped> {
    let reason = gathered.stopped.clone()?;
    let profiles = gathered.profiles.as_ref();
    Some(Stopped {
        reason,
        tables_left: profiles.map_or(0, |profiles| profiles.left.len()),
        tables_kept: profiles.map_or(0, Profiles::left_kept),
        tables,
        links_left: gathered.links_left,
    })
}

type NamedFile = (String, Vec<u8>, &'static [&'static str]);

fn enrichment_files(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    gathered: &Gathered,
) -> Result<Vec<NamedFile>, ScanError> {
    let connection = request.connection.as_str();
    let mut files: Vec<NamedFile> = Vec::new();
    if let Some(descriptions) = &gathered.descriptions {
        let artifact = DescriptionsArtifact::of(connection, descriptions);
        files.push((
            "enrichment/descriptions.json".to_owned(),
            json(&artifact)?,
            &[],
        ));
    }
    if let Some(profiles) = &gathered.profiles {
        let mut artifact = ProfileArtifact {
            connection_id: connection.to_owned(),
            driver: request.driver.clone(),
            sql_available: !profiles.tables.is_empty()
                || !profiles.kept.is_empty()
                || snapshot.tables.is_empty(),
            query_count: 0,
            tables: Vec::new(),
            columns: BTreeMap::new(),
            columns_by_reference: BTreeMap::new(),
            warnings: profiles
                .warnings
                .iter()
                .map(|warning| warning.message.clone())
                .collect(),
        };
        for table in &snapshot.tables {
            if let Some(profile) = profiles.tables.get(&table.table) {
                artifact.add(table, profile, &request.settings);
            } else if let Some(kept) = profiles.kept.get(&table.table) {
                artifact.keep(kept);
            }
        }
        artifact.query_count = artifact.tables.iter().map(|table| table.query_count).sum();
        files.push((PROFILE.to_owned(), json(&artifact)?, &[]));
    }
    if let Some(relations) = &gathered.relations {
        let artifact = RelationshipsArtifact::of(connection, &gathered.links);
        files.push((
            "enrichment/relationships.json".to_owned(),
            json(&artifact)?,
            &[],
        ));
        let artifact = diagnostics(request, gathered, relations);
        files.push((
            "enrichment/relationship-diagnostics.json".to_owned(),
            json(&artifact)?,
            &["generatedAt"],
        ));
    }
    Ok(files)
}

fn diagnostics(
    request: &ScanRequest,
    gathered: &Gathered,
    relations: &Relations,
) -> DiagnosticsArtifact {
    let settings = &request.settings.relationships;
    let mut by_source: BTreeMap<&'static str, usize> = BTreeMap::new();
    for link in &gathered.links {
        *by_source.entry(link.origin.name()).or_insert(0) += 1;
    }
    by_source.insert("compared_pairs", relations.candidates);
    let summary = StatusCounts::of(&gathered.links);
    let profiled = gathered
        .profiles
        .as_ref()
        .is_some_and(|profiles| !profiles.tables.is_empty());
    let probed = gathered
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
        profile_warnings: gathered
            .profiles
            .as_ref()
            .map(|profiles| messages(&profiles.warnings))
            .unwrap_or_default(),
    }
}

struct Place<'a> {
    folder: &'a str,
    enrichment_artifacts: Vec<String>,
}

fn report(
    request: &ScanRequest,
    previous: &Previous,
    gathered: &Gathered,
    manifest: &Manifest,
    place: Place<'_>,
) -> ScanReport {
    let before = previous.report.as_ref();
    let relationships = match (&gathered.relations, before) {
        (None, Some(before)) => before.relationships,
        _ => StatusCounts::of(&gathered.links),
    };
    let enrichment = enrichment(gathered, before.map(|report| report.enrichment));
    let carried = before.filter(|report| deeper(&report.mode) > deeper(request.mode.name()));
    ScanReport {
        connection_id: request.connection.to_string(),
        driver: request.driver.clone(),
        sync_id: gathered.sync.clone(),
        run_id: request.run_id.to_string(),
        trigger: request.trigger.name().to_owned(),
        mode: carried
            .map_or(request.mode.name(), |report| &report.mode)
            .to_owned(),
        dry_run: request.writing == Writing::DryRun,
        artifact_paths: ArtifactPaths {
            raw_sources_dir: place.folder.to_owned(),
            report_path: format!("{}/scan-report.json", place.folder),
            manifest_shards: manifest.shards.clone(),
            enrichment_artifacts: place.enrichment_artifacts,
        },
        diff_summary: gathered.summary,
        manifest_shards_written: manifest.changes.len(),
        structural_sync_stats: gathered.summary.stats(),
        enrichment,
        capability_gaps: Vec::new(),
        warnings: gathered.warnings.clone(),
        relationships,
        enrichment_state: state(gathered),
        created_at: request.now.to_string(),
    }
}

/// How much a mode does: enrichment of an earlier scan that is carried over keeps its mode.
fn deeper(mode: &str) -> usize {
    ["structural", "relationships", "enriched"]
        .iter()
        .position(|known| *known == mode)
        .unwrap_or(0)
}

/// What this scan did; where it did nothing, what stands there from before.
fn enrichment(gathered: &Gathered, before: Option<EnrichmentSummary>) -> EnrichmentSummary {
    let before = before.unwrap_or_default();
    let mut summary = before;
    if let Some(profiles) = &gathered.profiles {
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
    if let Some(descriptions) = &gathered.descriptions {
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
    if gathered.relations.is_some() {
        summary.deterministic_relationships = StageOutcome::Completed;
        let model = gathered
            .links
            .iter()
            .any(|link| link.origin == Origin::Model);
        let asked = gathered
            .relations
            .as_ref()
            .is_some_and(|relations| relations.model_calls > 0);
        if model || asked {
            summary.llm_relationship_validation = StageOutcome::Completed;
        } else if (gathered.warnings.iter()).any(|warning| warning.code == UNDECIDED) {
            summary.llm_relationship_validation = StageOutcome::Failed;
        }
    }
    summary
}

fn state(gathered: &Gathered) -> EnrichmentState {
    let mut state = EnrichmentState::default();
    let mut note = |stage: &str, calls: usize, worked: bool| {
        let list = match (worked, calls) {
            (false, _) => &mut state.failed_stages,
            (true, 0) => &mut state.resumed_stages,
            (true, _) => &mut state.completed_stages,
        };
        list.push(stage.to_owned());
    };
    if let Some(profiles) = &gathered.profiles {
        note(
            "profile",
            profiles.statements,
            profiles.warnings.is_empty() || !profiles.tables.is_empty(),
        );
    }
    if let Some(descriptions) = gathered
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
    if gathered.relations.is_some() {
        note("relationships", 1, true);
    }
    state
}
