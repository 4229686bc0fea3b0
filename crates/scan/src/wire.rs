//! Shapes of the structural artifacts and the report.
//!
//! Names and keys are those of KTX 0.12; new keys can be added. Parsing is tolerant, because other
//! versions also write these files.

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, ScanWarning, Table, TableKind};
use serde::{Deserialize, Serialize};

use crate::difference::DiffSummary;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableArtifact {
    pub(crate) catalog: Option<String>,
    pub(crate) db: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: TableKind,
    pub(crate) comment: Option<String>,
    pub(crate) estimated_rows: Option<u64>,
    pub(crate) columns: Vec<ColumnArtifact>,
    /// One entry per column pair, as in KTX 0.12.
    pub(crate) foreign_keys: Vec<TableForeignKey>,
    /// In key order.
    #[serde(default)]
    pub(crate) primary_key: Vec<String>,
    /// In order.
    #[serde(default)]
    pub(crate) foreign_key_groups: Vec<ForeignKeyGroup>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) structure_hash: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ColumnArtifact {
    pub(crate) name: String,
    pub(crate) native_type: String,
    pub(crate) normalized_type: String,
    pub(crate) dimension_type: DimensionType,
    pub(crate) nullable: bool,
    pub(crate) primary_key: bool,
    pub(crate) comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableForeignKey {
    pub(crate) from_column: String,
    pub(crate) to_catalog: Option<String>,
    pub(crate) to_db: Option<String>,
    pub(crate) to_table: String,
    pub(crate) to_column: String,
    pub(crate) constraint_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForeignKeyGroup {
    pub(crate) constraint_name: Option<String>,
    pub(crate) from_columns: Vec<String>,
    pub(crate) to_table: TableRef,
    pub(crate) to_columns: Vec<String>,
}

impl TableArtifact {
    pub(crate) fn of(table: &Table) -> Self {
        let pairs = table.foreign_keys.iter().flat_map(|key| {
            key.from_columns
                .iter()
                .zip(&key.to_columns)
                .map(|(from, to)| TableForeignKey {
                    from_column: from.clone(),
                    to_catalog: key.to_table.catalog.clone(),
                    to_db: key.to_table.db.clone(),
                    to_table: key.to_table.name.clone(),
                    to_column: to.clone(),
                    constraint_name: key.constraint_name.clone(),
                })
        });
        let groups = table.foreign_keys.iter().map(|key| ForeignKeyGroup {
            constraint_name: key.constraint_name.clone(),
            from_columns: key.from_columns.clone(),
            to_table: key.to_table.clone(),
            to_columns: key.to_columns.clone(),
        });
        Self {
            catalog: table.table.catalog.clone(),
            db: table.table.db.clone(),
            name: table.table.name.clone(),
            kind: table.kind,
            comment: table.comment.clone(),
            estimated_rows: table.estimated_rows,
            columns: table.columns.iter().map(ColumnArtifact::of).collect(),
            foreign_keys: pairs.collect(),
            primary_key: table.primary_key.clone(),
            foreign_key_groups: groups.collect(),
            structure_hash: None,
        }
    }

    pub(crate) fn place(&self) -> TableRef {
        TableRef::new(self.catalog.as_deref(), self.db.as_deref(), &self.name)
    }
}

impl ColumnArtifact {
    fn of(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            native_type: column.native_type.clone(),
            normalized_type: column.normalized_type.clone(),
            dimension_type: column.dimension_type,
            nullable: column.nullable,
            primary_key: column.primary_key,
            comment: column.comment.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectionArtifact {
    pub(crate) connection_id: String,
    pub(crate) driver: String,
    pub(crate) scope: ScopeArtifact,
    pub(crate) metadata: ConnectionMetadata,
}

#[derive(Debug, Serialize)]
pub(crate) struct ScopeArtifact {
    pub(crate) schemas: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tables: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ConnectionMetadata {
    pub(crate) dialect: &'static str,
}

/// A schema that the scan did not read.
#[derive(Debug, Serialize)]
pub(crate) struct LeftOutArtifact {
    pub(crate) schema: String,
    pub(crate) reason: &'static str,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StageOutcome {
    /// Not requested or not possible.
    #[default]
    Skipped,
    Completed,
    /// Without result.
    Failed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnrichmentSummary {
    pub data_dictionary: StageOutcome,
    pub table_descriptions: StageOutcome,
    pub column_descriptions: StageOutcome,
    /// Created by another stage.
    pub embeddings: StageOutcome,
    /// From names and values.
    pub deterministic_relationships: StageOutcome,
    /// Decided by the model.
    pub llm_relationship_validation: StageOutcome,
    /// Checked in the warehouse.
    pub statistical_validation: StageOutcome,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArtifactPaths {
    pub raw_sources_dir: String,
    /// In the local state.
    pub report_path: String,
    pub manifest_shards: Vec<String>,
    pub enrichment_artifacts: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StructuralSyncStats {
    pub tables_created: usize,
    pub tables_updated: usize,
    pub tables_deleted: usize,
    pub columns_created: usize,
    pub columns_updated: usize,
    pub columns_deleted: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnrichmentState {
    /// From earlier runs.
    pub resumed_stages: Vec<String>,
    pub completed_stages: Vec<String>,
    pub failed_stages: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusCounts {
    /// In the manifest.
    pub accepted: usize,
    pub review: usize,
    pub rejected: usize,
    /// Covered by something better.
    pub skipped: usize,
}

impl StatusCounts {
    pub(crate) fn add(&mut self, status: &str) {
        let count = match status {
            "accepted" => &mut self.accepted,
            "review" => &mut self.review,
            "rejected" => &mut self.rejected,
            _ => &mut self.skipped,
        };
        *count += 1;
    }
}

/// `scan-report.json` in the local state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanReport {
    pub connection_id: String,
    pub driver: String,
    /// The id of the last scan that found a different structure.
    pub sync_id: String,
    pub run_id: String,
    pub trigger: String,
    /// `structural`, `relationships` or `enriched`.
    pub mode: String,
    pub dry_run: bool,
    pub artifact_paths: ArtifactPaths,
    pub diff_summary: DiffSummary,
    pub manifest_shards_written: usize,
    pub structural_sync_stats: StructuralSyncStats,
    pub enrichment: EnrichmentSummary,
    /// Missing in the connector.
    pub capability_gaps: Vec<String>,
    pub warnings: Vec<ScanWarning>,
    pub relationships: StatusCounts,
    pub enrichment_state: EnrichmentState,
    /// RFC 3339.
    pub created_at: String,
}
