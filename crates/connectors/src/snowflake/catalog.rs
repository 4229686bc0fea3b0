//! Reads a Snowflake database: three queries, plus two per schema for keys.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::future::join;
use futures_util::stream;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Cell, Column, ColumnHeader, ErrorKind, QueryResult, SchemaReport, SchemaSnapshot, SchemaState,
    Scope, TableKind, WarehouseError,
};
use tokio_util::sync::CancellationToken;

use super::{Snowflake, account, cell};
use crate::assembly::{ForeignKeyColumn, SnapshotAssembly};
use crate::rows::TextCells;

const AT_ONCE: usize = 4;

/// `SHOW` returns at most this many rows.
const SHOWN_ROWS: usize = 10_000;

pub(super) async fn read(
    connector: &Snowflake,
    scope: &Scope,
    cancel: &CancellationToken,
) -> Result<SchemaSnapshot, WarehouseError> {
    let reader = DatabaseReader {
        connector,
        cancel,
        scope: Scope {
            schemas: scope
                .schemas
                .iter()
                .map(|name| account::identifier(name))
                .collect(),
            tables: scope
                .tables
                .iter()
                .map(|name| account::dotted(name))
                .collect(),
        },
    };
    let mut assembly = SnapshotAssembly::default();
    let schemas = reader.schemas(&mut assembly).await?;
    if schemas.is_empty() {
        return Ok(assembly.finish(schemas));
    }
    let list: Vec<String> = schemas
        .iter()
        .map(|name| Dialect::Snowflake.literal(name))
        .collect();
    let list = list.join(", ");
    reader.tables(&list, &mut assembly).await?;
    reader.columns(&list, &mut assembly).await?;
    reader.keys(&schemas, &mut assembly).await?;
    Ok(assembly.finish(schemas))
}

pub(super) async fn check_schemas(
    connector: &Snowflake,
    names: &[String],
    cancel: &CancellationToken,
) -> Result<SchemaReport, WarehouseError> {
    let reader = DatabaseReader {
        connector,
        cancel,
        scope: Scope::default(),
    };
    let shown = reader.shown().await?;
    let database = Dialect::Snowflake.quote(reader.database());
    let grant = |name: &str| {
        let schema = Dialect::Snowflake.quote(&account::identifier(name));
        format!("GRANT USAGE ON SCHEMA {database}.{schema} TO ROLE your_role")
    };
    Ok(SchemaReport::from_listing(
        names,
        shown,
        |name, known| account::identifier(name) == known,
        |name| SchemaState::NotShown {
            fix: vec![grant(name)],
        },
    ))
}

struct DatabaseReader<'a> {
    connector: &'a Snowflake,
    cancel: &'a CancellationToken,
    scope: Scope,
}

