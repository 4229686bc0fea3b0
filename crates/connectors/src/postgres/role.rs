//! Checks the rights of the login.

use ktx_sql::Dialect;
use ktx_warehouse::{ConnectionCheck, RoleCheck, WarehouseError};
use tokio::time::Instant;
use tokio_postgres::Row;

use super::catalog;
use super::introspect::field;
use super::session::PostgresSession;

const RIGHTS: &str = "
SELECT r.rolsuper, r.rolcreaterole, r.rolcreatedb,
  has_database_privilege(current_database(), 'CREATE'),
  (SELECT min(n.nspname::text) FROM pg_catalog.pg_namespace n
    WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
      AND has_schema_privilege(n.oid, 'CREATE')),
  ARRAY(
    SELECT n.nspname::text || '.' || c.relname::text
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'f')
      AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
      AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
    ORDER BY 1 LIMIT 3
  )
FROM pg_catalog.pg_roles r
WHERE r.rolname = current_user";

pub(super) async fn check(
    session: &PostgresSession,
    dialect: Dialect,
) -> Result<ConnectionCheck, WarehouseError> {
    let begin = Instant::now();
    let version = session.rows("SELECT version()", &[]).await?;
    let latency = begin.elapsed();
    let version: String = match version.first() {
        Some(row) => field(row, 0)?,
        None => String::new(),
    };
    Ok(ConnectionCheck {
        server: server(&version, dialect),
        latency,
        role: role(session, dialect).await?,
    })
}

/// The first two words, such as `PostgreSQL 15.3`; Redshift's version is at the end.
fn server(version: &str, dialect: Dialect) -> String {
    if dialect == Dialect::Redshift {
        let own = version.split("Redshift ").nth(1).unwrap_or_default();
        return format!("Amazon Redshift {own}").trim_end().to_owned();
    }
    let words: Vec<&str> = version.split_ascii_whitespace().take(2).collect();
    words.join(" ")
}

async fn role(session: &PostgresSession, dialect: Dialect) -> Result<RoleCheck, WarehouseError> {
    if dialect == Dialect::Redshift {
        return Ok(RoleCheck::Unknown {
            reason: "ktx does not check the rights of Redshift logins".to_owned(),
        });
    }
    let rows = session.rows(RIGHTS, &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(RoleCheck::Unknown {
            reason: "the login is not in `pg_roles`".to_owned(),
        });
    };
    Ok(match because(row)? {
        Some(because) => RoleCheck::CanWrite {
            because,
            fix: fix(session, &schemas(session).await?),
        },
        None => RoleCheck::ReadOnly,
    })
}

fn because(row: &Row) -> Result<Option<String>, WarehouseError> {
    if field(row, 0)? {
        return Ok(Some("the login is a superuser".to_owned()));
    }
    let tables: Vec<String> = field(row, 5)?;
    if !tables.is_empty() {
        return Ok(Some(format!("the login may change {}", tables.join(", "))));
    }
    if field(row, 1)? || field(row, 2)? {
        return Ok(Some("the login may create roles or databases".to_owned()));
    }
    if field(row, 3)? {
        return Ok(Some(
            "the login may create schemas in the database".to_owned(),
        ));
    }
    let schema: Option<String> = field(row, 4)?;
    Ok(schema.map(|schema| format!("the login may create objects in the schema {schema}")))
}

async fn schemas(session: &PostgresSession) -> Result<Vec<String>, WarehouseError> {
    let named = &session.place().search_path;
    if !named.is_empty() {
        return Ok(named.clone());
    }
    let mut usable = Vec::new();
    for row in session.rows(catalog::USER_SCHEMAS, &[]).await? {
        if field(&row, 1)? {
            usable.push(field(&row, 0)?);
        }
    }
    Ok(usable)
}

fn fix(session: &PostgresSession, schemas: &[String]) -> Vec<String> {
    let place = session.place();
    let quote = |name: &str| Dialect::Postgres.quote(name);
    let database = quote(place.target.database.as_deref().unwrap_or_default());
    let mut statements = vec![
        "CREATE ROLE ktx_reader LOGIN PASSWORD 'choose-a-password'".to_owned(),
        format!("GRANT CONNECT ON DATABASE {database} TO ktx_reader"),
    ];
    for schema in schemas {
        let schema = quote(schema);
        statements.extend([
            format!("GRANT USAGE ON SCHEMA {schema} TO ktx_reader"),
            format!("GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO ktx_reader"),
            format!(
                "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO ktx_reader"
            ),
        ]);
    }
    statements.push("ALTER ROLE ktx_reader SET default_transaction_read_only = on".to_owned());
    statements
}
