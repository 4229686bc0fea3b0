//! Sends attacks to MariaDB without the static gate.

use ktx_warehouse::QueryResult;
use mysql_async::Conn;
use mysql_async::prelude::Queryable as _;
use serde_json::json;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{MySql, connector, server};
use crate::session::SessionConnector;
use crate::tests::effects::{StatementForms, fire};

const SHOP: &str = "CREATE TABLE customers (id int, name text) ENGINE = InnoDB;
    INSERT INTO customers VALUES (1, 'a'), (2, 'b');
    CREATE TABLE t (a int) ENGINE = MyISAM; INSERT INTO t VALUES (1); CREATE SEQUENCE s;
    CREATE PROCEDURE p() DELETE FROM t;
    CREATE FUNCTION my_udf(x int) RETURNS int MODIFIES SQL DATA
      BEGIN INSERT INTO t VALUES (9); RETURN 1; END";

const STATE: [&str; 8] = [
    "SELECT group_concat(id, name ORDER BY id) FROM customers",
    "SELECT group_concat(a ORDER BY a) FROM t",
    "SELECT group_concat(table_name, table_type, ifnull(engine, '') ORDER BY table_name)
       FROM information_schema.tables WHERE table_schema = database()",
    "SELECT group_concat(routine_name ORDER BY routine_name) FROM information_schema.routines
       WHERE routine_schema = database()",
    "SELECT next_not_cached_value FROM s",
    "SELECT group_concat(plugin_name ORDER BY plugin_name) FROM information_schema.plugins",
    "SELECT if(is_used_lock('a') IS NULL, 'free', 'taken')",
    "SELECT concat(@@global.max_connections, ' ', @@global.read_only, ' ', @@global.sql_mode)",
];

async fn effects(admin: Conn, connector: &SessionConnector<MySql>) -> Vec<String> {
    let admin = Mutex::new(admin);
    fire(
        "mariadb",
        StatementForms::Both,
        async |sql, caps| {
            let mut result = QueryResult::default();
            let cancel = CancellationToken::new();
            connector.run(sql, caps, &mut result, &cancel).await?;
            Ok(result)
        },
        async || -> Vec<Option<String>> {
            let mut texts = Vec::new();
            for sql in STATE {
                let text: Option<Option<String>> =
                    admin.lock().await.query_first(sql).await.unwrap();
                texts.push(text.flatten());
            }
            texts
        },
    )
    .await
}

/// An administrator can write files and change settings in any transaction; only the gate prevents
/// that.
#[tokio::test]
async fn no_attack_of_a_reader_has_an_effect() {
    let Some((mut admin, _)) = server("ktx_unit_effects", SHOP).await else {
        return;
    };
    let role = "CREATE OR REPLACE USER ktx_effects_reader IDENTIFIED BY 'reader-secret';
      GRANT SELECT, EXECUTE ON ktx_unit_effects.* TO ktx_effects_reader";
    admin.query_drop(role).await.unwrap();
    let login = json!({"username": "ktx_effects_reader", "password": "reader-secret"});
    let connector = connector("ktx_unit_effects", &login).unwrap();
    assert_eq!(effects(admin, &connector).await, Vec::<String>::new());
}
