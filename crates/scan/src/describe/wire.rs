//! The serialised shape of `descriptions.json`.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::describe::known::DescribedFrom;
use crate::describe::{Descriptions, LeftOut, TableDescription};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescriptionsArtifact {
    pub(crate) connection_id: String,
    pub(crate) tables: Vec<DescribedTable>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribedTable {
    pub(crate) table: TableRef,
    pub(crate) table_description: Option<String>,
    pub(crate) columns: Vec<DescribedColumn>,
    /// Columns that the model left out though it was asked twice; absent when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left_out_by_model: Option<LeftOut>,
    /// The state of the table that was described: as long as it holds, nothing is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) described_from: Option<DescribedFrom>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DescribedColumn {
    pub(crate) name: String,
    pub(crate) description: String,
}

impl DescriptionsArtifact {
    pub(crate) fn of(connection: &str, descriptions: &Descriptions) -> Self {
        let all: BTreeMap<_, _> = descriptions
            .tables
            .iter()
            .chain(&descriptions.rest)
            .collect();
        let tables = all.into_iter().map(|(table, described)| DescribedTable {
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
            described_from: described.from.clone(),
        });
        Self {
            connection_id: connection.to_owned(),
            tables: tables.collect(),
        }
    }
}

impl From<DescribedTable> for TableDescription {
    fn from(table: DescribedTable) -> Self {
        let columns = table.columns.into_iter();
        Self {
            table: table.table_description,
            columns: columns
                .map(|column| (column.name, column.description))
                .collect(),
            left_out: table.left_out_by_model,
            from: table.described_from,
        }
    }
}
