//! Reads a PostgreSQL database in four queries.

use std::collections::{BTreeMap, BTreeSet};

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Column, DimensionType, ErrorKind, ListedSchema, SchemaCheck, SchemaReport, SchemaSnapshot,
    SchemaState, Scope, TableKind, WarehouseError,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::catalog;
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
    relations(session, scope, &schemas, &listing, &mut assembly).await?;
    let mut denied: BTreeMap<TableRef, Vec<String>> = BTreeMap::new();
    for row in session.rows(catalog::COLUMNS, &[&schemas]).await? {
        let place = TableRef::new(None, Some(field(&row, 0)?), field(&row, 1)?);
        if !field::<bool>(&row, 7)? {
            denied.entry(place).or_default().push(field(&row, 2)?);
            continue;
        }
        let native_type: String = field(&row, 3)?;
        assembly.column(
            &place,
            Column {
                name: field(&row, 2)?,
                normalized_type: native_type.clone(),
                native_type,
                dimension_type: dimension(field(&row, 4)?),
                nullable: !field::<bool>(&row, 5)?,
                primary_key: false,
                comment: field(&row, 6)?,
            },
        );
    }
    let is_denied = |place: &TableRef, column: &str| {
        let columns = denied.get(place);
        columns.is_some_and(|columns| columns.iter().any(|known| known == column))
    };
    for row in session.rows(catalog::KEYS, &[&schemas]).await? {
        let place = TableRef::new(None, Some(field(&row, 0)?), field(&row, 1)?);
        let column: &str = field(&row, 4)?;
        if is_denied(&place, column) {
            continue;
        }
        if field::<&str>(&row, 3)? == "p" {
            assembly.key(&place, column);
            continue;
        }
        let parent: (Option<&str>, Option<&str>) = (field(&row, 5)?, field(&row, 6)?);
        if let ((Some(schema), Some(table)), Some(to)) = (parent, field(&row, 7)?) {
            let link = ForeignKeyColumn {
                constraint: field(&row, 2)?,
                from: column.to_owned(),
                to_table: TableRef::new(None, Some(schema), table),
                to,
            };
            if !is_denied(&link.to_table, &link.to) {
                assembly.link(&place, link);
            }
        }
    }
    for (place, columns) in denied {
        warn_unreadable_columns(session, &place, &columns, &mut assembly);
    }
    Ok(SchemaSnapshot {
        listing,
        ..assembly.finish(schemas)
    })
}

/// ktx cannot query unreadable columns. A table without readable columns gets one warning.
fn warn_unreadable_columns(
    session: &PostgresSession,
    place: &TableRef,
    columns: &[String],
    assembly: &mut SnapshotAssembly,
) {
    if !assembly.has(place) {
        return;
    }
    let table: Vec<String> = place.parts().map(quote).collect();
    let quoted: Vec<String> = columns.iter().map(|column| quote(column)).collect();
    let named: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
    let grant = format!(
        "GRANT SELECT ({}) ON {} TO {}",
        quoted.join(", "),
        table.join("."),
        login(session)
    );
    let message = format!(
        "the login may not read {} of `{place}`; run `{grant}`",
        named.join(", ")
    );
    assembly.warn("column_not_granted", Some(place), message);
}

pub(super) async fn list(
    session: &PostgresSession,
    scope: &Scope,
) -> Result<Vec<ListedSchema>, WarehouseError> {
    let mut shown: BTreeMap<String, VisibleSchema> = BTreeMap::new();
    for row in session.rows(catalog::LISTING, &[&scope.schemas]).await? {
        let schema = shown.entry(field(&row, 0)?).or_default();
        schema.is_granted = field(&row, 1)?;
        let parent = parent_of(field(&row, 3)?, field(&row, 4)?);
        let is_granted: Option<bool> = field(&row, 5)?;
        if let Some(name) = field(&row, 2)? {
            schema.relations.push(ListedRelation {
                name,
                parent,
                is_granted: is_granted.unwrap_or(false),
            });
        }
    }
    Ok(listing::list(shown, scope, &login(session)))
}

/// Returns the accessible schemas in scope. Unreadable named schemas become warnings; others appear
/// in the listing.
async fn schemas(
    session: &PostgresSession,
    scope: &Scope,
    assembly: &mut SnapshotAssembly,
) -> Result<Vec<String>, WarehouseError> {
    let rows = if scope.schemas.is_empty() {
        session.rows(catalog::USER_SCHEMAS, &[]).await?
    } else {
        session
            .rows(catalog::NAMED_SCHEMAS, &[&scope.schemas])
            .await?
    };
    let mut found = BTreeSet::new();
    let mut usable = Vec::new();
    for row in rows {
        let name: String = field(&row, 0)?;
        if field(&row, 1)? {
            usable.push(name.clone());
        } else if !scope.schemas.is_empty() {
            let grant = usage(&name, session);
            assembly.warn(
                "schema_not_granted",
                None,
                format!("the login may not use the schema `{name}`; run `{grant}`"),
            );
        }
        found.insert(name);
    }
    for name in scope.schemas.iter().filter(|name| !found.contains(*name)) {
        assembly.warn(
            "schema_not_found",
            None,
            format!("the schema `{name}` does not exist"),
        );
    }
    Ok(usable)
}

