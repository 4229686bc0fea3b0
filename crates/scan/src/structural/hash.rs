//! The hash of a table's structure.

use ktx_warehouse::Table;

use crate::stage_rows::digest;
use crate::wire::TableArtifact;

/// Excludes the row count.
pub(crate) fn structure_hash(table: &Table) -> String {
    hash_of(&mut TableArtifact::of(table))
}

/// Leaves the artifact unchanged.
pub(crate) fn hash_of(artifact: &mut TableArtifact) -> String {
    let rows = artifact.estimated_rows.take();
    let hash = artifact.structure_hash.take();
    // Plain structs of strings always serialize.
    let text = serde_json::to_string(artifact).unwrap_or_default();
    artifact.estimated_rows = rows;
    artifact.structure_hash = hash;
    digest(["structure-1", text.as_str()])
}
