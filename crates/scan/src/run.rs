//! Runs one scan from start to finish.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ktx_relationships::links::decisions::{Decisions, decisions_path};
use ktx_relationships::links::declared::formal_links;
use ktx_relationships::settings::Switch;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, SchemaReading, SchemaSnapshot, Table};

use crate::budget::Spent;
use crate::describe::known::KnownDescriptions;
use crate::describe::{Descriptions, describe_all};
use crate::estimate::foresee;
use crate::event::{ScanEvent, ScanStage};
use crate::history;
use crate::outcome::{Relations, ScanState, compose_outcome};
use crate::pause::Pause;
use crate::ports::LoggingEvents;
use crate::profile::previous::PreviousProfiles;
use crate::profile::read::{Profiles, read_all};
use crate::relationships::discover::{DiscoveryInput, discover};
use crate::request::{HistoryRead, KeptScan, ScanError, ScanMode, ScanOutcome, ScanRequest};
use crate::spending::Spending;
use crate::stage_rows::{DAMAGED, StageRows};
use crate::stated;
use crate::structural::artifact::table_artifact;
use crate::structural::diff::diff;
use crate::structural::introspect::introspect;
use crate::structural::sync::{Previous, sync_id};
use crate::unchanged::{self, is_complete, recall};
use crate::wire::TableArtifact;

/// Scans one connection.
///
/// A failed step becomes a warning, and the scan continues. An error ends the scan before any
/// change. Finished work always stays in the stage store.
pub async fn scan(request: ScanRequest) -> Result<ScanOutcome, ScanError> {
    let request = &ScanRequest {
        events: Arc::new(LoggingEvents(request.events.clone())),
        ..request
    };
    let rows = StageRows::new(
        request.stages.clone(),
        request.connection.clone(),
        request.reuse,
    );
    let (decisions, decisions_text) = read_decisions(request)?;
    let snapshot = introspect(request).await?;
    let inputs = unchanged::inputs(request, &snapshot, &decisions_text)?;
    if let Some(outcome) = recall(request, &rows, &snapshot, &inputs)? {
        request
            .events
            .event(ScanEvent::Compared(outcome.report.diff_summary));
        request.events.event(ScanEvent::Finished { changes: 0 });
        return Ok(outcome);
    }
    scan_changed(request, &rows, &decisions, &snapshot, inputs).await
}

async fn scan_changed(
    request: &ScanRequest,
    rows: &StageRows,
    decisions: &Decisions,
    snapshot: &SchemaSnapshot,
    inputs: String,
) -> Result<ScanOutcome, ScanError> {
    let previous = Previous::read(request.files.as_ref(), &request.connection)?;
    if snapshot.tables.is_empty() && !previous.tables.is_empty() {
        return Err(ScanError::Emptied {
            connection: request.connection.clone(),
            known: previous.tables.len(),
        });
    }
    let unread = unread_tables(snapshot, &previous);
    let now = artifacts(snapshot, &previous, &unread);
    let mut state = begin(request, snapshot, &previous, (now, unread));
    request.events.event(ScanEvent::Compared(state.summary));
    let spending = Spending::new(request);
    if request.mode >= ScanMode::Relationships {
        if previous.root.is_none() {
            announce(request, &snapshot.tables, rows)?;
        }
        let previous_profiles = PreviousProfiles::read(request, &previous)?;
        let kept = (rows, &previous_profiles);
        let profiles = read_all(request, &snapshot.tables, kept, &spending).await?;
        state.profiles = Some(profiles);
    }
    if request.settings.history.warehouse == Switch::On {
        state.history = HistoryRead::NotRun;
    }
    let pause = Pause::default();
    let empty = BTreeMap::new();
    let profiles = state
        .profiles
        .as_ref()
        .map_or(&empty, |profiles| &profiles.tables);
    if request.mode == ScanMode::Enriched {
        let described = with_samples(&snapshot.tables, state.profiles.as_ref());
        let known = KnownDescriptions::read(request, &previous)?;
        state.warnings.extend(known.warnings.iter().cloned());
        let kept = (rows, &known);
        let mut descriptions = describe_all(request, &described, profiles, kept, &pause).await?;
        descriptions.rest = known.rest(&snapshot.tables, &descriptions.tables);
        if request.runtime.is_some() {
            state.descriptions = Some(descriptions);
        } else {
            state.warnings.push(no_model());
        }
    }
    let all_read = |profiles: &Profiles| profiles.left.is_empty();
    // References to an unread table would go to the next best key.
    if state.profiles.as_ref().is_some_and(all_read) {
        let past = history::read(request, &snapshot.tables, &spending).await?;
        state.warnings.extend(past.warnings);
        state.history = past.read;
        let mut joins = past.joins;
        state.usage = past.usage.unwrap_or_default();
        stated::read(request, &snapshot.tables, &mut joins)?;
        let input = DiscoveryInput {
            tables: &snapshot.tables,
            profiles,
            decisions,
            joins: &joins,
            spending: &spending,
        };
        let discovery = discover(request, input, rows, &pause).await?;
        state.links_left = discovery.left;
        if discovery.left == 0 {
            state.links = discovery.links;
            state.relations = Some(Relations {
                candidates: discovery.candidates,
                statements: discovery.statements,
                model_calls: discovery.model_calls,
                warnings: discovery.warnings,
            });
        }
    }
    if request.cancel.is_cancelled() {
        return Err(ScanError::Cancelled);
    }
    state.paused = pause.error();
    (state.stopped, state.spent) = (spending.stopped(), spending.spent());
    gather_warnings(&mut state);
    request.events.event(ScanEvent::StageStarted {
        stage: ScanStage::Artifacts,
        total: None,
    });
    state.warnings.extend(rebuilt(rows));
    let complete = is_complete(request, &state);
    let mut outcome = compose_outcome(request, snapshot, &previous, state)?;
    if complete {
        outcome.kept = KeptScan::of(request, snapshot, inputs, &outcome.report);
    }
    request.events.event(ScanEvent::Finished {
        changes: outcome.changes.len(),
    });
    Ok(outcome)
}

