//! Which driver is served by which connector.

use std::sync::Arc;

use ktx_config::{Connection, Driver, DriverKind};
use ktx_secrets::SecretSource;
use ktx_warehouse::{Connector, Dialect, ErrorKind, ReadOnlySql, Scope, WarehouseError};

use crate::settings::Settings;
use crate::{clickhouse, mysql, postgres, sqlite, url};

/// What a driver's module offers.
struct Entry {
    driver: Driver,
    open: fn(&Settings<'_>) -> Result<Arc<dyn Connector>, WarehouseError>,
    /// The keys that list schemas, the usual one first.
    schema_keys: &'static [&'static str],
    /// The schemas without such a key.
    default_schemas: DefaultSchemas,
}

enum DefaultSchemas {
    /// The driver has no schemas.
    None,
    /// This one.
    Named(&'static str),
    /// The database of the connection.
    Database,
}

static TABLE: [Entry; 5] = [
    Entry {
        driver: Driver::Postgres,
        open: postgres::open,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Named("public"),
    },
    Entry {
        driver: Driver::ClickHouse,
        open: clickhouse::open,
        schema_keys: &["databases", "database"],
        default_schemas: DefaultSchemas::Named("default"),
    },
    Entry {
        driver: Driver::MySql,
        open: mysql::open,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Database,
    },
    Entry {
        driver: Driver::Sqlite,
        open: sqlite::open,
        schema_keys: &[],
        default_schemas: DefaultSchemas::None,
    },
    Entry {
        driver: Driver::Redshift,
        open: postgres::open_redshift,
        schema_keys: &["schemas", "schema"],
        default_schemas: DefaultSchemas::Named("public"),
    },
];

static SUPPORTED: [Driver; 5] = [
    Driver::Postgres,
    Driver::ClickHouse,
    Driver::MySql,
    Driver::Sqlite,
    Driver::Redshift,
];

/// The drivers that [`open`] serves, in the order in which they are listed to people.
pub fn supported() -> &'static [Driver] {
    &SUPPORTED
}

/// The dialect of a warehouse driver, served or not; `None` for context sources. The driver `mysql`
/// says MySQL: whether the server is MariaDB is known once a connector has reached it.
pub fn dialect(driver: Driver) -> Option<Dialect> {
    Some(match driver {
        Driver::Postgres => Dialect::Postgres,
        Driver::Snowflake => Dialect::Snowflake,
        Driver::BigQuery => Dialect::BigQuery,
        Driver::ClickHouse => Dialect::ClickHouse,
        Driver::MySql => Dialect::MySql,
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

/// Makes the connector of a connection: resolves references and checks the settings, reaches
/// nothing.
///
/// # Errors
/// [`ErrorKind::Config`] when the driver has no connector, a reference has no value, or a setting is
/// missing or wrong.
pub fn open(
    connection: &Connection,
    secrets: &dyn SecretSource,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    match entry(connection.driver) {
        Some(entry) => (entry.open)(&Settings::new(connection, secrets)),
        None => Err(unsupported(connection)),
    }
}

/// The part of the warehouse that the connection's own settings name: the driver's schema keys with
/// their default, and `enabled_tables`. An empty list of schemas leaves the choice to the connector
/// (MySQL: the database that the login lands in).
///
/// Tables of these drivers have no catalog part, since a connection sees one database only; that part
/// of an entry `catalog.db.name` is left out. So is the `main` of SQLite.
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
        }
    }
    Scope { schemas, tables }
}

/// Takes the part off that the driver's tables do not have.
fn local(driver: Driver, name: String, database: Option<&str>) -> String {
    let rest = match (driver, name.split_once('.')) {
        (Driver::Sqlite, Some(("main", rest))) => Some(rest),
        (Driver::Postgres | Driver::Redshift, Some((first, rest))) if rest.contains('.') => {
            database
                .is_none_or(|database| database == first)
                .then_some(rest)
        }
        (Driver::MySql, Some(("def", rest))) if rest.contains('.') => Some(rest),
        _ => None,
    };
    rest.map(str::to_owned).unwrap_or(name)
}

/// The database as far as it is written in the file itself and not behind a reference.
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

fn unsupported(connection: &Connection) -> WarehouseError {
    let driver = connection.driver;
    if driver.kind() == DriverKind::ContextSource {
        return WarehouseError::new(
            ErrorKind::Config,
            format!(
                "connection `{}` is a context source (`{driver}`), not a warehouse",
                connection.id
            ),
        );
    }
    let list: Vec<&str> = supported().iter().map(|driver| driver.as_str()).collect();
    WarehouseError::new(
        ErrorKind::Config,
        format!(
            "driver `{driver}` is not supported yet; supported: {}",
            list.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests;
