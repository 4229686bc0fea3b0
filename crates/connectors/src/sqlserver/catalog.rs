//! Reads a SQL Server database in seven queries.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Cell, Column, ErrorKind, SchemaReport, SchemaSnapshot, SchemaState, Scope, TableKind,
    WarehouseError,
};

use super::cell;
use super::session::SqlServerSession;
use crate::assembly::{ForeignKeyColumn, SnapshotAssembly};
use crate::rows::TextCells;

const SCHEMAS: &str = "SELECT name FROM sys.schemas \
     WHERE schema_id < 16384 AND name NOT IN ('sys', 'INFORMATION_SCHEMA', 'guest') ORDER BY name";

const TABLES: &str = "SELECT s.name, o.name, RTRIM(o.type), CAST(p.value AS nvarchar(max)) \
     FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     LEFT JOIN sys.extended_properties AS p ON p.class = 1 AND p.major_id = o.object_id \
       AND p.minor_id = 0 AND p.name = 'MS_Description' \
     WHERE o.type IN ('U', 'V', 'ET') AND o.is_ms_shipped = 0 AND s.name IN ($) \
     ORDER BY s.name, o.name";

const COUNTS: &str = "SELECT s.name, o.name, SUM(r.row_count) FROM sys.dm_db_partition_stats AS r \
     JOIN sys.objects AS o ON o.object_id = r.object_id \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     WHERE r.index_id IN (0, 1) AND s.name IN ($) GROUP BY s.name, o.name";

const COUNTS_OF_CATALOG: &str = "SELECT s.name, o.name, SUM(r.rows) FROM sys.partitions AS r \
     JOIN sys.objects AS o ON o.object_id = r.object_id \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     WHERE r.index_id IN (0, 1) AND s.name IN ($) GROUP BY s.name, o.name";

const COLUMNS: &str = "SELECT s.name, o.name, c.name, t.name, \
       ISNULL(TYPE_NAME(c.system_type_id), t.name), c.max_length, c.precision, c.scale, \
       c.is_nullable, CAST(p.value AS nvarchar(max)) \
     FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     JOIN sys.types AS t ON t.user_type_id = c.user_type_id \
     LEFT JOIN sys.extended_properties AS p ON p.class = 1 AND p.major_id = c.object_id \
       AND p.minor_id = c.column_id AND p.name = 'MS_Description' \
     WHERE o.type IN ('U', 'V', 'ET') AND o.is_ms_shipped = 0 AND s.name IN ($) \
     ORDER BY s.name, o.name, c.column_id";

const PRIMARY_KEYS: &str = "SELECT s.name, o.name, c.name FROM sys.key_constraints AS k \
     JOIN sys.objects AS o ON o.object_id = k.parent_object_id \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     JOIN sys.index_columns AS i ON i.object_id = k.parent_object_id \
       AND i.index_id = k.unique_index_id \
     JOIN sys.columns AS c ON c.object_id = i.object_id AND c.column_id = i.column_id \
     WHERE k.type = 'PK' AND s.name IN ($) ORDER BY s.name, o.name, i.key_ordinal";

const FOREIGN_KEYS: &str = "SELECT s.name, o.name, f.name, c.name, ts.name, t.name, tc.name \
     FROM sys.foreign_keys AS f \
     JOIN sys.foreign_key_columns AS k ON k.constraint_object_id = f.object_id \
     JOIN sys.objects AS o ON o.object_id = f.parent_object_id \
     JOIN sys.schemas AS s ON s.schema_id = o.schema_id \
     JOIN sys.columns AS c ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id \
     JOIN sys.objects AS t ON t.object_id = f.referenced_object_id \
     JOIN sys.schemas AS ts ON ts.schema_id = t.schema_id \
     JOIN sys.columns AS tc ON tc.object_id = k.referenced_object_id \
       AND tc.column_id = k.referenced_column_id \
     WHERE s.name IN ($) ORDER BY s.name, o.name, f.name, k.constraint_column_id";

pub(super) async fn read(
    session: &mut SqlServerSession,
    scope: &Scope,
) -> Result<SchemaSnapshot, WarehouseError> {
    let mut assembly = SnapshotAssembly::default();
    let schemas = schemas(session, scope, &mut assembly).await?;
    if schemas.is_empty() {
        return Ok(assembly.finish(schemas));
    }
    let list: Vec<String> = schemas
        .iter()
        .map(|name| format!("N{}", Dialect::SqlServer.literal(name)))
        .collect();
    let mut reader = SchemaReader {
        database: database(session).await?,
        list: list.join(", "),
        session,
    };
    reader.tables(scope, &mut assembly).await?;
    reader.columns(&mut assembly).await?;
    reader.keys(&mut assembly).await?;
    Ok(assembly.finish(schemas))
}

pub(super) async fn check_schemas(
    session: &mut SqlServerSession,
    names: &[String],
) -> Result<SchemaReport, WarehouseError> {
    let shown = schema_names(session).await?;
    let user = Dialect::SqlServer.quote(&session.target().user);
    let grant = |name: &str| {
        let schema = Dialect::SqlServer.quote(name);
        format!("GRANT SELECT, VIEW DEFINITION ON SCHEMA::{schema} TO {user}")
    };
    Ok(SchemaReport::from_listing(
        names,
        shown,
        |name, known| known.eq_ignore_ascii_case(name),
        |name| SchemaState::NotShown {
            fix: vec![grant(name)],
        },
    ))
}

