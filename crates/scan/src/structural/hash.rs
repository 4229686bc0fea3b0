//! The hash of a table's structure: equal hashes mean that nothing has to be done again.

use ktx_warehouse::Table;

use crate::stage_rows::digest;
use crate::structural::wire::TableArtifact;

/// The hash of everything that the catalog says about a table, but for its number of rows.
pub(crate) fn structure_hash(table: &Table) -> String {
    hash_of(&mut TableArtifact::of(table))
}

/// The same of a table's artifact, which is as before afterwards.
pub(crate) fn hash_of(artifact: &mut TableArtifact) -> String {
    let rows = artifact.estimated_rows.take();
    let hash = artifact.structure_hash.take();
    // Serialising plain structs of strings cannot fail; an empty text would only cost work twice.
    let text = serde_json::to_string(artifact).unwrap_or_default();
    artifact.estimated_rows = rows;
    artifact.structure_hash = hash;
    digest(["structure-1", text.as_str()])
}
