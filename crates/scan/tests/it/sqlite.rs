//! An in-memory SQLite connector for statements from the gate.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{
    Caps, Cell, Column, ColumnHeader, ConnectionCheck, Connector, DimensionType, ErrorKind, Flow,
    ForeignKey, QueryEnd, RoleCheck, RowSink, ScanWarning, SchemaSnapshot, Scope, Table, TableKind,
    WarehouseError,
};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Shown,
    Hidden,
}

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Mutex<Connection>,
    keys: Keys,
    pub(crate) statements: Mutex<Vec<String>>,
    pub(crate) broken: Option<String>,
    /// A warning replaces this table.
    pub(crate) unseen: Mutex<Option<String>>,
}

impl Sqlite {
    pub(crate) fn new(keys: Keys, script: &str) -> Self {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(script).expect("a good script");
        Self {
            connection: Mutex::new(connection),
            keys,
            statements: Mutex::default(),
            broken: None,
            unseen: Mutex::default(),
        }
    }

    pub(crate) fn execute(&self, script: &str) {
        self.connection
            .lock()
            .expect("not poisoned")
            .execute_batch(script)
            .expect("a good script");
    }

    pub(crate) fn count(&self) -> usize {
        self.statements.lock().expect("not poisoned").len()
    }

    fn table(&self, connection: &Connection, name: &str, kind: &str) -> rusqlite::Result<Table> {
        let mut columns = Vec::new();
        let mut primary: Vec<(i64, String)> = Vec::new();
        let mut statement =
            connection.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)")?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            let (column, native): (String, String) = (row.get(0)?, row.get(1)?);
            let position: i64 = row.get(3)?;
            let shown = self.keys == Keys::Shown && position > 0;
            if shown {
                primary.push((position, column.clone()));
            }
            columns.push(Column {
                name: column,
                dimension_type: dimension(&native),
                normalized_type: native.clone(),
                native_type: native,
                nullable: row.get::<_, i64>(2)? == 0 && !shown,
                primary_key: shown,
                comment: None,
            });
        }
        primary.sort();
        Ok(Table {
            table: TableRef::bare(name),
            kind: if kind == "view" {
                TableKind::View
            } else {
                TableKind::Table
            },
            comment: None,
            estimated_rows: None,
            columns,
            primary_key: primary.into_iter().map(|(_, name)| name).collect(),
            foreign_keys: if self.keys == Keys::Shown {
                foreign_keys(connection, name)?
            } else {
                Vec::new()
            },
        })
    }
}

fn foreign_keys(connection: &Connection, name: &str) -> rusqlite::Result<Vec<ForeignKey>> {
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    let sql =
        "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?1) ORDER BY id, seq";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([name])?;
    while let Some(row) = rows.next()? {
        let (id, table, from, to): (i64, String, String, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        match keys.last_mut().filter(|(known, _)| *known == id) {
            Some((_, key)) => {
                key.from_columns.push(from);
                key.to_columns.push(to);
            }
            None => keys.push((
                id,
                ForeignKey {
                    constraint_name: None,
                    from_columns: vec![from],
                    to_table: TableRef::bare(&table),
                    to_columns: vec![to],
                },
            )),
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

fn dimension(native: &str) -> DimensionType {
    match native {
        "INTEGER" | "REAL" | "DECIMAL" => DimensionType::Number,
        "DATE" | "TIMESTAMP" => DimensionType::Time,
        "BOOLEAN" => DimensionType::Boolean,
        _ => DimensionType::String,
    }
}

fn failure(error: &rusqlite::Error) -> WarehouseError {
    WarehouseError::new(ErrorKind::Sql, error.to_string())
}

#[async_trait]
impl Connector for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn check(&self, _: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        let role = RoleCheck::Unknown {
            reason: "not asked".to_owned(),
        };
        Ok(ConnectionCheck {
            server: "SQLite".to_owned(),
            latency: Duration::ZERO,
            role,
        })
    }

    async fn introspect(
        &self,
        scope: &Scope,
        cancel: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        if cancel.is_cancelled() {
            return Err(WarehouseError::cancelled());
        }
        let connection = self.connection.lock().expect("not poisoned");
        let names: Vec<(String, String)> = connection
            .prepare("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
            .and_then(|mut statement| {
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            })
            .map_err(|error| failure(&error))?;
        let tables: rusqlite::Result<Vec<Table>> = names
            .iter()
            .map(|(name, kind)| self.table(&connection, name, kind))
            .collect();
        let mut tables = tables.map_err(|error| failure(&error))?;
        tables.retain(|table| scope.admits(&table.table));
        let mut warnings = Vec::new();
        if let Some(unseen) = self.unseen.lock().expect("not poisoned").clone() {
            tables.retain(|table| table.table.name != unseen);
            warnings.push(ScanWarning {
                code: "table_unreadable".to_owned(),
                message: format!("could not read `{unseen}`"),
                table: Some(unseen),
                column: None,
                recoverable: true,
            });
        }
        Ok(SchemaSnapshot {
            schemas: Vec::new(),
            listing: Vec::new(),
            tables,
            warnings,
        })
    }

    async fn query(
        &self,
        sql: &ReadOnlySql,
        caps: &Caps,
        sink: &mut dyn RowSink,
        cancel: &CancellationToken,
    ) -> Result<QueryEnd, WarehouseError> {
        if cancel.is_cancelled() {
            return Err(WarehouseError::cancelled());
        }
        assert_eq!(sql.dialect(), Dialect::Sqlite);
        assert!(
            caps.rows < 1_000_000 && caps.timeout <= Duration::from_mins(2),
            "a statement without caps"
        );
        self.statements
            .lock()
            .expect("not poisoned")
            .push(sql.as_str().to_owned());
        if self
            .broken
            .as_ref()
            .is_some_and(|table| sql.as_str().contains(&format!("\"{table}\"")))
        {
            return Err(WarehouseError::new(
                ErrorKind::Permission,
                "permission denied",
            ));
        }
        let connection = self.connection.lock().expect("not poisoned");
        let mut statement = connection
            .prepare(sql.as_str())
            .map_err(|error| failure(&error))?;
        let header: Vec<ColumnHeader> = statement
            .column_names()
            .map(|name| ColumnHeader {
                name: name.to_owned(),
                native_type: None,
            })
            .collect();
        sink.header(&header);
        let mut rows = statement.query([]).map_err(|error| failure(&error))?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(|error| failure(&error))? {
            if count == caps.rows {
                return Ok(QueryEnd {
                    rows: count,
                    truncated: true,
                });
            }
            let cells = (0..header.len())
                .map(|at| cell(row.get_ref(at).expect("a column")))
                .collect();
            count += 1;
            if sink.row(cells) == Flow::Stop {
                break;
            }
        }
        Ok(QueryEnd {
            rows: count,
            truncated: false,
        })
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Int(value),
        ValueRef::Real(value) => Cell::Float(value),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}
