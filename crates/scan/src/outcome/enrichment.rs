//! Writes the enrichment files: one per table and kind.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::SchemaSnapshot;

use super::ScanState;
use super::files::Files;
use crate::describe::wire::{DESCRIPTIONS, DescriptionsArtifact, WHOLE_DESCRIPTIONS};
use crate::profile::wire::{PROFILES, ProfileArtifact, WHOLE_PROFILE};
use crate::relationships::homes::Homes;
use crate::relationships::wire::{RELATIONSHIPS, RelationshipsArtifact, WHOLE_RELATIONSHIPS};
use crate::request::{ScanError, ScanRequest};
use crate::structural::artifact::{json, table_stem};

/// Keeps the files of stages that did not run.
pub(super) fn put(
    files: &mut Files<'_>,
    (request, snapshot): (&ScanRequest, &SchemaSnapshot),
    state: &ScanState,
    homes: &Homes,
) -> Result<(), ScanError> {
    let unread: Vec<&TableRef> = state
        .now
        .keys()
        .filter(|table| state.unread.contains(&table.to_string()))
        .collect();
    if let Some(descriptions) = &state.descriptions {
        for (table, artifact) in DescriptionsArtifact::of(descriptions) {
            files.put(&file(DESCRIPTIONS, &table), json(&artifact)?)?;
        }
        keep(files, DESCRIPTIONS, unread.iter().copied())?;
    } else {
        files.keep(WHOLE_DESCRIPTIONS)?;
        keep(files, DESCRIPTIONS, state.now.keys())?;
    }
    if state.profiles.is_some() {
        for (table, artifact) in profiles(request, snapshot, state) {
            files.put(&file(PROFILES, table), json(&artifact)?)?;
        }
        keep(files, PROFILES, unread.iter().copied())?;
    } else {
        files.keep(WHOLE_PROFILE)?;
        keep(files, PROFILES, state.now.keys())?;
    }
    if state.relations.is_some() {
        for (table, links) in homes.assign(&state.links) {
            let artifact = RelationshipsArtifact::of(&links);
            files.put(&file(RELATIONSHIPS, &table), json(&artifact)?)?;
        }
    } else {
        files.keep(WHOLE_RELATIONSHIPS)?;
        keep(files, RELATIONSHIPS, state.now.keys())?;
    }
    Ok(())
}

fn keep<'t>(
    files: &mut Files<'_>,
    folder: &str,
    tables: impl Iterator<Item = &'t TableRef>,
) -> Result<(), ScanError> {
    for table in tables {
        files.keep(&file(folder, table))?;
    }
    Ok(())
}

fn file(folder: &str, table: &TableRef) -> String {
    format!("{folder}{}.json", table_stem(table))
}

fn profiles<'s>(
    request: &ScanRequest,
    snapshot: &'s SchemaSnapshot,
    state: &ScanState,
) -> BTreeMap<&'s TableRef, ProfileArtifact> {
    let mut artifacts = BTreeMap::new();
    let Some(profiles) = &state.profiles else {
        return artifacts;
    };
    for table in &snapshot.tables {
        let mut artifact = ProfileArtifact::default();
        if let Some(profile) = profiles.tables.get(&table.table) {
            artifact.add(table, profile, &request.settings);
        } else if let Some(kept) = profiles.kept.get(&table.table) {
            artifact.keep(kept);
        } else {
            continue;
        }
        let place = table.table.to_string();
        let warnings = profiles.warnings.iter();
        artifact.warnings = warnings
            .filter(|warning| warning.table.as_deref() == Some(place.as_str()))
            .map(|warning| warning.message.clone())
            .collect();
        artifacts.insert(&table.table, artifact);
    }
    artifacts
}
