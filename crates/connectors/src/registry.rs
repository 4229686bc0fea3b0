//! Maps drivers to connectors.

use std::path::PathBuf;
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretSource;
use ktx_sql::Dialect;
use ktx_warehouse::{Connector, ErrorKind, Scope, WarehouseError};

use crate::file::FileKind;
use crate::settings::{Clock, ConnectionSettings};
use crate::{
    bigquery, clickhouse, duckdb, file, mysql, postgres, snowflake, sqlite, sqlserver, url,
};

struct DriverEntry {
    driver: Driver,
    dialect: Dialect,
    open: fn(&ConnectionSettings<'_>) -> Result<Arc<dyn Connector>, WarehouseError>,
    file: Option<&'static FileKind>,
    /// `schema`, `dataset` or `database`.
    schema_noun: &'static str,
    /// Keys that list schemas, preferred one first; empty without schemas.
    schema_keys: &'static [&'static str],
    default_schemas: DefaultSchemas,
}

enum DefaultSchemas {
    /// All schemas, or the driver has none.
    None,
    Named(&'static str),
    /// The connection's database, else the server's default.
    Database,
    /// The connection's database, else this one.
    DatabaseOr(&'static str),
}

static TABLE: &[DriverEntry] = &[
    DriverEntry {
        driver: Driver::Postgres,
        dialect: Dialect::Postgres,
        open: postgres::open,
        file: None,
        schema_noun: "schema",
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::None,
    },
    DriverEntry {
        driver: Driver::Snowflake,
        dialect: Dialect::Snowflake,
        open: snowflake::open,
        file: None,
        schema_noun: "schema",
        schema_keys: &["schema_names", "schema_name"],
        default_schemas: DefaultSchemas::None,
    },
    DriverEntry {
        driver: Driver::BigQuery,
        dialect: Dialect::BigQuery,
        open: bigquery::open,
        file: None,
        schema_noun: "dataset",
        schema_keys: &["dataset_ids", "dataset_id"],
        default_schemas: DefaultSchemas::None,
    },
    DriverEntry {
        driver: Driver::ClickHouse,
        dialect: Dialect::ClickHouse,
        open: clickhouse::open,
        file: None,
        schema_noun: "database",
        schema_keys: &["databases"],
        default_schemas: DefaultSchemas::DatabaseOr("default"),
    },
    DriverEntry {
        driver: Driver::MySql,
        dialect: Dialect::MySql,
        open: mysql::open,
        file: None,
        schema_noun: "schema",
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Database,
    },
    DriverEntry {
        driver: Driver::MariaDb,
        dialect: Dialect::MariaDb,
        open: mysql::open_mariadb,
        file: None,
        schema_noun: "schema",
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Database,
    },
    DriverEntry {
        driver: Driver::SqlServer,
        dialect: Dialect::SqlServer,
        open: sqlserver::open,
        file: None,
        schema_noun: "schema",
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Named("dbo"),
    },
    DriverEntry {
        driver: Driver::Sqlite,
        dialect: Dialect::Sqlite,
        open: sqlite::open,
        file: Some(&sqlite::FILE),
        schema_noun: "schema",
        schema_keys: &[],
        default_schemas: DefaultSchemas::None,
    },
    DriverEntry {
        driver: Driver::DuckDb,
        dialect: Dialect::DuckDb,
        open: duckdb::open,
        file: Some(&duckdb::FILE),
        schema_noun: "schema",
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::None,
    },
    DriverEntry {
        driver: Driver::Redshift,
        dialect: Dialect::Redshift,
        open: postgres::open_redshift,
        file: None,
        schema_noun: "schema",
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::None,
    },
];

/// Returns the drivers that [`open`] supports, in display order.
pub fn supported() -> impl Iterator<Item = Driver> {
    TABLE.iter().map(|entry| entry.driver)
}

/// Returns `None` for context sources. The drivers `mysql` and `mariadb` learn the actual dialect
/// when they connect.
pub fn dialect(driver: Driver) -> Option<Dialect> {
    entry(driver).map(|entry| entry.dialect)
}

/// Resolves references and checks settings without connecting. `unix_now` is in seconds since 1970,
/// for logins that sign the time.
///
/// # Errors
/// [`ErrorKind::Config`] for a context source, a reference without a value, or a bad setting.
pub fn open(
    connection: &Connection,
    secrets: &dyn SecretSource,
    unix_now: u64,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    match entry(connection.driver) {
        Some(entry) => (entry.open)(&ConnectionSettings::new(
            connection,
            secrets,
            Clock::new(unix_now),
        )),
        None => Err(unsupported(connection)),
    }
}

/// Returns the path of an existing database file; `None` for drivers without a file. Opens nothing.
///
/// # Errors
/// The same as [`open`] for settings and file.
pub fn look_at_file(
    connection: &Connection,
    secrets: &dyn SecretSource,
) -> Result<Option<PathBuf>, WarehouseError> {
    let Some(kind) = entry(connection.driver).and_then(|entry| entry.file) else {
        return Ok(None);
    };
    let settings = ConnectionSettings::new(connection, secrets, Clock::new(0));
    let path = file::locate(&settings, kind)?;
    file::inspect(&path, kind)?;
    Ok(Some(path))
}

/// Returns the scope of the connection's settings: schema keys with their default, and
/// `enabled_tables`. Without schemas, the connector decides (PostgreSQL and Redshift: all readable
/// schemas; MySQL: the login's database; DuckDB: all schemas of the file).
///
/// A connection sees one database, so tables have no catalog part: `catalog.db.name` loses its
/// first part, and SQLite's names lose `main`.
pub fn scope(connection: &Connection) -> Scope {
    let tables = connection.texts(&["enabled_tables"]);
    let Some(entry) = entry(connection.driver) else {
        return Scope {
            schemas: Vec::new(),
            tables,
        };
    };
    let database = literal_database(connection);
    let tables = tables
        .into_iter()
        .map(|name| local(entry.driver, name, database.as_deref()))
        .collect();
    let mut schemas = connection.texts(entry.schema_keys);
    if schemas.is_empty() {
        match entry.default_schemas {
            DefaultSchemas::None => {}
            DefaultSchemas::Named(name) => schemas.push(name.to_owned()),
            DefaultSchemas::Database => schemas.extend(database),
            DefaultSchemas::DatabaseOr(name) => match database {
                Some(database) => schemas.push(database),
                None if has_reference(connection) => {}
                None => schemas.push(name.to_owned()),
            },
        }
    }
    Scope { schemas, tables }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaWords {
    pub noun: &'static str,
    pub key: &'static str,
}

/// Returns `None` for a driver without schemas.
pub fn schema_words(driver: Driver) -> Option<SchemaWords> {
    let entry = entry(driver)?;
    Some(SchemaWords {
        noun: entry.schema_noun,
        key: entry.schema_keys.first()?,
    })
}

fn local(driver: Driver, name: String, database: Option<&str>) -> String {
    let rest = match (driver, name.split_once('.')) {
        (Driver::Sqlite, Some(("main", rest))) => Some(rest),
        (Driver::Postgres | Driver::Redshift, Some((first, rest))) if rest.contains('.') => {
            database
                .is_none_or(|database| database == first)
                .then_some(rest)
        }
        (Driver::MySql | Driver::MariaDb, Some(("def", rest))) if rest.contains('.') => Some(rest),
        (Driver::DuckDb, Some((_, rest))) if rest.contains('.') => Some(rest),
        _ => None,
    };
    rest.map(str::to_owned).unwrap_or(name)
}

fn has_reference(connection: &Connection) -> bool {
    let text = connection
        .text(&["url"])
        .or_else(|| connection.text(&["database"]));
    text.is_some_and(|text| text.starts_with("env:") || text.starts_with("file:"))
}

fn literal_database(connection: &Connection) -> Option<String> {
    let literal = |text: &String| !text.starts_with("env:") && !text.starts_with("file:");
    let from_url = connection
        .text(&["url"])
        .filter(literal)
        .and_then(|text| url::parse(&text))
        .and_then(|url| url.database);
    from_url.or_else(|| connection.text(&["database"]).filter(literal))
}

fn entry(driver: Driver) -> Option<&'static DriverEntry> {
    TABLE.iter().find(|entry| entry.driver == driver)
}

fn unsupported(connection: &Connection) -> WarehouseError {
    WarehouseError::new(
        ErrorKind::Config,
        format!(
            "connection `{}` is a context source (`{}`), not a warehouse",
            connection.id, connection.driver
        ),
    )
}

#[cfg(test)]
mod tests;
