//! The writer of a commit, from its message, and the records of units.

use ktx_project_store::{FileError, Store, list, read_optional};
use ktx_vocabulary::ConnectionId;
use serde::Serialize;

use crate::ledger::{Entry, UnitOutcome};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Writer {
    Scan { warehouse: String },
    Facts { source: String },
    Unit { source: String, unit: String },
    Curation { source: String },
    Eviction { source: String },
    Reconciliation { source: String },
    Note { noted_by: String },
    Demo,
    Person { title: String },
}

impl Writer {
    pub fn of(message: &str) -> Self {
        let title = message.lines().next().unwrap_or_default().trim();
        let field = |name: &str| {
            let mut lines = message.lines();
            lines.find_map(|line| line.trim().strip_prefix(name).map(str::trim))
        };
        let person = || Self::Person {
            title: title.to_owned(),
        };
        if title.starts_with("ktx demo: ") {
            return Self::Demo;
        }
        if let Some(warehouse) = title.strip_prefix("ktx scan: ") {
            return Self::Scan {
                warehouse: warehouse.to_owned(),
            };
        }
        let Some(work) = title.strip_prefix("ktx ingest: ") else {
            return person();
        };
        if field("ktx-note:").is_some() || field("noted by:").is_some() {
            return Self::Note {
                noted_by: field("noted by:").unwrap_or_default().to_owned(),
            };
        }
        let facts = work
            .strip_prefix("what ")
            .and_then(|rest| rest.strip_suffix(" says about tables"));
        if let Some(source) = facts {
            return Self::Facts {
                source: source.to_owned(),
            };
        }
        let Some((source, work)) = work.split_once(' ') else {
            return person();
        };
        let source = source.to_owned();
        let is_marked = field("ktx-wrote:").is_some() || field("ktx-unit:").is_some();
        match work {
            "reconciled" => Self::Reconciliation { source },
            "without what is gone" => Self::Eviction { source },
            "candidates of documents" => Self::Curation { source },
            unit if is_marked => Self::Unit {
                source,
                unit: unit.to_owned(),
            },
            _ => person(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnitRecord {
    pub source: ConnectionId,
    pub unit: String,
    pub outcome: UnitOutcome,
    pub files: Vec<String>,
    pub pages: Vec<String>,
    pub sources: Vec<String>,
}

/// Returns the units in the ledgers, by source and file. Skips unreadable files.
pub fn unit_records<'a>(
    store: &Store,
    sources: impl IntoIterator<Item = &'a ConnectionId>,
) -> Result<Vec<UnitRecord>, FileError> {
    let mut records = Vec::new();
    for source in sources {
        let folder = store.layout().raw_source(source, "ledger");
        for file in list(&folder)? {
            let bytes = read_optional(&file)?;
            let entry = bytes.and_then(|bytes| Entry::parse(&bytes).ok());
            records.extend(entry.map(|entry| UnitRecord {
                source: source.clone(),
                unit: entry.unit,
                outcome: entry.outcome,
                files: entry.files,
                pages: entry.pages,
                sources: entry.sources,
            }));
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(message: &str) -> String {
        serde_json::to_string(&Writer::of(message)).unwrap()
    }

    #[test]
    fn a_message_says_who_wrote_a_commit() {
        let messages = [
            "ktx scan: warehouse\n",
            "ktx ingest: what shop-dbt says about tables\n",
            "ktx ingest: shop-dbt dbt-models-orders\n\npages: revenue\nktx-unit: 00ff\n",
            "ktx ingest: team-notes candidates of documents\n",
            "ktx ingest: shop-dbt reconciled\n",
            "ktx ingest: shop-dbt without what is gone\n\npages: revenue\nktx-wrote: 00ff\n",
            "ktx ingest: refunds are negative\n\nnoted by: Ada Test\nktx-note: 11\n",
            "ktx demo: a sample project\n",
            "The currency of revenue\n\nktx ingest: shop-dbt dbt-all\n",
            "ktx ingest: by hand this time\n",
            "",
        ];
        let written: Vec<String> = messages.into_iter().map(writer).collect();
        insta::assert_snapshot!(written.join("\n"), @r#"
        {"kind":"scan","warehouse":"warehouse"}
        {"kind":"facts","source":"shop-dbt"}
        {"kind":"unit","source":"shop-dbt","unit":"dbt-models-orders"}
        {"kind":"curation","source":"team-notes"}
        {"kind":"reconciliation","source":"shop-dbt"}
        {"kind":"eviction","source":"shop-dbt"}
        {"kind":"note","noted_by":"Ada Test"}
        {"kind":"demo"}
        {"kind":"person","title":"The currency of revenue"}
        {"kind":"person","title":"ktx ingest: by hand this time"}
        {"kind":"person","title":""}
        "#);
    }
}
