//! Reads BigQuery datasets: six queries per dataset. A failed optional view becomes a warning.

use std::collections::BTreeMap;

use futures_util::future::join;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Cell, Column, ErrorKind, QueryResult, SchemaCheck, SchemaReport, SchemaSnapshot, SchemaState,
    Scope, TableKind, WarehouseError,
};
use tokio_util::sync::CancellationToken;

use super::options::Dataset;
use super::{BigQuery, cell, role};
use crate::assembly::{ForeignKeyColumn, SnapshotAssembly};
use crate::rest;
use crate::rows::TextCells;

/// Without datasets in the scope, reads the whole project.
pub(super) async fn read(
    connector: &BigQuery,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<SchemaSnapshot, WarehouseError> {
    let options = connector.api.options();
    let wanted: Vec<(String, Dataset)> = if scope.schemas.is_empty() {
        let found = datasets(connector).await?;
        found
            .into_iter()
            .map(|name| (name.clone(), Dataset::parse(&name, &options.project)))
            .collect()
    } else {
        let named = scope.schemas.iter();
        named
            .map(|name| (name.clone(), Dataset::parse(name, &options.project)))
            .collect()
    };
    let mut assembly = SnapshotAssembly::default();
    let mut schemas = Vec::new();
    for (name, dataset) in wanted {
        let reader = DatasetReader {
            connector,
            dataset: &dataset,
            cancel,
        };
        if reader.read(scope, &mut assembly).await? {
            schemas.push(name);
        }
    }
    Ok(assembly.finish(schemas))
}

pub(super) async fn check_schemas(
    connector: &BigQuery,
    names: &[String],
) -> Result<SchemaReport, WarehouseError> {
    let api = &connector.api;
    let mut report = SchemaReport::default();
    for name in names {
        let dataset = Dataset::parse(name, &api.options().project);
        let path = format!("datasets/{}", dataset.name);
        let state = match api.get(&dataset.project, path, Vec::new()).await {
            Ok(_) => SchemaState::Found,
            Err(error) if error.kind == ErrorKind::NotFound => SchemaState::NotFound,
            Err(error) if error.kind == ErrorKind::Permission => SchemaState::NotGranted {
                fix: vec![role::viewer_grant(api, &dataset)],
            },
            Err(error) => return Err(error),
        };
        report.asked.push(SchemaCheck {
            name: name.clone(),
            state,
        });
    }
    let missing = |check: &SchemaCheck| check.state == SchemaState::NotFound;
    if report.asked.iter().any(missing) {
        report.shown = match datasets(connector).await {
            // The list helps to correct the name.
            Err(error) if error.kind == ErrorKind::Permission => Vec::new(),
            shown => shown?,
        };
    }
    Ok(report)
}

async fn datasets(connector: &BigQuery) -> Result<Vec<String>, WarehouseError> {
    let api = &connector.api;
    let project = api.options().project.as_str();
    let mut names = Vec::new();
    let mut token: Option<String> = None;
    loop {
        let mut query = vec![("maxResults", "1000".to_owned())];
        query.extend(token.map(|token| ("pageToken", token)));
        let page = api.get(project, "datasets".to_owned(), query).await?;
        let list = page
            .pointer("/datasets")
            .and_then(serde_json::Value::as_array);
        names.extend(
            list.into_iter()
                .flatten()
                .filter_map(|entry| rest::text(entry, "/datasetReference/datasetId"))
                .map(str::to_owned),
        );
        match rest::text(&page, "/nextPageToken") {
            Some(next) => token = Some(next.to_owned()),
            None => return Ok(names),
        }
    }
}

struct DatasetReader<'a> {
    connector: &'a BigQuery,
    dataset: &'a Dataset,
    cancel: &'a CancellationToken,
}

struct KeyColumn {
    constraint: String,
    column: String,
    /// For a foreign key: the position in the referenced key.
    points_at: Option<usize>,
    to_table: Option<TableRef>,
}

