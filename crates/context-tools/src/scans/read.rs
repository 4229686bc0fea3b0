//! Reads artifacts into a snapshot.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::TableKind;
use serde::de::DeserializeOwned;

use super::{
    LeftOutSchema, Profile, ProfiledColumn, RowsRead, ScanSnapshot, ScannedForeignKey,
    ScannedTable, ValueCounts, ValueRange,
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanFiles {
    pub sync_id: String,
    /// Path (with `/`) and content of `connection.json`, `scan-report.json`, `tables/*.json`,
    /// `left-out/*.json`, `enrichment/profiles/*.json` and, of older versions,
    /// `enrichment/relationship-profile.json`.
    pub files: BTreeMap<String, Vec<u8>>,
    pub unreadable: BTreeMap<String, String>,
}

const PROFILE: &str = "enrichment/relationship-profile.json";

const PROFILES: &str = "enrichment/profiles/";

const LEFT_OUT: &str = "left-out/";

const TABLES: &str = "tables/";

type Unread = BTreeMap<String, String>;

pub fn read_snapshot(scan: &ScanFiles) -> ScanSnapshot {
    let mut unread: Unread = scan.unreadable.clone();
    let connection: Option<wire::Connection> = one(scan, "connection.json", &mut unread);
    let report: Option<wire::Report> = one(scan, "scan-report.json", &mut unread);
    let mut tables: Vec<ScannedTable> = scan
        .files
        .keys()
        .filter(|path| path.starts_with(TABLES))
        .filter_map(|path| one::<wire::Table>(scan, path, &mut unread))
        .map(table)
        .collect();
    tables.sort_by(|left, right| left.table.cmp(&right.table));
    let is_profile = |path: &str| path == PROFILE || path.starts_with(PROFILES);
    let artifacts: Vec<wire::Profile> = scan
        .files
        .keys()
        .filter(|path| is_profile(path))
        .filter_map(|path| one(scan, path, &mut unread))
        .collect();
    let profile = profile(artifacts, &tables);
    let mut left_out: Vec<LeftOutSchema> = scan
        .files
        .keys()
        .filter(|path| path.starts_with(LEFT_OUT))
        .filter_map(|path| one::<wire::LeftOut>(scan, path, &mut unread))
        .map(|left| LeftOutSchema {
            name: left.schema,
            reason: left.reason,
        })
        .collect();
    left_out.sort();
    let extracted_at = connection.and_then(|connection| connection.extracted_at);
    let report = report.unwrap_or_default();
    ScanSnapshot {
        sync_id: report.sync_id.unwrap_or_else(|| scan.sync_id.clone()),
        extracted_at: extracted_at.or(report.created_at),
        run_id: report.run_id,
        tables,
        left_out,
        profile,
        unread_profile: unread.keys().any(|path| is_profile(path)),
        unread_tables: unread
            .keys()
            .filter(|path| path.starts_with(TABLES))
            .count(),
        problems: unread
            .iter()
            .map(|(path, reason)| format!("{}/{path}: {reason}", scan.sync_id))
            .collect(),
    }
}

fn one<T: DeserializeOwned>(scan: &ScanFiles, path: &str, unread: &mut Unread) -> Option<T> {
    let bytes = scan.files.get(path)?;
    match serde_json::from_slice(bytes) {
        Ok(value) => Some(value),
        Err(error) => {
            unread.insert(path.to_owned(), error.to_string());
            None
        }
    }
}

fn table(table: wire::Table) -> ScannedTable {
    let foreign_keys = table.foreign_keys.into_iter().map(|key| ScannedForeignKey {
        from_column: key.from_column,
        to_table: TableRef {
            catalog: key.to_catalog,
            db: key.to_db,
            name: key.to_table,
        },
        to_column: key.to_column,
        constraint_name: key.constraint_name,
    });
    ScannedTable {
        table: TableRef {
            catalog: table.catalog,
            db: table.db,
            name: table.name,
        },
        kind: table.kind.unwrap_or(TableKind::Table),
        comment: table.comment,
        estimated_rows: table.estimated_rows,
        columns: table.columns,
        foreign_keys: foreign_keys.collect(),
    }
}

/// Keys of KTX 0.12 have bare table names.
fn profile(artifacts: Vec<wire::Profile>, tables: &[ScannedTable]) -> Option<Profile> {
    if artifacts.is_empty() {
        return None;
    }
    let mut sampled_rows = 0;
    let mut read = None;
    let mut columns: Vec<ProfiledColumn> = Vec::new();
    for artifact in artifacts {
        read = read.max(
            artifact
                .tables
                .iter()
                .filter_map(|table| table.rows_read)
                .max(),
        );
        let entries = artifact.columns_by_reference.unwrap_or(artifact.columns);
        columns.extend(entries.into_iter().map(|(key, entry)| {
            sampled_rows = sampled_rows.max(entry.row_count.unwrap_or_default());
            let counts = counts(&entry);
            let table = place(entry.table, &key, tables);
            let column = entry
                .column
                .unwrap_or_else(|| key.rsplit('.').next().unwrap_or_default().to_owned());
            ProfiledColumn {
                table,
                column,
                distinct: entry.distinct_count,
                counts,
                values: entry.sample_values.into_iter().filter_map(text).collect(),
                is_complete: entry.sample_values_complete,
                range: range(entry.min_value, entry.max_value, entry.sampled),
            }
        }));
    }
    columns.sort_by(|left, right| (&left.table, &left.column).cmp(&(&right.table, &right.column)));
    Some(Profile {
        sampled_rows: read.unwrap_or(sampled_rows),
        columns,
    })
}

fn place(table: Option<wire::Place>, key: &str, tables: &[ScannedTable]) -> TableRef {
    let name = match table {
        Some(wire::Place::Full(place)) => return place,
        Some(wire::Place::Name(name)) => name,
        None => key
            .rsplit_once('.')
            .map_or(key, |(table, _)| table)
            .to_owned(),
    };
    let known = tables.iter().map(|table| &table.table);
    let mut found = known.filter(|place| place.to_string() == name || place.name == name);
    found
        .next()
        .cloned()
        .unwrap_or_else(|| TableRef::bare(&name))
}

fn counts(entry: &wire::ProfiledColumn) -> Option<ValueCounts> {
    Some(ValueCounts {
        rows: entry.row_count?,
        nulls: entry.null_count?,
        read: if entry.sampled {
            RowsRead::Sample
        } else {
            RowsRead::All
        },
    })
}

fn range(
    least: Option<serde_json::Value>,
    greatest: Option<serde_json::Value>,
    sampled: bool,
) -> Option<ValueRange> {
    Some(ValueRange {
        least: text(least?)?,
        greatest: text(greatest?)?,
        rows: if sampled {
            RowsRead::Sample
        } else {
            RowsRead::All
        },
    })
}

fn text(value: serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

mod wire {
    //! Tolerant shapes: other versions write artifacts too.

    use std::collections::BTreeMap;

    use ktx_vocabulary::TableRef;
    use ktx_warehouse::{Column, TableKind};
    use serde::Deserialize;
    use serde_json::Value;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Connection {
        pub(super) extracted_at: Option<String>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Report {
        pub(super) run_id: Option<String>,
        pub(super) sync_id: Option<String>,
        pub(super) created_at: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    pub(super) struct LeftOut {
        pub(super) schema: String,
        pub(super) reason: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Table {
        pub(super) catalog: Option<String>,
        pub(super) db: Option<String>,
        pub(super) name: String,
        pub(super) kind: Option<TableKind>,
        pub(super) comment: Option<String>,
        pub(super) estimated_rows: Option<u64>,
        #[serde(default)]
        pub(super) columns: Vec<Column>,
        #[serde(default)]
        pub(super) foreign_keys: Vec<ForeignKey>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct ForeignKey {
        pub(super) from_column: String,
        pub(super) to_catalog: Option<String>,
        pub(super) to_db: Option<String>,
        pub(super) to_table: String,
        pub(super) to_column: String,
        pub(super) constraint_name: Option<String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct Profile {
        #[serde(default)]
        pub(super) tables: Vec<ProfiledTable>,
        #[serde(default)]
        pub(super) columns: BTreeMap<String, ProfiledColumn>,
        pub(super) columns_by_reference: Option<BTreeMap<String, ProfiledColumn>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct ProfiledTable {
        pub(super) rows_read: Option<u64>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    pub(super) enum Place {
        Name(String),
        Full(TableRef),
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub(super) struct ProfiledColumn {
        pub(super) table: Option<Place>,
        pub(super) column: Option<String>,
        pub(super) row_count: Option<u64>,
        pub(super) null_count: Option<u64>,
        pub(super) distinct_count: Option<u64>,
        #[serde(default)]
        pub(super) sample_values: Vec<Value>,
        #[serde(default)]
        pub(super) sample_values_complete: bool,
        pub(super) min_value: Option<Value>,
        pub(super) max_value: Option<Value>,
        #[serde(default)]
        pub(super) sampled: bool,
    }
}