impl DatabaseReader<'_> {
    fn database(&self) -> &str {
        &self.connector.api.database
    }

    fn place(&self, schema: &str, table: &str) -> TableRef {
        TableRef::new(Some(self.database()), Some(schema), table)
    }

    async fn rows(&self, sql: &str) -> Result<QueryResult, WarehouseError> {
        let place = format!(
            "{}.INFORMATION_SCHEMA",
            Dialect::Snowflake.quote(self.database())
        );
        self.connector
            .rows(&sql.replace('$', &place), self.cancel)
            .await
    }

    async fn shown(&self) -> Result<Vec<String>, WarehouseError> {
        let found = self
            .rows("SELECT SCHEMA_NAME FROM $.SCHEMATA ORDER BY SCHEMA_NAME")
            .await?;
        Ok(found
            .rows
            .into_iter()
            .map(|row| TextCells::new(row).text())
            .filter(|name| name != "INFORMATION_SCHEMA")
            .collect())
    }

    async fn schemas(
        &self,
        assembly: &mut SnapshotAssembly,
    ) -> Result<Vec<String>, WarehouseError> {
        let found = self.shown().await?;
        let wanted = &self.scope.schemas;
        for name in wanted.iter().filter(|name| !found.contains(name)) {
            let message =
                format!("the schema `{name}` does not exist or the role has no right in it");
            assembly.warn("schema_not_found", None, message);
        }
        let mut found = found;
        found.retain(|name| wanted.is_empty() || wanted.contains(name));
        Ok(found)
    }

    async fn tables(
        &self,
        list: &str,
        assembly: &mut SnapshotAssembly,
    ) -> Result<(), WarehouseError> {
        let sql = format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ROW_COUNT, COMMENT FROM $.TABLES \
             WHERE TABLE_SCHEMA IN ({list}) ORDER BY TABLE_SCHEMA, TABLE_NAME"
        );
        for row in self.rows(&sql).await?.rows {
            let mut row = TextCells::new(row);
            let (schema, name) = (row.text(), row.text());
            let kind = match row.text().as_str() {
                "VIEW" | "MATERIALIZED VIEW" => TableKind::View,
                "EXTERNAL TABLE" => TableKind::External,
                "EVENT TABLE" => TableKind::EventStream,
                _ => TableKind::Table,
            };
            let rows = row.optional().and_then(|text| text.parse().ok()); // Views have no count.
            let place = self.place(&schema, &name);
            if self.scope.admits(&place) {
                let rows = if kind == TableKind::Table { rows } else { None };
                assembly.table(place, kind, row.optional(), rows);
            }
        }
        Ok(())
    }

    async fn columns(
        &self,
        list: &str,
        assembly: &mut SnapshotAssembly,
    ) -> Result<(), WarehouseError> {
        let sql = format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, IS_NULLABLE, DATA_TYPE, \
               NUMERIC_PRECISION, NUMERIC_SCALE, COMMENT FROM $.COLUMNS \
             WHERE TABLE_SCHEMA IN ({list}) ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
        );
        for row in self.rows(&sql).await?.rows {
            let mut row = TextCells::new(row);
            let (schema, table, name) = (row.text(), row.text(), row.text());
            let (nullable, data_type) = (row.text(), row.text());
            let native_type = match (row.optional(), row.optional()) {
                (Some(precision), Some(scale)) if data_type == "NUMBER" => {
                    format!("NUMBER({precision},{scale})")
                }
                _ => data_type,
            };
            let column = Column {
                name,
                normalized_type: native_type.clone(),
                dimension_type: cell::dimension(&native_type),
                nullable: nullable != "NO",
                native_type,
                primary_key: false,
                comment: row.optional().filter(|text| !text.trim().is_empty()),
            };
            assembly.column(&self.place(&schema, &table), column);
        }
        Ok(())
    }

    async fn keys_of(&self, schema: &str) -> (ShowResult, ShowResult) {
        let database = Dialect::Snowflake.quote(self.database());
        let place = format!("{database}.{}", Dialect::Snowflake.quote(schema));
        let primary = format!("SHOW PRIMARY KEYS IN SCHEMA {place}");
        let foreign = format!("SHOW IMPORTED KEYS IN SCHEMA {place}");
        join(
            self.connector.rows(&primary, self.cancel),
            self.connector.rows(&foreign, self.cancel),
        )
        .await
    }

    /// No view has keys; `SHOW` lists them per schema.
    async fn keys(
        &self,
        schemas: &[String],
        assembly: &mut SnapshotAssembly,
    ) -> Result<(), WarehouseError> {
        let asked: Vec<_> = schemas.iter().map(|schema| self.keys_of(schema)).collect();
        let mut answers = stream::iter(asked).buffered(AT_ONCE);
        for schema in schemas {
            let Some((primary, foreign)) = answers.next().await else {
                break;
            };
            for key in shown(schema, "primary keys", primary, assembly)? {
                let place = self.place(schema, &key.text("table_name"));
                assembly.key(&place, &key.text("column_name"));
            }
            let foreign = shown(schema, "foreign keys", foreign, assembly)?;
            for key in foreign {
                let place = self.place(schema, &key.text("fk_table_name"));
                let to_table = TableRef::new(
                    Some(&key.text("pk_database_name")),
                    Some(&key.text("pk_schema_name")),
                    &key.text("pk_table_name"),
                );
                let link = ForeignKeyColumn {
                    constraint: key.text("fk_name"),
                    from: key.text("fk_column_name"),
                    to_table,
                    to: key.text("pk_column_name"),
                };
                assembly.link(&place, link);
            }
        }
        Ok(())
    }
}

type ShowResult = Result<QueryResult, WarehouseError>;

struct ShowRow(BTreeMap<String, String>);

impl ShowRow {
    fn text(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

/// Groups key lines by table, constraint and position; empty with a warning if the role cannot see
/// them.
fn shown(
    schema: &str,
    what: &str,
    result: ShowResult,
    assembly: &mut SnapshotAssembly,
) -> Result<Vec<ShowRow>, WarehouseError> {
    let result = match result {
        Ok(result) => result,
        Err(error)
            if matches!(
                error.kind,
                ErrorKind::Permission | ErrorKind::NotFound | ErrorKind::Sql
            ) =>
        {
            let message = format!(
                "the {what} of the schema `{schema}` cannot be read (grant REFERENCES or SELECT on \
                 its tables): {error}"
            );
            assembly.warn("constraint_discovery_unauthorized", None, message);
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    if result.rows.len() >= SHOWN_ROWS {
        let message = format!(
            "the schema `{schema}` has more {what} than the {SHOWN_ROWS} that Snowflake shows"
        );
        assembly.warn("constraints_truncated", None, message);
    }
    let named = ColumnPositions::new(&result.columns);
    let mut lines: Vec<ShowRow> = result.rows.iter().map(|row| named.line(row)).collect();
    lines.sort_by_key(|line| {
        let table = line.text("table_name") + &line.text("fk_table_name");
        let constraint = line.text("constraint_name") + &line.text("fk_name");
        let place: u64 = line.text("key_sequence").parse().unwrap_or_default();
        (table, constraint, place)
    });
    Ok(lines)
}

/// Columns of `SHOW`, whose order differs between releases.
pub(super) struct ColumnPositions(BTreeMap<String, usize>);

impl ColumnPositions {
    pub(super) fn new(columns: &[ColumnHeader]) -> Self {
        let names = columns.iter().enumerate();
        Self(
            names
                .map(|(at, column)| (column.name.to_lowercase(), at))
                .collect(),
        )
    }

    pub(super) fn text(&self, row: &[Cell], name: &str) -> Option<String> {
        row.get(*self.0.get(name)?)?.to_text()
    }

    fn line(&self, row: &[Cell]) -> ShowRow {
        let names = self.0.keys();
        ShowRow(
            names
                .filter_map(|name| Some((name.clone(), self.text(row, name)?)))
                .collect(),
        )
    }
}
