//! The hash of a table's structure: equal hashes mean that nothing has to be done again.

use ktx_warehouse::Table;

use crate::stage_rows::digest;
use crate::structural::wire::TableArtifact;

/// The hash of everything that the catalog says about a table, but for its number of rows.
pub(crate) fn structure_hash(table: &Table) -> String {
    let mut artifact = TableArtifact::of(table);
    artifact.estimated_rows = None;
    artifact.structure_hash = None;
    // Serialising plain structs of strings cannot fail; an empty text would only cost work twice.
    let text = serde_json::to_string(&artifact).unwrap_or_default();
    digest(["structure-1", text.as_str()])
}
