//! The texts and names of the structural artifacts.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ScanWarning, SchemaSnapshot, Table};
use serde::Serialize;

use crate::request::{ScanError, ScanRequest};
use crate::stage_rows::digest;
use crate::structural::hash::hash_of;
use crate::structural::wire::{
    ConnectionArtifact, ConnectionMetadata, ForeignKeysArtifact, ListedForeignKey, ScopeArtifact,
    TableArtifact, WarningsArtifact,
};

/// Two-space JSON with a closing line end.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, ScanError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| ScanError::Internal {
        reason: format!("an artifact could not be written: {error}"),
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Bytes of a file's name that every file system takes, its ending left out.
const LONGEST_NAME: usize = 240;

/// `tables/<c>.<d>.<n>.json`: the parts in base64url, `_` for an absent one. Where that is longer than
/// a file's name may be, its beginning and a digest of the whole.
pub(crate) fn table_file(table: &TableRef) -> String {
    let part = |part: Option<&str>| {
        part.map_or_else(|| "_".to_owned(), |part| URL_SAFE_NO_PAD.encode(part))
    };
    let (catalog, db) = (part(table.catalog.as_deref()), part(table.db.as_deref()));
    let name = format!("{catalog}.{db}.{}", part(Some(&table.name)));
    if name.len() <= LONGEST_NAME {
        return format!("tables/{name}.json");
    }
    let digest = digest(["table-file-1", name.as_str()]);
    let kept = LONGEST_NAME.saturating_sub(digest.len() + 1);
    let begins = name.get(..kept).unwrap_or_default();
    format!("tables/{begins}~{digest}.json")
}

/// The artifact of a table, with its hash.
pub(crate) fn table_artifact(table: &Table) -> TableArtifact {
    let mut artifact = TableArtifact::of(table);
    artifact.structure_hash = Some(hash_of(&mut artifact));
    artifact
}

/// The structural files of a sync folder, by name in the folder; `now` holds the artifacts of the
/// tables, and of those whose absence is not certain.
pub(crate) fn structural_files(
    request: &ScanRequest,
    snapshot: &SchemaSnapshot,
    now: &BTreeMap<TableRef, TableArtifact>,
    warnings: &[ScanWarning],
) -> Result<Vec<(String, Vec<u8>)>, ScanError> {
    let connection = ConnectionArtifact {
        connection_id: request.connection.to_string(),
        driver: request.driver.clone(),
        extracted_at: request.now.to_string(),
        scope: ScopeArtifact {
            schemas: snapshot.schemas.clone(),
            tables: request.scope.tables.clone(),
        },
        metadata: ConnectionMetadata {
            dialect: request.connector.dialect().name(),
        },
        table_count: snapshot.tables.len(),
    };
    let mut foreign_keys: Vec<ListedForeignKey> =
        snapshot.tables.iter().flat_map(listed_keys).collect();
    foreign_keys.sort();
    let mut files = vec![
        ("connection.json".to_owned(), json(&connection)?),
        (
            "foreign-keys.json".to_owned(),
            json(&ForeignKeysArtifact { foreign_keys })?,
        ),
        (
            "warnings.json".to_owned(),
            json(&WarningsArtifact {
                warnings: warnings.to_vec(),
            })?,
        ),
    ];
    for (place, table) in now {
        files.push((table_file(place), json(table)?));
    }
    Ok(files)
}

fn listed_keys(table: &Table) -> Vec<ListedForeignKey> {
    let pairs = table.foreign_keys.iter().flat_map(|key| {
        key.from_columns
            .iter()
            .zip(&key.to_columns)
            .map(|(from, to)| ListedForeignKey {
                from_table: table.table.name.clone(),
                from_table_path: table_file(&table.table),
                from_column: from.clone(),
                to_catalog: key.to_table.catalog.clone(),
                to_db: key.to_table.db.clone(),
                to_table: key.to_table.name.clone(),
                to_column: to.clone(),
                constraint_name: key.constraint_name.clone(),
            })
    });
    pairs.collect()
}
