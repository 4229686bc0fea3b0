//! Sends attacks to PostgreSQL without the static gate.

use ktx_warehouse::QueryResult;
use serde_json::json;
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use super::{Postgres, connector, server};
use crate::session::SessionConnector;
use crate::tests::effects::{StatementForms, fire};

const SHOP: &str = "CREATE TABLE customers (id int, name text);
    INSERT INTO customers VALUES (1, 'a'), (2, 'b');
    CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE SEQUENCE s;
    CREATE TABLE orders (id int); CREATE MATERIALIZED VIEW v AS SELECT 1 AS one;
    CREATE FUNCTION my_function(x int) RETURNS int LANGUAGE sql AS
      'INSERT INTO t VALUES (9) RETURNING a';
    CREATE PROCEDURE p() LANGUAGE sql AS 'DELETE FROM t';";

const STATE: &str = "SELECT coalesce(string_agg(line, E'\\n' ORDER BY line), '') FROM (
      SELECT 'customers ' || c::text FROM customers c
      UNION ALL SELECT 't ' || t::text FROM t
      UNION ALL SELECT 's ' || last_value || is_called FROM s
      UNION ALL SELECT 'relation ' || relname || ' ' || relkind::text || coalesce(relacl::text, '')
        FROM pg_class WHERE relnamespace = 'public'::regnamespace OR relpersistence = 't'
      UNION ALL SELECT 'function ' || proname FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
      UNION ALL SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'
      UNION ALL SELECT 'column ' || attname FROM pg_attribute
        WHERE attrelid IN ('customers'::regclass, 't'::regclass)
      UNION ALL SELECT 'extension ' || extname FROM pg_extension
      UNION ALL SELECT 'large ' || oid FROM pg_largeobject_metadata
      UNION ALL SELECT 'slot ' || slot_name FROM pg_replication_slots
        WHERE database = current_database()
      UNION ALL SELECT 'origin ' || roname FROM pg_replication_origin WHERE roname = 'x'
      UNION ALL SELECT 'statistics ' || coalesce(stats_reset::text, '') FROM pg_stat_database
        WHERE datname = current_database()
      UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) lines (line)";

async fn effects(
    admin: &Client,
    connector: &SessionConnector<Postgres>,
    forms: StatementForms,
) -> Vec<String> {
    fire(
        "postgres",
        forms,
        async |sql, caps| {
            let mut result = QueryResult::default();
            let cancel = CancellationToken::new();
            connector.run(sql, caps, &mut result, &cancel).await?;
            Ok(result)
        },
        async || -> String { admin.query_one(STATE, &[]).await.unwrap().get(0) },
    )
    .await
}

#[tokio::test]
async fn no_attack_of_a_reader_has_an_effect() {
    let Some((admin, _)) = server("ktx_unit_effects", SHOP).await else {
        return;
    };
    let role = "DROP ROLE IF EXISTS ktx_effects_reader;
      CREATE ROLE ktx_effects_reader LOGIN PASSWORD 'reader-secret';
      GRANT SELECT ON ALL TABLES IN SCHEMA public TO ktx_effects_reader";
    admin.batch_execute(role).await.unwrap();
    let login = json!({"username": "ktx_effects_reader", "password": "reader-secret"});
    let connector = connector("ktx_unit_effects", &login).unwrap();
    assert_eq!(
        effects(&admin, &connector, StatementForms::Both).await,
        Vec::<String>::new()
    );
}

/// A superuser can write files and reset statistics in a read-only transaction; only the gate
/// prevents that.
#[tokio::test]
async fn a_superuser_can_do_little_without_the_gate() {
    let Some((admin, connector)) = server("ktx_unit_effects_super", SHOP).await else {
        return;
    };
    assert_eq!(
        effects(&admin, &connector, StatementForms::Aimed).await,
        [
            "postgres-071 wrote a file",
            "postgres-150 changed the database",
        ]
    );
}
