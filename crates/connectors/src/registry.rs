//! Maps each driver to its connector.

use std::path::PathBuf;
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretSource;
use ktx_warehouse::{Connector, Dialect, ErrorKind, ReadOnlySql, Scope, WarehouseError};

use crate::settings::{Clock, Settings};
use crate::{
    bigquery, clickhouse, duckdb, file, mysql, postgres, snowflake, sqlite, sqlserver, url,
};

struct Entry {
    driver: Driver,
    open: fn(&Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError>,
    /// The keys that list schemas, the preferred one first.
    schema_keys: &'static [&'static str],
    /// The schemas to use without such a key.
    default_schemas: DefaultSchemas,
}

enum DefaultSchemas {
    /// All schemas, or the driver has none.
    None,
    Named(&'static str),
    /// The database of the connection, or the server's default if it has none.
    Database,
    /// The database of the connection, or this one if it has none.
    DatabaseOr(&'static str),
}

static TABLE: &[Entry] = &[
    Entry {
        driver: Driver::Postgres,
        open: postgres::open,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::None,
    },
    Entry {
        driver: Driver::Snowflake,
        open: snowflake::open,
        schema_keys: &["schema_names", "schema_name"],
        default_schemas: DefaultSchemas::None,
    },
    Entry {
        driver: Driver::BigQuery,
        open: bigquery::open,
        schema_keys: &["dataset_ids", "dataset_id"],
        default_schemas: DefaultSchemas::None,
    },
    Entry {
        driver: Driver::ClickHouse,
        open: clickhouse::open,
        schema_keys: &["databases"],
        default_schemas: DefaultSchemas::DatabaseOr("default"),
    },
    Entry {
        driver: Driver::MySql,
        open: mysql::open,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Database,
    },
    Entry {
        driver: Driver::MariaDb,
        open: mysql::open_mariadb,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Database,
    },
    Entry {
        driver: Driver::SqlServer,
        open: sqlserver::open,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Named("dbo"),
    },
    Entry {
        driver: Driver::Sqlite,
        open: sqlite::open,
        schema_keys: &[],
        default_schemas: DefaultSchemas::None,
    },
    Entry {
        driver: Driver::DuckDb,
        open: duckdb::open,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::None,
    },
    Entry {
        driver: Driver::Redshift,
        open: postgres::open_redshift,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::None,
    },
];

static SUPPORTED: &[Driver] = &[
    Driver::Postgres,
    Driver::Snowflake,
    Driver::BigQuery,
    Driver::ClickHouse,
    Driver::MySql,
    Driver::MariaDb,
    Driver::SqlServer,
    Driver::Sqlite,
    Driver::DuckDb,
    Driver::Redshift,
];

/// Returns the drivers that [`open`] supports, in display order.
pub fn supported() -> &'static [Driver] {
    SUPPORTED
}

/// Returns the dialect of a warehouse driver, supported or not; `None` for context sources.
/// Connectors of the drivers `mysql` and `mariadb` learn the server's actual dialect once
/// connected.
pub fn dialect(driver: Driver) -> Option<Dialect> {
    Some(match driver {
        Driver::Postgres => Dialect::Postgres,
        Driver::Snowflake => Dialect::Snowflake,
        Driver::BigQuery => Dialect::BigQuery,
        Driver::ClickHouse => Dialect::ClickHouse,
        Driver::MySql => Dialect::MySql,
        Driver::MariaDb => Dialect::MariaDb,
        Driver::SqlServer => Dialect::SqlServer,
        Driver::Sqlite => Dialect::Sqlite,
        Driver::DuckDb => Dialect::DuckDb,
        Driver::Redshift => Dialect::Redshift,
        Driver::Dbt
        | Driver::MetricFlow
        | Driver::LookMl
        | Driver::Looker
        | Driver::Metabase
        | Driver::Notion => return None,
    })
}

/// Creates the connector of a connection: resolves references and checks the settings, but does not
/// connect. `unix_now` is the wall clock in seconds since 1970, because some logins sign the time.
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

/// Returns the path of an embedded database's file if it exists; `None` for drivers without a file.
/// Contacts no server and opens no database.
///
/// # Errors
/// The same errors about the settings and the file as the connector of [`open`].
pub fn look_at_file(
    connection: &Connection,
    secrets: &dyn SecretSource,
) -> Result<Option<PathBuf>, WarehouseError> {
    let kind = match connection.driver {
        Driver::Sqlite => &sqlite::FILE,
        Driver::DuckDb => &duckdb::FILE,
        _ => return Ok(None),
    };
    // This signs nothing, so the time does not matter.
    let settings = Settings::new(connection, secrets, Clock::new(0));
    let path = file::locate(&settings, kind)?;
    file::inspect(&path, kind)?;
    Ok(Some(path))
}

/// Returns the part of the warehouse that the connection's own settings name: the driver's schema
/// keys with their default, and `enabled_tables`. An empty list of schemas leaves the choice to the
/// connector (PostgreSQL and Redshift: every schema that the login can read; MySQL: the login's
/// database; DuckDB: all schemas of the file).
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

/// What a driver calls its schemas, and the key of `ktx.yaml` that lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaWords {
    /// `schema`, `dataset` or `database`.
    pub noun: &'static str,
    /// The preferred key.
    pub key: &'static str,
}

/// Returns the words of a driver; `None` if it has no schemas.
pub fn schema_words(driver: Driver) -> Option<SchemaWords> {
    let key = entry(driver)?.schema_keys.first()?;
    let noun = match driver {
        Driver::BigQuery => "dataset",
        Driver::ClickHouse => "database",
        _ => "schema",
    };
    Some(SchemaWords { noun, key })
}

/// Drops the parts that the driver's tables do not have.
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

/// Whether the address or the database is a reference.
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

/// Refuses a statement that was checked by the rules of another dialect.
pub(crate) fn require(sql: &ReadOnlySql, accepted: &[Dialect]) -> Result<(), WarehouseError> {
    if accepted.contains(&sql.dialect()) {
        return Ok(());
    }
    let expected = accepted
        .first()
        .map(|dialect| dialect.name())
        .unwrap_or_default();
    Err(WarehouseError::new(
        ErrorKind::Sql,
        format!(
            "the statement was checked as `{}`, the connection speaks `{expected}`",
            sql.dialect()
        ),
    ))
}

fn entry(driver: Driver) -> Option<&'static Entry> {
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
