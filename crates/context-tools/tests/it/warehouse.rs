//! A SQLite warehouse that accepts checked statements only, like every connector.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use ktx_config::{Connection, Driver};
use ktx_context_tools::{AuditEntry, AuditSink, Warehouses};
use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{
    Caps, Cell, ColumnHeader, ConnectionCheck, Connector, ErrorKind, Flow, QueryEnd, RoleCheck,
    RowSink, SchemaSnapshot, Scope, WarehouseError,
};
use rusqlite::types::Value;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct TestWarehouses {
    pub(crate) opened: Mutex<Vec<String>>,
}

impl Warehouses for TestWarehouses {
    fn dialect(&self, driver: Driver) -> Option<Dialect> {
        match driver {
            Driver::Sqlite => Some(Dialect::Sqlite),
            Driver::Snowflake => Some(Dialect::Snowflake),
            _ => None,
        }
    }

    fn supports(&self, driver: Driver) -> bool {
        driver == Driver::Sqlite
    }

    fn open(&self, connection: &Connection) -> Result<Arc<dyn Connector>, WarehouseError> {
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection.id.to_string());
        let db = rusqlite::Connection::open_in_memory().map_err(|error| other(&error))?;
        db.execute_batch(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
             CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, amount REAL, status TEXT);
             INSERT INTO customers VALUES (1, 'Ann', 'NO'), (2, 'Bo', 'SE'), (3, 'Cy', 'SE');
             INSERT INTO orders VALUES (1, 1, 10.5, 'shipped'), (2, 1, 4.5, 'returned'), (3, 2, 7.0, 'shipped');",
        )
        .map_err(|error| other(&error))?;
        Ok(Arc::new(TestConnector { db: Mutex::new(db) }))
    }
}

#[derive(Debug)]
struct TestConnector {
    db: Mutex<rusqlite::Connection>,
}

fn other(error: &rusqlite::Error) -> WarehouseError {
    WarehouseError::new(ErrorKind::Sql, error.to_string())
}

#[async_trait]
impl Connector for TestConnector {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn check(&self, _: &CancellationToken) -> Result<ConnectionCheck, WarehouseError> {
        Ok(ConnectionCheck {
            server: "SQLite".to_owned(),
            latency: Duration::ZERO,
            role: RoleCheck::ReadOnly,
        })
    }

    async fn introspect(
        &self,
        _: &Scope,
        _: &CancellationToken,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        Ok(SchemaSnapshot::default())
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
        let db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = db.prepare(sql.as_str()).map_err(|error| other(&error))?;
        let columns: Vec<ColumnHeader> = statement
            .column_names()
            .map(|name| ColumnHeader {
                name: name.to_owned(),
                native_type: declared(name).map(str::to_owned),
            })
            .collect();
        sink.header(&columns);
        let mut rows = statement.query([]).map_err(|error| other(&error))?;
        let mut handed = 0;
        while let Some(row) = rows.next().map_err(|error| other(&error))? {
            if handed == caps.rows {
                return Ok(QueryEnd {
                    rows: handed,
                    truncated: true,
                });
            }
            let mut cells = Vec::new();
            for index in 0..columns.len() {
                cells.push(match row.get(index).map_err(|error| other(&error))? {
                    Value::Null => Cell::Null,
                    Value::Integer(value) => Cell::Int(value),
                    Value::Real(value) => Cell::Float(value),
                    Value::Text(value) => Cell::Text(value),
                    Value::Blob(value) => Cell::Bytes(value),
                });
            }
            handed += 1;
            if sink.row(cells) == Flow::Stop {
                break;
            }
        }
        Ok(QueryEnd {
            rows: handed,
            truncated: false,
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Vec<AuditEntry>>);

impl Notes {
    /// `tool connection outcome sql`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .map(|entry| {
                format!(
                    "{} {} {:?} {}",
                    entry.tool, entry.connection, entry.outcome, entry.sql
                )
            })
            .collect()
    }
}

impl AuditSink for Notes {
    fn note(&self, entry: AuditEntry) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
    }
}

fn declared(column: &str) -> Option<&'static str> {
    match column {
        "id" => Some("INTEGER"),
        "name" => Some("TEXT"),
        _ => None,
    }
}
