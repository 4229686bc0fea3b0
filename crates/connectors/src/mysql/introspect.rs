//! Reads MySQL and MariaDB schemas in four queries.

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Column, DimensionType, ErrorKind, SchemaReport, SchemaSnapshot, SchemaState, Scope, TableKind,
    WarehouseError,
};
use mysql_async::{FromValueError, Row, Value, from_value_opt};

use super::session::MySqlSession;
use crate::assembly::{ForeignKeyColumn, SnapshotAssembly};

/// Without schemas in the scope, reads the connection's database, else all but the system's.
pub(super) async fn read(
    session: &mut MySqlSession,
    scope: &Scope,
) -> Result<SchemaSnapshot, WarehouseError> {
    let mut assembly = SnapshotAssembly::default();
    let schemas = schemas(session, scope, &mut assembly).await?;
    if schemas.is_empty() {
        return Ok(assembly.finish(schemas));
    }
    let list: Vec<String> = schemas
        .iter()
        .map(|name| Dialect::MySql.literal(name))
        .collect();
    let list = list.join(", ");
    tables(session, scope, &list, &mut assembly).await?;
    columns(session, &list, &mut assembly).await?;
    keys(session, &list, &schemas, &mut assembly).await?;
    Ok(assembly.finish(schemas))
}

pub(super) async fn check_schemas(
    session: &mut MySqlSession,
    names: &[String],
) -> Result<SchemaReport, WarehouseError> {
    let shown = schema_names(session).await?;
    let user = &session.pool().target.user;
    Ok(SchemaReport::from_listing(
        names,
        shown,
        |name, known| known.eq_ignore_ascii_case(name),
        |name| SchemaState::NotShown {
            fix: vec![grant(name, user)],
        },
    ))
}

fn grant(schema: &str, user: &str) -> String {
    format!(
        "GRANT SELECT, SHOW VIEW ON {}.* TO {}",
        Dialect::MySql.quote(schema),
        Dialect::MySql.literal(user),
    )
}

/// The server hides schemas without rights, so "missing" and "not granted" look alike.
async fn schema_names(session: &mut MySqlSession) -> Result<Vec<String>, WarehouseError> {
    let rows = session
        .rows(
            "SELECT SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA
             WHERE LOWER(SCHEMA_NAME) NOT IN
               ('information_schema', 'performance_schema', 'mysql', 'sys')
             ORDER BY SCHEMA_NAME"
                .to_owned(),
        )
        .await?;
    rows.into_iter()
        .map(|row| CatalogRow::new(row).text())
        .collect()
}

async fn schemas(
    session: &mut MySqlSession,
    scope: &Scope,
    assembly: &mut SnapshotAssembly,
) -> Result<Vec<String>, WarehouseError> {
    let found = schema_names(session).await?;
    let wanted = match (&scope.schemas, &session.pool().target.database) {
        (schemas, _) if !schemas.is_empty() => schemas.clone(),
        (_, Some(database)) => vec![database.clone()],
        (_, None) => return Ok(found),
    };
    let mut usable = Vec::new();
    for name in wanted {
        let known = found
            .iter()
            .find(|known| **known == name)
            .or_else(|| found.iter().find(|known| known.eq_ignore_ascii_case(&name)));
        if let Some(known) = known {
            usable.push(known.clone());
            continue;
        }
        let grant = grant(&name, &session.pool().target.user);
        let message = format!(
            "the schema `{name}` does not exist or the login has no right in it; for the right run \
             `{grant}`"
        );
        assembly.warn("schema_not_found", None, message);
    }
    Ok(usable)
}

async fn tables(
    session: &mut MySqlSession,
    scope: &Scope,
    list: &str,
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let rows = session
        .rows(format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT, TABLE_ROWS
             FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA IN ({list})
             ORDER BY TABLE_SCHEMA, TABLE_NAME"
        ))
        .await?;
    for row in rows {
        let mut fields = CatalogRow::new(row);
        let place = TableRef::new(None, Some(&fields.text()?), &fields.text()?);
        let kind = fields.text()?;
        let comment = fields.maybe_text()?.unwrap_or_default();
        let rows = fields.maybe_number()?;
        if !scope.admits(&place) {
            continue;
        }
        match kind.as_str() {
            "VIEW" | "SYSTEM VIEW" => {
                // The comment of an intact view is VIEW.
                if comment.contains("references invalid") {
                    assembly.warn("table_unreadable", Some(&place), comment);
                } else {
                    assembly.table(place, TableKind::View, None, None);
                }
            }
            "SEQUENCE" | "TEMPORARY" => {}
            _ => {
                let comment = own_comment(&comment).to_owned();
                assembly.table(place, TableKind::Table, Some(comment), rows);
            }
        }
    }
    Ok(())
}