fn announce(request: &ScanRequest, tables: &[Table], rows: &StageRows) -> Result<(), ScanError> {
    let estimate = foresee(request, tables, rows)?;
    request.events.event(ScanEvent::Estimated(estimate));
    Ok(())
}

fn begin(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    previous: &Previous,
    (now, unread): (BTreeMap<TableRef, TableArtifact>, BTreeSet<String>),
) -> ScanState {
    let summary = diff(&previous.tables, &now);
    let last = request.last_report.as_ref().or(previous.report.as_ref());
    let sync = match last {
        Some(last) if summary.is_empty() => last.sync_id.clone(),
        _ => sync_id(request.now),
    };
    ScanState {
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
        paused: None,
        stopped: None,
        spent: Spent::default(),
        links_left: 0,
        history: HistoryRead::NotWanted,
        usage: BTreeMap::new(),
    }
}

fn read_decisions(request: &ScanRequest) -> Result<(Decisions, String), ScanError> {
    let path = decisions_path(&request.connection);
    let Some(bytes) = request.files.read(&path).map_err(ScanError::file(&path))? else {
        return Ok((Decisions::default(), String::new()));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let decisions =
        Decisions::parse(&text).map_err(|reason| ScanError::Decisions { path, reason })?;
    Ok((decisions, text))
}

/// Without its sample, a table would be described twice.
fn with_samples<'a>(tables: &'a [Table], profiles: Option<&Profiles>) -> Cow<'a, [Table]> {
    match profiles {
        Some(profiles) if !profiles.left.is_empty() => tables
            .iter()
            .filter(|table| profiles.left.binary_search(&table.table).is_err())
            .cloned()
            .collect(),
        _ => Cow::Borrowed(tables),
    }
}

/// Returns tables that can still exist: the catalog warned about them, their schema is unreadable,
/// or an empty catalog warned.
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
    let refused: BTreeSet<&str> = snapshot
        .listing
        .iter()
        .filter(|schema| matches!(schema.reading, SchemaReading::NotGranted { .. }))
        .map(|schema| schema.name.as_str())
        .collect();
    let is_refused = |table: &TableRef| table.db.as_deref().is_some_and(|db| refused.contains(db));
    let places = previous.tables.keys();
    places
        .map(|table| (table, table.to_string()))
        .filter(|(table, place)| {
            let is_told = warned.contains(place.as_str()) || is_refused(table);
            !present.contains(place) && (nothing || is_told)
        })
        .map(|(_, place)| place)
        .collect()
}

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

fn rebuilt(rows: &StageRows) -> Option<ScanWarning> {
    let damaged = rows.damaged();
    (damaged > 0).then(|| ScanWarning {
        code: DAMAGED.to_owned(),
        message: format!(
            "{damaged} stored results of earlier scans are damaged or of another version and were made again"
        ),
        table: None,
        column: None,
        recoverable: true,
    })
}

fn gather_warnings(state: &mut ScanState) {
    let of_profiles = state
        .profiles
        .as_ref()
        .map(|Profiles { warnings, .. }| warnings.clone());
    let of_descriptions = state
        .descriptions
        .as_ref()
        .map(|Descriptions { warnings, .. }| warnings.clone());
    let of_relations = state
        .relations
        .as_ref()
        .map(|relations| relations.warnings.clone());
    state.warnings.extend(unread(state));
    let more = [of_profiles, of_descriptions, of_relations]
        .into_iter()
        .flatten()
        .flatten();
    state.warnings.extend(more);
}

fn unread(state: &ScanState) -> Option<ScanWarning> {
    let reason = state.stopped.as_ref()?;
    let kept = state.profiles.as_ref().map_or(0, Profiles::left_kept);
    let left = state
        .profiles
        .as_ref()
        .map_or(0, |profiles| profiles.left.len())
        - kept;
    let kept = match kept {
        0 => String::new(),
        kept => format!(" {kept} keep those of an earlier scan,"),
    };
    let links = state.links_left;
    Some(ScanWarning {
        code: "scan_stopped".to_owned(),
        message: format!(
            "the scan stopped before its end ({}): {left} tables have no samples,{kept} {links} links are not checked; the next scan continues there",
            reason.text()
        ),
        table: None,
        column: None,
        recoverable: true,
    })
}
