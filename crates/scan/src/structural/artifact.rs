//! Contents and names of the structural artifacts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{SchemaReading, SchemaSnapshot, Table};
use serde::Serialize;

use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::digest;
use crate::structural::hash::hash_of;
use crate::wire::{
    ConnectionArtifact, ConnectionMetadata, LeftOutArtifact, ScopeArtifact, TableArtifact,
};

pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, ScanError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| ScanError::Internal {
        reason: format!("an artifact could not be written: {error}"),
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Every file system accepts this, plus an extension.
const LONGEST_NAME: usize = 240;

/// Returns `<c>.<d>.<n>`: base64url parts, `_` for an absent one. A long name is truncated and gets
/// a digest.
pub(crate) fn table_stem(table: &TableRef) -> String {
    let part = |part: Option<&str>| {
        part.map_or_else(|| "_".to_owned(), |part| URL_SAFE_NO_PAD.encode(part))
    };
    let (catalog, db) = (part(table.catalog.as_deref()), part(table.db.as_deref()));
    let name = format!("{catalog}.{db}.{}", part(Some(&table.name)));
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let digest = digest(["table-file-1", name.as_str()]);
    let kept = LONGEST_NAME.saturating_sub(digest.len() + 1);
    let begins = name.get(..kept).unwrap_or_default();
    format!("{begins}~{digest}")
}

pub(crate) fn table_file(table: &TableRef) -> String {
    format!("tables/{}.json", table_stem(table))
}

pub(crate) fn table_artifact(table: &Table) -> TableArtifact {
    let mut artifact = TableArtifact::of(table);
    artifact.structure_hash = Some(hash_of(&mut artifact));
    artifact
}

/// Only values from `ktx.yaml`, so that no table changes the file.
pub(crate) fn connection_file(request: &ScanRequest) -> Result<(&'static str, Vec<u8>), ScanError> {
    let connection = ConnectionArtifact {
        connection_id: request.connection.to_string(),
        driver: request.driver.clone(),
        scope: ScopeArtifact {
            schemas: request.scope.schemas.clone(),
            tables: request.scope.tables.clone(),
        },
        metadata: ConnectionMetadata {
            dialect: request.connector.dialect().name(),
        },
    };
    Ok(("connection.json", json(&connection)?))
}

pub(crate) fn left_out_files(
    snapshot: &SchemaSnapshot,
) -> Result<Vec<(String, Vec<u8>)>, ScanError> {
    let left = snapshot.listing.iter().filter_map(|schema| {
        let reason = match schema.reading {
            SchemaReading::Read => return None,
            SchemaReading::NotNamed => "not_named",
            SchemaReading::NotGranted { .. } => "not_granted",
        };
        let artifact = LeftOutArtifact {
            schema: schema.name.clone(),
            reason,
        };
        let stem = table_stem(&TableRef::bare(&schema.name));
        Some(json(&artifact).map(|bytes| (format!("left-out/{stem}.json"), bytes)))
    });
    left.collect()
}
