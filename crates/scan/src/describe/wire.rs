//! The shape of `descriptions/*.json`, one file per table.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use serde::{Deserialize, Serialize};

use crate::describe::known::DescribedFrom;
use crate::describe::{Descriptions, LeftOut, TableDescription};

pub(crate) const DESCRIPTIONS: &str = "enrichment/descriptions/";
/// Written by older versions.
pub(crate) const WHOLE_DESCRIPTIONS: &str = "enrichment/descriptions.json";

#[derive(Debug, Serialize)]
pub(crate) struct DescriptionsArtifact {
    pub(crate) tables: Vec<DescribedTable>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DescribedTable {
    pub(crate) table: TableRef,
    pub(crate) table_description: Option<String>,
    pub(crate) columns: Vec<DescribedColumn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left_out_by_model: Option<LeftOut>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) described_from: Option<DescribedFrom>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DescribedColumn {
    pub(crate) name: String,
    pub(crate) description: String,
}

impl DescriptionsArtifact {
    pub(crate) fn of(descriptions: &Descriptions) -> BTreeMap<TableRef, Self> {
        let all = descriptions.tables.iter().chain(&descriptions.rest);
        let artifacts = all.map(|(table, described)| {
            let described = DescribedTable {
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
            };
            let tables = vec![described];
            (table.clone(), Self { tables })
        });
        artifacts.collect()
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