async fn schema_names(session: &mut SqlServerSession) -> Result<Vec<String>, WarehouseError> {
    let rows = session.rows(SCHEMAS).await?;
    Ok(rows
        .into_iter()
        .map(|row| TextCells::new(row).text())
        .collect())
}

/// Returns existing schemas in scope. The server compares names by collation, usually ignoring
/// case.
async fn schemas(
    session: &mut SqlServerSession,
    scope: &Scope,
    assembly: &mut SnapshotAssembly,
) -> Result<Vec<String>, WarehouseError> {
    let found = schema_names(session).await?;
    if scope.schemas.is_empty() {
        return Ok(found);
    }
    let mut usable = Vec::new();
    for name in &scope.schemas {
        let exact = found.iter().find(|known| *known == name);
        let near = || found.iter().find(|known| known.eq_ignore_ascii_case(name));
        match exact.or_else(near) {
            Some(known) => usable.push(known.clone()),
            None => assembly.warn(
                "schema_not_found",
                None,
                format!("the schema `{name}` does not exist or the login has no right in it"),
            ),
        }
    }
    Ok(usable)
}

async fn database(session: &mut SqlServerSession) -> Result<String, WarehouseError> {
    let rows = session.rows("SELECT DB_NAME()").await?;
    let row = rows.into_iter().next().unwrap_or_default();
    Ok(TextCells::new(row).text())
}

struct SchemaReader<'a> {
    session: &'a mut SqlServerSession,
    database: String,
    list: String,
}

impl SchemaReader<'_> {
    async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Cell>>, WarehouseError> {
        self.session.rows(&sql.replace('$', &self.list)).await
    }

    fn place(&self, schema: &str, table: &str) -> TableRef {
        TableRef::new(Some(&self.database), Some(schema), table)
    }

    async fn tables(
        &mut self,
        scope: &Scope,
        assembly: &mut SnapshotAssembly,
    ) -> Result<(), WarehouseError> {
        let counts = match self.rows(COUNTS).await {
            Err(error) if error.kind == ErrorKind::Permission => {
                self.rows(COUNTS_OF_CATALOG).await?
            }
            counts => counts?,
        };
        let counts: BTreeMap<(String, String), u64> = counts
            .into_iter()
            .filter_map(|row| {
                let mut row = TextCells::new(row);
                let place = (row.text(), row.text());
                Some((place, row.text().parse().ok()?)) // A count is a whole number.
            })
            .collect();
        for row in self.rows(TABLES).await? {
            let mut row = TextCells::new(row);
            let (schema, name) = (row.text(), row.text());
            let kind = match row.text().as_str() {
                "V" => TableKind::View,
                "ET" => TableKind::External,
                _ => TableKind::Table,
            };
            let place = self.place(&schema, &name);
            if scope.admits(&place) {
                let rows = counts.get(&(schema, name)).copied();
                let rows = rows.filter(|_| kind == TableKind::Table);
                assembly.table(place, kind, row.optional(), rows);
            }
        }
        Ok(())
    }

    async fn columns(&mut self, assembly: &mut SnapshotAssembly) -> Result<(), WarehouseError> {
        for row in self.rows(COLUMNS).await? {
            let mut row = TextCells::new(row);
            let (schema, table, name) = (row.text(), row.text(), row.text());
            let (declared, base) = (row.text(), row.text());
            let native_type = ColumnType {
                base: &base,
                length: row.text().parse().unwrap_or_default(),
                precision: row.text(),
                scale: row.text(),
            }
            .text();
            let nullable = row.text() != "false";
            let column = Column {
                name,
                dimension_type: cell::dimension(&base),
                normalized_type: native_type.clone(),
                native_type: if declared == base {
                    native_type
                } else {
                    format!("{declared} ({native_type})")
                },
                nullable,
                primary_key: false,
                comment: row.optional().filter(|text| !text.trim().is_empty()),
            };
            assembly.column(&self.place(&schema, &table), column);
        }
        Ok(())
    }

    async fn keys(&mut self, assembly: &mut SnapshotAssembly) -> Result<(), WarehouseError> {
        for row in self.rows(PRIMARY_KEYS).await? {
            let mut row = TextCells::new(row);
            let (schema, table) = (row.text(), row.text());
            assembly.key(&self.place(&schema, &table), &row.text());
        }
        for row in self.rows(FOREIGN_KEYS).await? {
            let mut row = TextCells::new(row);
            let (schema, table) = (row.text(), row.text());
            let (constraint, from) = (row.text(), row.text());
            let (to_schema, to_name) = (row.text(), row.text());
            let link = ForeignKeyColumn {
                constraint,
                from,
                to_table: self.place(&to_schema, &to_name),
                to: row.text(),
            };
            assembly.link(&self.place(&schema, &table), link);
        }
        Ok(())
    }
}

pub(super) struct ColumnType<'a> {
    pub(super) base: &'a str,
    /// In bytes; -1: unlimited.
    pub(super) length: i64,
    pub(super) precision: String,
    pub(super) scale: String,
}

impl ColumnType<'_> {
    pub(super) fn text(&self) -> String {
        let base = self.base;
        let length = |unit: i64| match self.length {
            -1 => format!("{base}(max)"),
            bytes => format!("{base}({})", bytes / unit),
        };
        match base {
            "char" | "varchar" | "binary" | "varbinary" => length(1),
            "nchar" | "nvarchar" => length(2),
            "decimal" | "numeric" => format!("{base}({},{})", self.precision, self.scale),
            "time" | "datetime2" | "datetimeoffset" => format!("{base}({})", self.scale),
            _ => base.to_owned(),
        }
    }
}
