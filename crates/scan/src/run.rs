//! One scan from beginning to end.

use std::collections::{BTreeMap, BTreeSet};

use ktx_vocabulary::TableRef;
use ktx_warehouse::{ErrorKind, ScanWarning, SchemaSnapshot, WarehouseError};

use crate::describe::{Descriptions, describe_all};
use crate::event::{ScanEvent, ScanStage};
use crate::outcome::{Gathered, Relations, compose_outcome};
use crate::profile::read::{Profiles, read_all};
use crate::relationships::decisions::{Decisions, decisions_path};
use crate::relationships::discover::{discover, formal_links};
use crate::request::{ScanError, ScanMode, ScanOutcome, ScanRequest};
use crate::stage_rows::StageRows;
use crate::structural::artifact::table_artifact;
use crate::structural::diff::diff;
use crate::structural::sync::{Previous, sync_id};
use crate::structural::wire::TableArtifact;

/// Scans one connection.
///
/// What cannot be done becomes a warning in the report; the rest of the scan stands. Errors end the
/// scan before anything changes: the structure cannot be read, the model cannot be used at all, a port
/// fails, or the caller cancels. Work that was finished is kept in the stage store in every case.
pub async fn scan(request: ScanRequest) -> Result<ScanOutcome, ScanError> {
    let request = &request;
    let rows = StageRows::new(
        request.stages.clone(),
        request.connection.clone(),
        request.reuse,
    );
    let decisions = read_decisions(request)?;
    let snapshot = introspect(request).await?;
    let previous = Previous::read(request.files.as_ref(), &request.connection)?;
    let unread = unread_tables(&snapshot, &previous);
    let now = artifacts(&snapshot, &previous, &unread);
    let summary = diff(&previous.tables, &now);
    request.events.event(ScanEvent::Compared(summary));
    let sync = match &previous.sync_id {
        Some(last) if summary.is_empty() => last.clone(),
        _ => sync_id(request.now),
    };
    let mut gathered = Gathered {
        warnings: snapshot
            .warnings
            .iter()
            .chain(&previous.warnings)
            .cloned()
            .collect(),
        links: formal_links(&snapshot.tables),
        sync,
        summary,
        now,
        unread,
        profiles: None,
        descriptions: None,
        relations: None,
    };
    if request.mode >= ScanMode::Relationships {
        gathered.profiles = Some(read_all(request, &snapshot.tables, &rows).await?);
    }
    let empty = BTreeMap::new();
    let profiles = gathered
        .profiles
        .as_ref()
        .map_or(&empty, |profiles| &profiles.tables);
    if request.mode == ScanMode::Enriched {
        let descriptions = describe_all(request, &snapshot.tables, profiles, &rows).await?;
        if request.runtime.is_some() {
            gathered.descriptions = Some(descriptions);
        } else {
            gathered.warnings.push(no_model());
        }
    }
    if request.mode >= ScanMode::Relationships {
        let discovery = discover(request, &snapshot.tables, profiles, &decisions, &rows).await?;
        gathered.links.clone_from(&discovery.links);
        gathered.relations = Some(Relations {
            candidates: discovery.candidates,
            statements: discovery.statements,
            model_calls: discovery.model_calls,
            warnings: discovery.warnings,
        });
    }
    if request.cancel.is_cancelled() {
        return Err(ScanError::Cancelled);
    }
    gather_warnings(&mut gathered);
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Artifacts,
        total: None,
    });
    let outcome = compose_outcome(request, &snapshot, &previous, gathered)?;
    request.events.event(ScanEvent::Finished {
        changes: outcome.changes.len(),
    });
    Ok(outcome)
}

fn read_decisions(request: &ScanRequest) -> Result<Decisions, ScanError> {
    let path = decisions_path(&request.connection);
    let Some(bytes) = request.files.read(&path).map_err(ScanError::port(&path))? else {
        return Ok(Decisions::default());
    };
    let text = String::from_utf8_lossy(&bytes);
    Decisions::parse(&text).map_err(|reason| ScanError::Decisions { path, reason })
}

async fn introspect(request: &ScanRequest) -> Result<SchemaSnapshot, ScanError> {
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Structure,
        total: None,
    });
    let result = request
        .connector
        .introspect(&request.scope, &request.cancel)
        .await;
    let mut snapshot = result.map_err(|source| not_read(request, source))?;
    snapshot
        .tables
        .sort_by(|left, right| left.table.cmp(&right.table));
    snapshot
        .tables
        .dedup_by(|later, earlier| later.table == earlier.table);
    let columns = snapshot
        .tables
        .iter()
        .map(|table| table.columns.len())
        .sum();
    request.events.event(ScanEvent::SchemaRead {
        tables: snapshot.tables.len(),
        columns,
    });
    for warning in &snapshot.warnings {
        request.events.event(ScanEvent::Warning(warning.clone()));
    }
    Ok(snapshot)
}

fn not_read(request: &ScanRequest, source: WarehouseError) -> ScanError {
    if source.kind == ErrorKind::Cancelled {
        return ScanError::Cancelled;
    }
    ScanError::Introspect {
        connection: request.connection.clone(),
        source,
    }
}

/// Tables of the last scan whose absence is not certain, by full place: the catalog warned about them,
/// or showed nothing at all and warned.
fn unread_tables(snapshot: &SchemaSnapshot, previous: &Previous) -> BTreeSet<String> {
    let present: BTreeSet<String> = snapshot
        .tables
        .iter()
        .map(|table| table.table.to_string())
        .collect();
    let warned: BTreeSet<&str> = snapshot
        .warnings
        .iter()
        .filter_map(|warning| warning.table.as_deref())
        .collect();
    let nothing = present.is_empty() && !snapshot.warnings.is_empty();
    let places = previous.tables.keys().map(ToString::to_string);
    places
        .filter(|place| !present.contains(place) && (nothing || warned.contains(place.as_str())))
        .collect()
}

/// The tables as artifacts, with those of the last scan whose absence is not certain.
fn artifacts(
    snapshot: &SchemaSnapshot,
    previous: &Previous,
    unread: &BTreeSet<String>,
) -> BTreeMap<TableRef, TableArtifact> {
    let kept = previous
        .tables
        .iter()
        .filter(|(place, _)| unread.contains(&place.to_string()));
    let kept = kept.map(|(place, table)| (place.clone(), table.clone()));
    let read = snapshot
        .tables
        .iter()
        .map(|table| (table.table.clone(), table_artifact(table)));
    kept.chain(read).collect()
}

fn no_model() -> ScanWarning {
    ScanWarning {
        code: "llm_unavailable".to_owned(),
        message: "no model is configured, so no descriptions were written; set `llm.provider.backend` to have them".to_owned(),
        table: None,
        column: None,
        recoverable: true,
    }
}

/// All warnings in one list, in the order of the stages.
fn gather_warnings(gathered: &mut Gathered) {
    let of_profiles = gathered
        .profiles
        .as_ref()
        .map(|Profiles { warnings, .. }| warnings.clone());
    let of_descriptions = gathered
        .descriptions
        .as_ref()
        .map(|Descriptions { warnings, .. }| warnings.clone());
    let of_relations = gathered
        .relations
        .as_ref()
        .map(|relations| relations.warnings.clone());
    let more = [of_profiles, of_descriptions, of_relations]
        .into_iter()
        .flatten()
        .flatten();
    gathered.warnings.extend(more);
}