pub(super) async fn check_schemas(
    session: &PostgresSession,
    names: &[String],
) -> Result<SchemaReport, WarehouseError> {
    let rows = session
        .rows(catalog::SHOWN_SCHEMAS, &[&names.to_vec()])
        .await?;
    report(session, names, &rows)
}

pub(super) fn report(
    session: &PostgresSession,
    names: &[String],
    rows: &[Row],
) -> Result<SchemaReport, WarehouseError> {
    let shown = rows
        .iter()
        .map(|row| Ok((field(row, 0)?, field(row, 1)?)))
        .collect::<Result<Vec<(String, bool)>, WarehouseError>>()?;
    let state = |name: &String| match shown.iter().find(|(known, _)| known == name) {
        Some((_, true)) => SchemaState::Found,
        Some((_, false)) => SchemaState::NotGranted {
            fix: vec![usage(name, session)],
        },
        None => SchemaState::NotFound,
    };
    let check = |name: &String| SchemaCheck {
        name: name.clone(),
        state: state(name),
    };
    Ok(SchemaReport {
        asked: names.iter().map(check).collect(),
        shown: shown.into_iter().map(|(name, _)| name).collect(),
    })
}

fn usage(schema: &str, session: &PostgresSession) -> String {
    format!(
        "GRANT USAGE ON SCHEMA {} TO {}",
        quote(schema),
        login(session)
    )
}

/// Omits a partition if its parent is in scope.
async fn relations(
    session: &PostgresSession,
    scope: &Scope,
    schemas: &[String],
    listing: &[ListedSchema],
    assembly: &mut SnapshotAssembly,
) -> Result<(), WarehouseError> {
    let is_told = |schema: &str| {
        let mut left_out = listing.iter().filter(|listed| !listed.is_read());
        scope.schemas.is_empty() && left_out.any(|listed| listed.name == schema)
    };
    let mut denied = Vec::new();
    for row in session
        .rows(catalog::RELATIONS, &[&schemas.to_vec()])
        .await?
    {
        let schema: &str = field(&row, 0)?;
        let place = TableRef::new(None, Some(schema), field(&row, 1)?);
        let parent = parent_of(field(&row, 3)?, field(&row, 4)?);
        if !scope.admits(&place) || listing::parent_is_read(parent.as_ref(), scope, schemas) {
            continue;
        }
        if !field::<bool>(&row, 7)? {
            if !is_told(schema) {
                denied.push(place);
            }
            continue;
        }
        let kind = match field(&row, 2)? {
            "v" | "m" => TableKind::View,
            "f" => TableKind::External,
            _ => TableKind::Table,
        };
        let rows: Option<f64> = field(&row, 5)?;
        assembly.table(place, kind, field(&row, 6)?, rows.map(whole));
    }
    for place in denied {
        let quoted: Vec<String> = place.parts().map(quote).collect();
        let grant = format!("GRANT SELECT ON {} TO {}", quoted.join("."), login(session));
        let message = format!("the login may not read `{place}`; run `{grant}`");
        assembly.warn("table_not_granted", Some(&place), message);
    }
    Ok(())
}

fn parent_of(schema: Option<&str>, name: Option<&str>) -> Option<TableRef> {
    Some(TableRef::new(None, Some(schema?), name?))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an `as` cast of a float saturates, which is what an estimate wants"
)]
pub(super) fn whole(estimate: f64) -> u64 {
    estimate.round() as u64
}

fn dimension(category: &str) -> DimensionType {
    match category {
        "B" => DimensionType::Boolean,
        "D" => DimensionType::Time,
        "N" => DimensionType::Number,
        _ => DimensionType::String,
    }
}

fn quote(name: &str) -> String {
    Dialect::Postgres.quote(name)
}

pub(super) fn login(session: &PostgresSession) -> String {
    quote(&session.place().target.user)
}

pub(super) fn field<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, WarehouseError> {
    row.try_get(index).map_err(|error| {
        WarehouseError::new(
            ErrorKind::Other,
            format!("the catalog answered in an unknown form: {error}"),
        )
    })
}
