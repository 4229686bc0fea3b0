//! The serialised shape of `descriptions.json`.

use ktx_vocabulary::TableRef;
use serde::Serialize;

use crate::describe::{Descriptions, LeftOut};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescriptionsArtifact {
    pub(crate) connection_id: String,
    pub(crate) tables: Vec<DescribedTable>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribedTable {
    pub(crate) table: TableRef,
    pub(crate) table_description: Option<String>,
    pub(crate) columns: Vec<DescribedColumn>,
    /// Columns that the model left out though it was asked twice; absent when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) left_out_by_model: Option<LeftOut>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DescribedColumn {
    pub(crate) name: String,
    pub(crate) description: String,
}

impl DescriptionsArtifact {
    pub(crate) fn of(connection: &str, descriptions: &Descriptions) -> Self {
        let tables = descriptions
            .tables
            .iter()
            .map(|(table, described)| DescribedTable {
                table: table.clone(),
                table_description: described.table.clone(),
                columns: described
                    .columns
                    .iter()
                    .map(|(name, description)| DescribedColumn {
                        name: name.clone(),
                        description: description.clone(),
                    })
                    .collect(),
                left_out_by_model: described.left_out.clone(),
            });
        Self {
            connection_id: connection.to_owned(),
            tables: tables.collect(),
        }
    }
}
