//! Sends attacks to SQLite without the static gate.

use ktx_warehouse::QueryResult;
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use super::{Sqlite, state};
use crate::tests::effects::{StatementForms, fire};

const SHOP: &str = "CREATE TABLE customers (id INTEGER, name TEXT);
    INSERT INTO customers VALUES (1, 'a'), (2, 'b');
    CREATE TABLE t (a INTEGER, note TEXT); INSERT INTO t VALUES (1, 'x');
    CREATE INDEX i ON t (a)";

#[tokio::test]
async fn no_attack_has_an_effect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let session = Connection::open(&path).unwrap();
    session.execute_batch(SHOP).unwrap();
    drop(session);
    let connector = Sqlite::at(path);
    let effects = fire(
        "sqlite",
        StatementForms::Both,
        async |sql, caps| {
            let mut result = QueryResult::default();
            let cancel = CancellationToken::new();
            connector.run(sql, caps, &mut result, &cancel).await?;
            Ok(result)
        },
        async || state(folder.path()),
    )
    .await;
    assert_eq!(effects, Vec::<String>::new());
}