impl DatasetReader<'_> {
    async fn read(
        &self,
        scope: &Scope,
        assembly: &mut SnapshotAssembly,
    ) -> Result<bool, WarehouseError> {
        let tables = "SELECT table_name, table_type FROM $.INFORMATION_SCHEMA.TABLES \
             ORDER BY table_name";
        let columns = "SELECT table_name, column_name, is_nullable, data_type, is_hidden \
             FROM $.INFORMATION_SCHEMA.COLUMNS ORDER BY table_name, ordinal_position";
        let counts = "SELECT table_id, row_count FROM $.__TABLES__";
        let comments = "SELECT table_name, option_value, option_name \
             FROM $.INFORMATION_SCHEMA.TABLE_OPTIONS ORDER BY table_name";
        let fields = "SELECT table_name, column_name, field_path, description \
             FROM $.INFORMATION_SCHEMA.COLUMN_FIELD_PATHS \
             WHERE description IS NOT NULL ORDER BY table_name, field_path";
        let keys = "SELECT k.table_name, c.constraint_type, k.constraint_name, k.column_name, \
               k.position_in_unique_constraint, \
               u.table_catalog, u.table_schema, u.table_name \
             FROM $.INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS k \
             JOIN $.INFORMATION_SCHEMA.TABLE_CONSTRAINTS AS c \
               ON c.constraint_name = k.constraint_name AND c.table_name = k.table_name \
             LEFT JOIN (SELECT DISTINCT constraint_name, table_catalog, table_schema, table_name \
                        FROM $.INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE) AS u \
               ON u.constraint_name = k.constraint_name \
             ORDER BY k.table_name, k.constraint_name, k.ordinal_position";
        let (structure, more) = join(
            join(Box::pin(self.rows(tables)), Box::pin(self.rows(columns))),
            join(
                join(Box::pin(self.rows(counts)), Box::pin(self.rows(comments))),
                join(Box::pin(self.rows(fields)), Box::pin(self.rows(keys))),
            ),
        )
        .await;
        let (tables, columns) = structure;
        let tables = match tables {
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Permission) => {
                let message = format!("the dataset `{}` cannot be read: {error}", self.name());
                assembly.warn("schema_not_found", None, message);
                return Ok(false);
            }
            tables => tables?,
        };
        let ((counts, comments), (fields, keys)) = more;
        let counts = self.optional(counts, "row counts", assembly)?;
        let comments = self.optional(comments, "comments of tables", assembly)?;
        let fields = self.optional(fields, "comments of columns", assembly)?;
        let keys = self.optional(keys, "primary and foreign keys", assembly)?;
        self.add_tables(
            tables,
            &pairs(counts),
            &pairs(only_comments(comments)),
            scope,
            assembly,
        );
        self.add_columns(columns?, &field_comments(fields), assembly);
        self.add_keys(keys, assembly);
        Ok(true)
    }

    async fn rows(&self, sql: &str) -> Result<QueryResult, WarehouseError> {
        let place = format!(
            "{}.{}",
            Dialect::BigQuery.quote(&self.dataset.project),
            Dialect::BigQuery.quote(&self.dataset.name)
        );
        self.connector
            .rows(&sql.replace('$', &place), self.cancel)
            .await
    }

    fn name(&self) -> String {
        format!("{}.{}", self.dataset.project, self.dataset.name)
    }

    fn place(&self, table: &str) -> TableRef {
        TableRef::new(Some(&self.dataset.project), Some(&self.dataset.name), table)
    }

    /// Replaces a failed view by an empty result and a warning; cancellation and connection errors
    /// remain errors.
    fn optional(
        &self,
        result: Result<QueryResult, WarehouseError>,
        what: &str,
        assembly: &mut SnapshotAssembly,
    ) -> Result<QueryResult, WarehouseError> {
        let error = match result {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        let (code, help) = match error.kind {
            ErrorKind::Permission => (
                "constraint_discovery_unauthorized",
                "grant `roles/bigquery.metadataViewer` on the dataset",
            ),
            ErrorKind::Sql | ErrorKind::NotFound => (
                "connector_capability_missing",
                "the server does not have the view",
            ),
            _ => return Err(error),
        };
        let message = format!(
            "the {what} of the dataset `{}` cannot be read ({help}): {}",
            self.name(),
            error.message.lines().next().unwrap_or_default()
        );
        assembly.warn(code, None, message);
        Ok(QueryResult::default())
    }

    fn add_tables(
        &self,
        tables: QueryResult,
        counts: &BTreeMap<String, String>,
        comments: &BTreeMap<String, String>,
        scope: &Scope,
        assembly: &mut SnapshotAssembly,
    ) {
        for row in tables.rows {
            let mut row = TextCells::new(row);
            let name = row.text();
            let kind = match row.text().as_str() {
                "VIEW" | "MATERIALIZED VIEW" => TableKind::View,
                "EXTERNAL" => TableKind::External,
                _ => TableKind::Table,
            };
            let place = self.place(&name);
            if !scope.admits(&place) {
                continue;
            }
            let rows = counts
                .get(&name)
                .filter(|_| kind == TableKind::Table)
                .and_then(|count| count.parse().ok()); // A view has no count.
            let comment = comments.get(&name).map(|literal| unquote(literal));
            assembly.table(place, kind, comment, rows);
        }
    }

    fn add_columns(
        &self,
        columns: QueryResult,
        comments: &BTreeMap<(String, String), String>,
        assembly: &mut SnapshotAssembly,
    ) {
        for row in columns.rows {
            let mut row = TextCells::new(row);
            let (table, name) = (row.text(), row.text());
            let (nullable, native_type, hidden) = (row.text(), row.text(), row.text());
            if hidden == "YES" {
                continue;
            }
            let column = Column {
                comment: comments.get(&(table.clone(), name.clone())).cloned(),
                name,
                normalized_type: cell::normalized(&native_type),
                dimension_type: cell::dimension(&native_type),
                nullable: nullable != "NO",
                native_type,
                primary_key: false,
            };
            assembly.column(&self.place(&table), column);
        }
    }

    /// Adds primary keys first, because foreign keys refer to positions in them.
    fn add_keys(&self, keys: QueryResult, assembly: &mut SnapshotAssembly) {
        let mut primary: BTreeMap<TableRef, Vec<String>> = BTreeMap::new();
        let mut foreign: Vec<(TableRef, KeyColumn)> = Vec::new();
        for row in keys.rows {
            let mut row = TextCells::new(row);
            let place = self.place(&row.text());
            let is_primary = row.text() == "PRIMARY KEY";
            let (constraint, column) = (row.text(), row.text());
            let points_at = row.optional().and_then(|text| text.parse().ok()); // Primary keys: NULL.
            let to_table = match (row.optional(), row.optional(), row.optional()) {
                (Some(project), Some(dataset), Some(table)) => {
                    Some(TableRef::new(Some(&project), Some(&dataset), &table))
                }
                _ => None,
            };
            if is_primary {
                assembly.key(&place, &column);
                primary.entry(place).or_default().push(column);
            } else {
                let key = KeyColumn {
                    constraint,
                    column,
                    points_at,
                    to_table,
                };
                foreign.push((place, key));
            }
        }
        for (place, key) in foreign {
            let pointed = key.to_table.and_then(|to_table| {
                let columns = primary.get(&to_table)?;
                let column = columns.get(key.points_at?.checked_sub(1)?)?;
                Some((to_table.clone(), column.clone()))
            });
            let name = key.constraint;
            match pointed {
                Some((to_table, to)) => {
                    let own = name.rsplit_once('.').map_or(name.as_str(), |(_, own)| own);
                    let link = ForeignKeyColumn {
                        constraint: own.to_owned(),
                        from: key.column,
                        to_table,
                        to,
                    };
                    assembly.link(&place, link);
                }
                None => assembly.warn(
                    "foreign_key_unresolved",
                    Some(&place),
                    format!("the columns that the foreign key `{name}` points at are not reported"),
                ),
            }
        }
    }
}

fn pairs(result: QueryResult) -> BTreeMap<String, String> {
    let rows = result.rows.into_iter();
    rows.map(|row| {
        let mut row = TextCells::new(row);
        (row.text(), row.text())
    })
    .collect()
}

fn only_comments(mut options: QueryResult) -> QueryResult {
    let name = Cell::Text("description".to_owned());
    options.rows.retain(|row| row.get(2) == Some(&name));
    options
}

fn field_comments(fields: QueryResult) -> BTreeMap<(String, String), String> {
    let mut comments: BTreeMap<(String, String), String> = BTreeMap::new();
    for row in fields.rows {
        let mut row = TextCells::new(row);
        let (table, column, path, text) = (row.text(), row.text(), row.text(), row.text());
        if text.trim().is_empty() {
            continue;
        }
        let line = if path == column {
            text
        } else {
            format!("{path}: {text}")
        };
        comments
            .entry((table, column))
            .and_modify(|known| *known = format!("{known}\n{line}"))
            .or_insert(line);
    }
    comments
}

fn unquote(literal: &str) -> String {
    serde_json::from_str(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned())
}
