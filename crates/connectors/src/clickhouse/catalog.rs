//! Reads ClickHouse databases in three queries. Reports no keys, because ClickHouse's primary keys
//! are sort prefixes and not unique.

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Cell, Column, QueryResult, RoleCheck, SchemaReport, SchemaSnapshot, SchemaState, Scope,
    TableKind, WarehouseError,
};
use tokio_util::sync::CancellationToken;

use super::{ClickHouse, cell};
use crate::assembly::SnapshotAssembly;

pub(super) async fn read(
    connector: &ClickHouse,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<SchemaSnapshot, WarehouseError> {
    let mut assembly = SnapshotAssembly::default();
    let found = visible_databases(connector, cancel).await?;
    for name in scope.schemas.iter().filter(|name| !found.contains(name)) {
        let message =
            format!("the database `{name}` does not exist or the login has no right in it");
        assembly.warn("schema_not_found", None, message);
    }
    let schemas: Vec<String> = found
        .into_iter()
        .filter(|name| scope.schemas.is_empty() || scope.schemas.contains(name))
        .collect();
    if schemas.is_empty() {
        return Ok(assembly.finish(schemas));
    }
    let list: Vec<String> = schemas
        .iter()
        .map(|name| Dialect::ClickHouse.literal(name))
        .collect();
    let list = list.join(", ");
    let tables = connector
        .rows(
            &format!(
                "SELECT database, name, engine, comment, total_rows FROM system.tables
                 WHERE database IN ({list}) AND NOT is_temporary AND engine != 'Dictionary'
                   AND name NOT LIKE '.inner%' ORDER BY database, name"
            ),
            cancel,
        )
        .await?;
    for row in tables.rows {
        add_table(row, scope, &mut assembly);
    }
    let columns = connector
        .rows(
            &format!(
                "SELECT database, table, name, type, comment FROM system.columns
                 WHERE database IN ({list}) ORDER BY database, table, position"
            ),
            cancel,
        )
        .await?;
    for row in columns.rows {
        add_column(row, &mut assembly);
    }
    Ok(assembly.finish(schemas))
}

pub(super) async fn check_schemas(
    connector: &ClickHouse,
    names: &[String],
    cancel: &CancellationToken,
) -> Result<SchemaReport, WarehouseError> {
    let visible_databases = visible_databases(connector, cancel).await?;
    let grant = |name: &str| {
        let place = Dialect::ClickHouse.quote(name);
        format!("GRANT SELECT, SHOW ON {place}.* TO your_login")
    };
    Ok(SchemaReport::from_listing(
        names,
        visible_databases,
        |name, known| name == known,
        |name| SchemaState::NotShown {
            fix: vec![grant(name)],
        },
    ))
}

async fn visible_databases(
    connector: &ClickHouse,
    cancel: &CancellationToken,
) -> Result<Vec<String>, WarehouseError> {
    let found = connector
        .rows(
            "SELECT name FROM system.databases WHERE lower(name) NOT IN
             ('system', 'information_schema') ORDER BY name",
            cancel,
        )
        .await?;
    Ok(texts(&found))
}

fn add_table(row: Vec<Cell>, scope: &Scope, assembly: &mut SnapshotAssembly) {
    let mut fields = row.into_iter();
    let mut text = || fields.next().and_then(|cell| cell.to_text());
    let (schema, name) = (text().unwrap_or_default(), text().unwrap_or_default());
    let place = TableRef::new(None, Some(&schema), &name);
    let kind = match text().unwrap_or_default().as_str() {
        "View" | "MaterializedView" | "LiveView" | "WindowView" => TableKind::View,
        "MySQL" | "PostgreSQL" | "S3" | "URL" | "HDFS" | "ODBC" | "JDBC" | "Kafka" | "SQLite"
        | "MongoDB" | "Iceberg" | "DeltaLake" | "Hudi" => TableKind::External,
        _ => TableKind::Table,
    };
    let comment = text();
    let rows = text().and_then(|text| text.parse().ok()); // Views have no count.
    if scope.admits(&place) {
        let rows = if kind == TableKind::Table { rows } else { None };
        assembly.table(place, kind, comment, rows);
    }
}

fn add_column(row: Vec<Cell>, assembly: &mut SnapshotAssembly) {
    let mut fields = row.into_iter();
    let mut text = || {
        fields
            .next()
            .and_then(|cell| cell.to_text())
            .unwrap_or_default()
    };
    let (schema, table) = (text(), text());
    let (name, native_type, comment) = (text(), text(), text());
    let column = Column {
        name,
        normalized_type: native_type.clone(),
        dimension_type: cell::dimension(&native_type),
        nullable: cell::is_nullable(&native_type),
        native_type,
        primary_key: false,
        comment: Some(comment),
    };
    assembly.column(&TableRef::new(None, Some(&schema), &table), column);
}

pub(super) fn texts(result: &QueryResult) -> Vec<String> {
    result
        .rows
        .iter()
        .filter_map(|row| row.first().and_then(Cell::to_text))
        .collect()
}

/// Judges lines of `SHOW GRANTS`, such as `GRANT SHOW, SELECT ON shop.* TO reader`.
pub(super) fn judge(grants: &[String]) -> RoleCheck {
    for line in grants {
        let Some((rights, rest)) = line
            .strip_prefix("GRANT ")
            .and_then(|rest| rest.split_once(" ON "))
        else {
            return RoleCheck::Unknown {
                reason: format!("the login has further rights: {line}"),
            };
        };
        let place = rest.split(" TO ").next().unwrap_or_default();
        // Parentheses contain column names, not rights.
        let words: Vec<&str> = rights.split(['(', ')']).step_by(2).collect();
        let writes = words
            .iter()
            .flat_map(|piece| piece.split(','))
            .map(str::trim)
            .find(|right| {
                !right.is_empty()
                    && !["SELECT", "SHOW", "dictGet", "USAGE"]
                        .iter()
                        .any(|reading| right.starts_with(reading))
            });
        if let Some(right) = writes {
            return RoleCheck::CanWrite {
                because: format!("the login has {right} on {place}"),
                fix: vec![
                    "CREATE USER ktx_reader IDENTIFIED BY 'choose-a-password' SETTINGS readonly = 2"
                        .to_owned(),
                    format!("GRANT SELECT, SHOW ON {place} TO ktx_reader"),
                ],
            };
        }
    }
    RoleCheck::ReadOnly
}