/// Servers before MySQL 5.1 append a note such as `InnoDB free: 4096 kB`.
pub(super) fn own_comment(comment: &str) -> &str {
    let Some((own, figure)) = comment.split_once("InnoDB free: ") else {
        return comment;
    };
    let is_remark = figure.starts_with(|first: char| first.is_ascii_digit());
    match own.strip_suffix("; ") {
        Some(own) if is_remark => own,
        None if is_remark && own.is_empty() => own,
        _ => comment,
    }
}

async fn columns(
    session: &mut MySqlSession,
    list: &str,
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let rows = session
        .rows(format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_COMMENT
             FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA IN ({list})
             ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
        ))
        .await?;
    for row in rows {
        let mut fields = CatalogRow::new(row);
        let place = TableRef::new(None, Some(&fields.text()?), &fields.text()?);
        let name = fields.text()?;
        let native_type = fields.text()?;
        let nullable = fields.text()? == "YES";
        let column = Column {
            name,
            dimension_type: dimension(&native_type),
            normalized_type: native_type.clone(),
            native_type,
            nullable,
            primary_key: false,
            comment: fields.maybe_text()?,
        };
        assembly.column(&place, column);
    }
    Ok(())
}

/// Reads declared keys. Some versions hide them from read-only logins; the scan continues without
/// them.
async fn keys(
    session: &mut MySqlSession,
    list: &str,
    schemas: &[String],
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let text = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME,
           REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME
         FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE
         WHERE TABLE_SCHEMA IN ({list})
           AND (CONSTRAINT_NAME = 'PRIMARY' OR REFERENCED_TABLE_NAME IS NOT NULL)
         ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION"
    );
    let rows = match session.rows(text).await {
        Ok(rows) => rows,
        Err(error) if error.kind == ErrorKind::Permission => {
            let message = format!(
                "the declared keys of {} cannot be read: {error}",
                schemas.join(", ")
            );
            assembly.warn("constraint_discovery_unauthorized", None, message);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for row in rows {
        let mut fields = CatalogRow::new(row);
        let place = TableRef::new(None, Some(&fields.text()?), &fields.text()?);
        let (constraint, from) = (fields.text()?, fields.text()?);
        let parent = (
            fields.maybe_text()?,
            fields.maybe_text()?,
            fields.maybe_text()?,
        );
        match parent {
            (Some(schema), Some(table), Some(to)) => {
                let to_table = TableRef::new(None, Some(&schema), &table);
                assembly.link(
                    &place,
                    ForeignKeyColumn {
                        constraint,
                        from,
                        to_table,
                        to,
                    },
                );
            }
            _ => assembly.key(&place, &from),
        }
    }
    Ok(())
}

/// `tinyint(1)` and `bit(1)` are booleans, so the whole type matters.
pub(super) fn dimension(column_type: &str) -> DimensionType {
    let lower = column_type.to_ascii_lowercase();
    if lower.starts_with("tinyint(1)") || lower.starts_with("bit(1)") {
        return DimensionType::Boolean;
    }
    let name = lower.split(['(', ' ']).next().unwrap_or_default();
    let kinds = [
        ("date time datetime timestamp", DimensionType::Time),
        (
            "tinyint smallint mediumint int integer bigint decimal numeric float double real year bit",
            DimensionType::Number,
        ),
        ("bool boolean", DimensionType::Boolean),
    ];
    kinds
        .into_iter()
        .find(|(names, _)| names.split(' ').any(|known| known == name))
        .map_or(DimensionType::String, |(_, kind)| kind)
}

pub(super) struct CatalogRow(std::vec::IntoIter<Option<Value>>);

impl CatalogRow {
    pub(super) fn new(row: Row) -> Self {
        Self(row.unwrap_raw().into_iter())
    }

    pub(super) fn text(&mut self) -> Result<String, WarehouseError> {
        Ok(self.maybe_text()?.unwrap_or_default())
    }

    fn maybe_text(&mut self) -> Result<Option<String>, WarehouseError> {
        match self.0.next().flatten() {
            None | Some(Value::NULL) => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Some(other) => from_value_opt(other)
                .map(Some)
                .map_err(|error| unknown(&error)),
        }
    }

    fn maybe_number(&mut self) -> Result<Option<u64>, WarehouseError> {
        let value = self.0.next().flatten().unwrap_or(Value::NULL);
        from_value_opt(value).map_err(|error| unknown(&error))
    }
}

fn unknown(error: &FromValueError) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Other,
        format!("the catalog answered in an unknown form: {error}"),
    )
}
