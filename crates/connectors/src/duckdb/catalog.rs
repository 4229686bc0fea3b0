//! Reads a DuckDB file in four queries.

use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Cell, Column, DimensionType, SchemaReport, SchemaSnapshot, SchemaState, Scope, TableKind,
    WarehouseError,
};
use tokio_util::sync::CancellationToken;

use super::{CATALOG, DuckDb};
use crate::assembly::{ForeignKeyColumn, SnapshotAssembly};

const SCHEMAS: &str = "SELECT schema_name, current_database() FROM duckdb_schemas()
    WHERE database_name = current_database() ORDER BY schema_name";

const RELATIONS: &str = "SELECT schema_name, table_name, 'table', comment, estimated_size
    FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal
    UNION ALL SELECT schema_name, view_name, 'view', comment, NULL
    FROM duckdb_views() WHERE database_name = current_database() AND NOT internal";

const COLUMNS: &str = "SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
    ORDER BY schema_name, table_name, column_index";

/// DuckDB allows foreign keys only within a schema.
const KEYS: &str = "SELECT schema_name, table_name, constraint_type, constraint_name,
      referenced_table, unnest(constraint_column_names), unnest(referenced_column_names),
      constraint_index, generate_subscripts(constraint_column_names, 1) AS position
    FROM duckdb_constraints() WHERE database_name = current_database()
      AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY schema_name, table_name, constraint_index, position";

pub(super) async fn read(
    connector: &DuckDb,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<SchemaSnapshot, WarehouseError> {
    let mut assembly = SnapshotAssembly::default();
    let (mut found, mut places) = (Vec::new(), TableQualifier::default());
    for mut row in rows(connector, SCHEMAS, cancel).await? {
        found.push(row.text());
        places.database = row.text();
    }
    for name in scope.schemas.iter().filter(|name| !found.contains(name)) {
        let message = format!("the schema `{name}` does not exist");
        assembly.warn("schema_not_found", None, message);
    }
    let schemas: Vec<String> = found
        .into_iter()
        .filter(|name| scope.schemas.is_empty() || scope.schemas.contains(name))
        .collect();
    for row in rows(connector, RELATIONS, cancel).await? {
        add_relation(row, &places, &schemas, scope, &mut assembly);
    }
    for row in rows(connector, COLUMNS, cancel).await? {
        add_column(row, &places, &mut assembly);
    }
    for row in rows(connector, KEYS, cancel).await? {
        add_key(row, &places, &mut assembly);
    }
    Ok(assembly.finish(schemas))
}

pub(super) async fn check_schemas(
    connector: &DuckDb,
    names: &[String],
    cancel: &CancellationToken,
) -> Result<SchemaReport, WarehouseError> {
    let rows = rows(connector, SCHEMAS, cancel).await?;
    let shown = rows.into_iter().map(|mut row| row.text()).collect();
    Ok(SchemaReport::from_listing(
        names,
        shown,
        |name, known| name == known,
        |_| SchemaState::NotFound,
    ))
}

#[derive(Debug, Default)]
struct TableQualifier {
    database: String,
}

impl TableQualifier {
    /// A schema named like the file needs the file's name as a prefix: `shop.orders` alone is
    /// ambiguous to DuckDB.
    fn table(&self, schema: &str, name: &str) -> TableRef {
        let is_ambiguous = schema.eq_ignore_ascii_case(&self.database);
        let catalog = is_ambiguous.then_some(self.database.as_str());
        TableRef::new(catalog, Some(schema), name)
    }
}

struct CatalogCells(std::vec::IntoIter<Cell>);

impl CatalogCells {
    fn next(&mut self) -> Option<Cell> {
        self.0.next().filter(|cell| *cell != Cell::Null)
    }

    fn text(&mut self) -> String {
        self.optional().unwrap_or_default()
    }

    fn optional(&mut self) -> Option<String> {
        self.next().and_then(|cell| cell.to_text())
    }

    fn place(&mut self, places: &TableQualifier) -> TableRef {
        let (schema, name) = (self.text(), self.text());
        places.table(&schema, &name)
    }
}

async fn rows(
    connector: &DuckDb,
    sql: &str,
    cancel: &CancellationToken,
) -> Result<Vec<CatalogCells>, WarehouseError> {
    let result = connector.rows(sql, &CATALOG, cancel).await?;
    Ok(result
        .rows
        .into_iter()
        .map(|row| CatalogCells(row.into_iter()))
        .collect())
}

fn add_relation(
    mut row: CatalogCells,
    places: &TableQualifier,
    schemas: &[String],
    scope: &Scope,
    assembly: &mut SnapshotAssembly,
) {
    let (schema, name) = (row.text(), row.text());
    let place = places.table(&schema, &name);
    if !schemas.contains(&schema) || !scope.admits(&place) {
        return;
    }
    let kind = if row.text() == "view" {
        TableKind::View
    } else {
        TableKind::Table
    };
    let comment = row.optional();
    let estimated_rows = match row.next() {
        Some(Cell::Int(count)) => u64::try_from(count).ok(), // A count is never below zero.
        _ => None,
    };
    assembly.table(place, kind, comment, estimated_rows);
}

fn add_column(mut row: CatalogCells, places: &TableQualifier, assembly: &mut SnapshotAssembly) {
    let place = row.place(places);
    let (name, native_type) = (row.text(), row.text());
    let column = Column {
        name,
        normalized_type: native_type.clone(),
        dimension_type: dimension(&native_type),
        native_type,
        nullable: row.next() != Some(Cell::Bool(false)),
        primary_key: false,
        comment: row.optional(),
    };
    assembly.column(&place, column);
}

fn add_key(mut row: CatalogCells, places: &TableQualifier, assembly: &mut SnapshotAssembly) {
    let place = row.place(places);
    let (kind, constraint, parent) = (row.text(), row.text(), row.text());
    let (from, to) = (row.text(), row.text());
    if kind == "PRIMARY KEY" {
        assembly.key(&place, &from);
        return;
    }
    let to_table = places.table(place.db.as_deref().unwrap_or_default(), &parent);
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

pub(super) fn dimension(native_type: &str) -> DimensionType {
    let name = native_type
        .split(['(', ' '])
        .next()
        .unwrap_or_default()
        .to_ascii_uppercase();
    if native_type.ends_with(']') {
        return DimensionType::String;
    }
    match name.as_str() {
        "BOOLEAN" => DimensionType::Boolean,
        "DATE" | "TIME" | "TIME_NS" | "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS"
        | "TIMESTAMP_NS" => DimensionType::Time,
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "HUGEINT" | "UTINYINT" | "USMALLINT"
        | "UINTEGER" | "UBIGINT" | "UHUGEINT" | "BIGNUM" | "VARINT" | "FLOAT" | "DOUBLE"
        | "DECIMAL" => DimensionType::Number,
        _ => DimensionType::String,
    }
}
