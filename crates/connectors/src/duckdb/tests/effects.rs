//! Sends attacks to DuckDB without the static gate.

use super::{database, run_with, state};
use crate::tests::effects::{StatementForms, fire};

const SHOP: &str = "CREATE TABLE customers (id INTEGER, name VARCHAR);
    INSERT INTO customers VALUES (1, 'a'), (2, 'b');
    CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1);
    CREATE TABLE a (x INTEGER, b INTEGER); CREATE SEQUENCE s";

#[tokio::test]
async fn no_attack_has_an_effect() {
    let Some((folder, connector)) = database(SHOP) else {
        return;
    };
    let effects = fire(
        "duckdb",
        StatementForms::Both,
        async |sql, caps| run_with(&connector, sql, caps).await,
        async || state(folder.path()),
    )
    .await;
    assert_eq!(effects, Vec::<String>::new());
}
