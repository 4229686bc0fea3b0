//! Reads a Redshift database. Its catalog is PostgreSQL 8's without the needed functions, and its
//! protocol has no array parameters, so schemas become quoted literals.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Column, DimensionType, ErrorKind, ListedSchema, SchemaReport, SchemaSnapshot, SchemaState,
    Scope, TableKind, WarehouseError,
};

use super::introspect::{self, field, whole};
use super::listing::{self, ListedRelation, VisibleSchema};
use super::session::PostgresSession;
use crate::assembly::{ForeignKeyColumn, SnapshotAssembly};

pub(super) async fn read(
    session: &PostgresSession,
    scope: &Scope,
) -> Result<SchemaSnapshot, WarehouseError> {
    let mut assembly = SnapshotAssembly::default();
    let listing = list(session, scope).await?;
    let schemas = schemas(session, scope, &mut assembly).await?;
    if schemas.is_empty() {
        return Ok(SchemaSnapshot {
            listing,
            ..assembly.finish(schemas)
        });
    }
    let list: Vec<String> = schemas
        .iter()
        .map(|name| Dialect::Redshift.literal(name))
        .collect();
    let list = list.join(", ");
    tables(session, scope, &list, &mut assembly).await?;
    columns(session, &list, &mut assembly).await?;
    keys(session, &list, &mut assembly).await?;
    Ok(SchemaSnapshot {
        listing,
        ..assembly.finish(schemas)
    })
}

/// The catalog hides unreadable tables.
pub(super) async fn list(
    session: &PostgresSession,
    scope: &Scope,
) -> Result<Vec<ListedSchema>, WarehouseError> {
    let mut shown: BTreeMap<String, VisibleSchema> = BTreeMap::new();
    for row in session.rows(OWN_SCHEMAS, &[]).await? {
        shown.entry(field(&row, 0)?).or_default().is_granted = field(&row, 1)?;
    }
    let tables = "SELECT table_schema::text, table_name::text FROM svv_tables
         WHERE table_schema NOT IN ('information_schema', 'catalog_history')
           AND table_schema NOT LIKE 'pg\\_%' ORDER BY 1, 2";
    for row in session.rows(tables, &[]).await? {
        // The local catalog omits shared schemas, but shows their tables to logins with access.
        let schema = shown
            .entry(field(&row, 0)?)
            .or_insert_with(|| VisibleSchema {
                is_granted: true,
                ..VisibleSchema::default()
            });
        schema.relations.push(ListedRelation {
            name: field(&row, 1)?,
            parent: None,
            is_granted: true,
        });
    }
    Ok(listing::list(shown, scope, &introspect::login(session)))
}

const OWN_SCHEMAS: &str =
    "SELECT nspname::text, has_schema_privilege(nspname, 'USAGE') FROM pg_namespace
     WHERE nspname NOT IN ('information_schema', 'catalog_history') AND nspname NOT LIKE 'pg\\_%'
     ORDER BY 1";

pub(super) async fn check_schemas(
    session: &PostgresSession,
    names: &[String],
) -> Result<SchemaReport, WarehouseError> {
    let rows = session.rows(OWN_SCHEMAS, &[]).await?;
    let mut report = introspect::report(session, names, &rows)?;
    if report
        .asked
        .iter()
        .any(|check| check.state == SchemaState::NotFound)
    {
        let with_tables = with_tables(session).await?;
        for check in &mut report.asked {
            if check.state == SchemaState::NotFound && with_tables.contains(&check.name) {
                check.state = SchemaState::Found;
            }
        }
    }
    Ok(report)
}

async fn with_tables(session: &PostgresSession) -> Result<Vec<String>, WarehouseError> {
    let rows = session
        .rows(
            "SELECT DISTINCT table_schema::text FROM svv_tables
             WHERE table_schema NOT IN ('information_schema', 'catalog_history')
               AND table_schema NOT LIKE 'pg\\_%' ORDER BY 1",
            &[],
        )
        .await?;
    rows.iter().map(|row| field(row, 0)).collect()
}

async fn schemas(
    session: &PostgresSession,
    scope: &Scope,
    assembly: &mut SnapshotAssembly,
) -> Result<Vec<String>, WarehouseError> {
    let found = with_tables(session).await?;
    if scope.schemas.is_empty() {
        return Ok(found);
    }
    for name in scope.schemas.iter().filter(|name| !found.contains(name)) {
        assembly.warn(
            "schema_not_found",
            None,
            format!("the schema `{name}` does not exist, is empty, or the login may not use it"),
        );
    }
    Ok(scope
        .schemas
        .iter()
        .filter(|name| found.contains(name))
        .cloned()
        .collect())
}

