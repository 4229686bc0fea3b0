//! Sends the texts of the case files to DuckDB, as written and as the gate prints them.

use ktx_sql::Dialect;

use super::{database, run_with};
use crate::tests::reprint::compare;

const TABLES: &str = include_str!("../../../../../fixtures/readonly-sql/tables/duckdb.sql");

#[tokio::test]
async fn printed_texts_give_the_same_rows() {
    let Some((_folder, connector)) = database(TABLES) else {
        return;
    };
    // Keeps the file open instead of opening it for each text.
    let _instance = connector.engine.instance().unwrap();
    compare(Dialect::DuckDb, async |sql, caps| {
        run_with(&connector, sql, caps).await
    })
    .await
    .expect(70);
}
