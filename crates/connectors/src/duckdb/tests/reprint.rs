//! Compares original and reprinted statements on DuckDB.

use ktx_sql::Dialect;

use super::{database, run_with};
use crate::tests::reprint::compare;

const TABLES: &str = include_str!("../../../../../fixtures/readonly-sql/tables/duckdb.sql");

#[tokio::test]
async fn printed_texts_give_the_same_rows() {
    let Some((_folder, connector)) = database(TABLES) else {
        return;
    };
    let _instance = connector.engine.instance().unwrap();
    compare(Dialect::DuckDb, async |sql, caps| {
        run_with(&connector, sql, caps).await
    })
    .await
    .expect(70);
}
