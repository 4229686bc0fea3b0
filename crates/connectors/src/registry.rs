//! Maps each driver to its connector.

use std::path::PathBuf;
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretSource;
use ktx_sql::Dialect;
use ktx_warehouse::{Connector, ErrorKind, Scope, WarehouseError};

use crate::file::FileKind;
use crate::settings::{Clock, Settings};
use crate::{
    bigquery, clickhouse, duckdb, file, mysql, postgres, snowflake, sqlite, sqlserver, url,
};

struct DriverEntry {
    driver: Driver,
    dialect: Dialect,
    open: fn(&Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError>,
    /// The file of an embedded database.
    file: Option<&'static FileKind>,
    /// `schema`, `dataset` or `database`.
    schema_noun: &'static str,
    /// The keys that list schemas, the preferred one first; empty if the driver has no schemas.
    schema_keys: &'static [&'static str],
    /// The schemas to use without such a key.
    default_schemas: DefaultSchemas,
}

enum DefaultSchemas {
    /// All schemas, or the driver has none.
    None,
    Named(&'static str),
    /// The connection's database, or the server's default.
    Database,
    /// The connection's database, or this one.
    DatabaseOr(&'static str),
}

/// The warehouse drivers in display order.
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

/// `None` for context sources. Connectors of the drivers `mysql` and `mariadb` learn the server's
/// actual dialect once connected.
pub fn dialect(driver: Driver) -> Option<Dialect> {
    entry(driver).map(|entry| entry.dialect)
}

/// Resolves references and checks the settings, but does not connect. `unix_now` is the wall clock
/// in seconds since 1970, because some logins sign the time.
///
/// # Errors
/// [`ErrorKind::Config`] if the driver is a context source, a reference has no value, or a setting
/// is missing or wrong.
pub fn open(
    connection: &Connection,
    secrets: &dyn SecretSource,
    unix_now: u64,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    match entry(connection.driver) {
        Some(entry) => (entry.open)(&Settings::new(connection, secrets, Clock::new(unix_now))),
        None => Err(unsupported(connection)),
    }
}

/// The path of an embedded database's file if it exists; `None` for drivers without a file.
/// Contacts no server and opens no database.
///
/// # Errors
/// The same errors about the settings and the file as the connector of [`open`].
pub fn look_at_file(
    connection: &Connection,
    secrets: &dyn SecretSource,
) -> Result<Option<PathBuf>, WarehouseError> {
    let Some(kind) = entry(connection.driver).and_then(|entry| entry.file) else {
        return Ok(None);
    };
    // This signs nothing, so the time does not matter.
    let settings = Settings::new(connection, secrets, Clock::new(0));
    let path = file::locate(&settings, kind)?;
    file::inspect(&path, kind)?;
    Ok(Some(path))
}

/// The part of the warehouse that the connection's own settings name: the driver's schema keys with
/// their default, and `enabled_tables`. An empty list of schemas leaves the choice to the connector
/// (PostgreSQL and Redshift: every schema that the login can read; MySQL: the login's database;
/// DuckDB: all schemas of the file).
///
/// Tables of these drivers have no catalog part, because a connection sees one database only; that
/// part of an entry `catalog.db.name` is dropped, and so is the `main` of SQLite.
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
            // Only the connector resolves a reference and knows the database.
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
    /// `schema`, `dataset` or `database`.
    pub noun: &'static str,
    /// The preferred one.
    pub key: &'static str,
}

/// Returns the words of a driver; `None` if it has no schemas.
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

/// Returns the database if the file itself states it instead of a reference.
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

/// Unreachable while every warehouse driver has an entry.
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