/// `svv_table_info` lists only nonempty tables and requires a right that many logins lack.
async fn tables(
    session: &PostgresSession,
    scope: &Scope,
    list: &str,
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let text = format!(
        "SELECT t.table_schema::text, t.table_name::text, t.table_type::text, t.remarks::text,
           max(c.reltuples)::float8
         FROM svv_tables t
         LEFT JOIN pg_namespace n ON n.nspname = t.table_schema
         LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.table_name
         WHERE t.table_schema IN ({list})
         GROUP BY 1, 2, 3, 4 ORDER BY 1, 2"
    );
    for row in session.rows(&text, &[]).await? {
        let place = TableRef::new(None, Some(field(&row, 0)?), field(&row, 1)?);
        if !scope.admits(&place) {
            continue;
        }
        let kind = match field(&row, 2)? {
            "VIEW" => TableKind::View,
            "EXTERNAL TABLE" => TableKind::External,
            _ => TableKind::Table,
        };
        let rows: Option<f64> = field(&row, 4)?;
        let rows = rows
            .filter(|rows| *rows > 0.0 && kind == TableKind::Table)
            .map(whole);
        assembly.table(place, kind, field(&row, 3)?, rows);
    }
    Ok(())
}

async fn columns(
    session: &PostgresSession,
    list: &str,
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let text = format!(
        "SELECT table_schema::text, table_name::text, column_name::text, data_type::text,
           is_nullable::text, remarks::text
         FROM svv_columns WHERE table_schema IN ({list})
         ORDER BY table_schema, table_name, ordinal_position"
    );
    for row in session.rows(&text, &[]).await? {
        let place = TableRef::new(None, Some(field(&row, 0)?), field(&row, 1)?);
        let native_type: String = field(&row, 3)?;
        let nullable: Option<&str> = field(&row, 4)?;
        let comment: Option<String> = field(&row, 5)?;
        let column = Column {
            name: field(&row, 2)?,
            dimension_type: dimension(&native_type),
            normalized_type: native_type.clone(),
            native_type,
            nullable: nullable != Some("NO"),
            primary_key: false,
            comment: comment.filter(|text| !text.is_empty()),
        };
        assembly.column(&place, column);
    }
    Ok(())
}

/// Redshift does not enforce keys. The scan continues if the login cannot see them.
async fn keys(
    session: &PostgresSession,
    list: &str,
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let text = format!(
        "SELECT k.table_schema::text, k.table_name::text, k.constraint_name::text,
           k.column_name::text, p.table_schema::text, p.table_name::text, p.column_name::text
         FROM information_schema.table_constraints c
         JOIN information_schema.key_column_usage k
           ON k.constraint_schema = c.constraint_schema AND k.constraint_name = c.constraint_name
             AND k.table_schema = c.table_schema AND k.table_name = c.table_name
         LEFT JOIN information_schema.referential_constraints r
           ON r.constraint_schema = c.constraint_schema AND r.constraint_name = c.constraint_name
         LEFT JOIN information_schema.key_column_usage p
           ON p.constraint_schema = r.unique_constraint_schema
             AND p.constraint_name = r.unique_constraint_name
             AND p.ordinal_position = k.ordinal_position
         WHERE c.table_schema IN ({list}) AND c.constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
         ORDER BY k.table_schema, k.table_name, k.constraint_name, k.ordinal_position"
    );
    let rows = match session.rows(&text, &[]).await {
        Ok(rows) => rows,
        Err(error) if matches!(error.kind, ErrorKind::Permission | ErrorKind::Sql) => {
            let message = format!("the declared keys cannot be read: {error}");
            assembly.warn("constraint_discovery_unauthorized", None, message);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for row in rows {
        let place = TableRef::new(None, Some(field(&row, 0)?), field(&row, 1)?);
        let column: String = field(&row, 3)?;
        let parent: (Option<&str>, Option<&str>) = (field(&row, 4)?, field(&row, 5)?);
        match (parent, field(&row, 6)?) {
            ((Some(schema), Some(table)), Some(to)) => {
                let to_table = TableRef::new(None, Some(schema), table);
                let link = ForeignKeyColumn {
                    constraint: field(&row, 2)?,
                    from: column,
                    to_table,
                    to,
                };
                assembly.link(&place, link);
            }
            _ => assembly.key(&place, &column),
        }
    }
    Ok(())
}

fn dimension(native_type: &str) -> DimensionType {
    let name = native_type
        .split('(')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match name.as_str() {
        "boolean" | "bool" => DimensionType::Boolean,
        "date" => DimensionType::Time,
        "smallint" | "integer" | "bigint" | "numeric" | "decimal" | "real" | "double precision"
        | "int2" | "int4" | "int8" | "int" | "float" | "float4" | "float8" | "oid" => {
            DimensionType::Number
        }
        name if name.starts_with("time") => DimensionType::Time,
        _ => DimensionType::String,
    }
}
