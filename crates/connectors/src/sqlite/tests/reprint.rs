//! Compares original and reprinted statements on SQLite.

use ktx_sql::Dialect;
use ktx_warehouse::QueryResult;
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use super::Sqlite;
use crate::tests::reprint::compare;

const TABLES: &str = include_str!("../../../../../fixtures/readonly-sql/tables/sqlite.sql");

#[tokio::test]
async fn printed_texts_give_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let session = Connection::open(&path).unwrap();
    session.execute_batch(TABLES).unwrap();
    drop(session);
    let connector = Sqlite::at(path);
    compare(Dialect::Sqlite, async |sql, caps| {
        let mut result = QueryResult::default();
        let cancel = CancellationToken::new();
        connector.run(sql, caps, &mut result, &cancel).await?;
        Ok(result)
    })
    .await
    .expect(70);
}
